"""What a plugin writes to its stdout, cut into messages and stray output. Pure: no clock, no I/O.

Both forms are read from one stream, message by message:

- a header block (`Content-Length: N`, in any case, other fields ignored, lines ended by CRLF or LF,
  a blank line), then N bytes;
- a line that starts with `{`, up to its LF.

Space, tabs, CR and LF between messages are skipped. A line that is an array of messages is a batch,
which is refused. Anything else is stray output up to its LF, or up to a `Content-Length:` or
`{"jsonrpc"` inside the line: plugins print. It is handed on to be logged; it is no violation.

Stray output and messages could be confused, so:

- A line that starts with `{` is tried as a whole first. If it is no JSON, it is cut at every
  `Content-Length:` and `{"jsonrpc"` inside it and each part is tried alone: so of two messages on
  one line both are read, and a message cut short by another writer does not take that one with it.
- Bytes that could yet become a header's name are held back until that is decided, or until EOF.
- A broken header block ends the connection: the next message could begin anywhere.
- A message over `MAX_MESSAGE_BYTES` is passed over as it comes, and given as an `InvalidMessage`:
  where it ends is known, so nothing else is lost.

What is large is weighed (see `sliphook_sdk.protocol.weight`) as it comes, a read at a time, so that
no single call of `next` does it all.
"""

from __future__ import annotations

import re
from typing import Final, Literal, NoReturn, TypeAlias

from sliphook.quoting import quote
from sliphook_sdk.framing import FramingError
from sliphook_sdk.protocol import limits
from sliphook_sdk.protocol.weight import Weight, weigh

from . import envelope
from .faults import why_no_json
from .markers import content_length, is_batch, next_marker
from .pieces import EXCERPT, Body, PassedOver, Stray, Weighing

__all__ = ["Body", "FrameReader", "FramingError", "Stray"]

# the two usual beginnings at one go; seven digits are enough for MAX_MESSAGE_BYTES
_BEGIN: Final = re.compile(rb"[ \t\r\n]*(?:Content-Length: ([0-9]{1,7})\r\n\r\n|(\{))?")
_FRAME: Final = re.compile(rb"Content-Length: ([0-9]{1,7})\r\n\r\n")
_PLAIN_HEADER, _BRACE = 1, 2
_HEADER: Final = re.compile(rb"content-(?:length|type):", re.IGNORECASE)
_HEADER_NAMES: Final = (b"content-length:", b"content-type:")
_LF_OR_MARKER: Final = re.compile(rb'\n|Content-Length:|\{"jsonrpc"')
_LONGEST_MARKER: Final = len(b"Content-Length:")

_State: TypeAlias = Literal["boundary", "line", "stray", "header", "body", "beyond"]


class FrameReader:
    """Reads one plugin's stdout.

    Feed it what was read, then take pieces with `next` until it gives None.

    The cost is linear in the bytes fed; neither it nor the pieces depend on how they are split.
    """

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._start: int = 0  # of the piece under way
        # searched up to here; in a header block, the start of its unread line
        self._scanned: int = 0
        self._bad_line_end: int = 0  # up to here it is known that the line as a whole is no JSON
        self._length: int | None = None  # of the body that the header block announces
        self._at: _State = "boundary"
        self._closed = False
        self._is_no_batch = False  # the stray output under way, which begins with `[`
        self._dead: FramingError | None = None
        self._stray_in_a_row = 0
        self._violations = 0
        self._weighing = Weighing()  # for the message under way
        self._beyond = PassedOver(None)

    @property
    def mid_message(self) -> bool:
        """Whether a message, not stray output, has begun and is not complete as of `next`."""
        return self._dead is None and self._at in ("line", "header", "body", "beyond")

    @property
    def unfinished(self) -> str:
        """An excerpt of what `next` has not given yet, for an error about silence."""
        return quote(bytes(self._buffer[self._start : self._start + EXCERPT]))

    def feed(self, data: bytes) -> None:
        """Add what was read. Does nothing after an error."""
        if self._dead is not None:
            return
        if self._start:
            del self._buffer[: self._start]  # once for each read, not for each message: linear
            self._scanned -= self._start
            self._bad_line_end = max(0, self._bad_line_end - self._start)
            self._start = 0
        self._buffer += data

    def whole(self, data: bytes) -> Body | None:
        """Give the one valid message that `data` is as a whole: usual, and a third of the cost.

        None, and nothing has happened, if it is anything else or if unread bytes are left: then
        `feed` it.
        """
        if self._at != "boundary" or self._start != len(self._buffer) or self._dead is not None:
            return None
        start = 0
        if not data.startswith(b"{"):
            header = _FRAME.match(data)
            if header is None or header.end() + int(header[1]) != len(data):
                return None
            start = header.end()
        elif data.find(b"\n") != len(data) - 1:
            return None
        body = data[start:] if start else data[:-1]
        weight = None if len(body) <= limits.UNWEIGHED_BYTES else weigh(body)
        try:
            message = envelope.decode(body, weight)
        except (envelope.NotJson, envelope.InvalidMessage):
            return None  # `next` will say what is wrong
        self._stray_in_a_row = 0
        return Body(body, message, 1 if weight is None else weight.values, len(body))

    def close(self) -> None:
        """Tell that there is no more: the last line counts without its LF."""
        self._closed = True

    def violation(self, why: str) -> None:
        """Count a breach of the protocol that the caller found, as an invalid message.

        Raises:
            FramingError: It is one too many.
        """
        self._violations += 1
        if self._violations > limits.MAX_VIOLATIONS:
            self._fail(f"more than {limits.MAX_VIOLATIONS} violations, the last: {why}", "")

    def next(self) -> Body | Stray | None:
        """Give the next piece, or None if more bytes are needed (after `close`: if all is read).

        Raises:
            FramingError: The stream cannot be read on, and the plugin is to blame. Every later call
                raises it again.
        """
        if self._dead is not None:
            raise self._dead.with_traceback(None)  # else it grows with each raise
        if self._at == "boundary":
            if self._start == len(self._buffer):
                return None
            self._at = self._begin()
        if self._at == "header":
            self._at = self._read_header()
        if self._at == "body":
            return self._read_body()
        if self._at == "line":
            return self._read_line()
        if self._at == "beyond":
            return self._pass_over()
        if self._at == "stray":
            return self._read_stray()
        if self._at == "header" and self._closed:
            self._fail("the output ended inside a header block", self.unfinished)
        return None

    def _begin(self) -> _State:
        """Decide by its first bytes what starts here; it stays a boundary if they are too few."""
        buffer = self._buffer
        begin = _BEGIN.match(buffer, self._start)
        assert begin is not None  # it matches nothing as well
        self._start = self._scanned = start = begin.end()
        if begin.lastindex == _PLAIN_HEADER:
            self._length = int(begin[_PLAIN_HEADER])
            return "body"
        if begin.lastindex == _BRACE:
            self._start -= 1
            return "line"
        if start == len(buffer):
            return "boundary"
        if _HEADER.match(buffer, start):
            self._length = None
            return "header"
        head = bytes(buffer[start : start + _LONGEST_MARKER]).lower()
        if not self._closed and any(name.startswith(head) for name in _HEADER_NAMES):
            return "boundary"
        return "stray"

    def _read_header(self) -> _State:
        """Read the complete lines of a header block; after the blank one the body begins."""
        buffer = self._buffer
        while True:
            end = buffer.find(b"\n", self._scanned)
            if (end if end >= 0 else len(buffer)) - self._start >= limits.MAX_HEADER_BYTES:
                self._fail(
                    f"a header block over {limits.MAX_HEADER_BYTES:,} bytes", self.unfinished
                )
            if end < 0:
                return "header"
            line = bytes(buffer[self._scanned : end]).removesuffix(b"\r")
            self._scanned = end + 1
            if not line:
                break
            self._read_field(line)
        if self._length is None:
            block = quote(bytes(buffer[self._start : self._scanned]))
            self._fail("a header block without Content-Length", block)
        self._start = self._scanned
        return "body"

    def _read_field(self, line: bytes) -> None:
        try:
            self._length = content_length(line, self._length)
        except ValueError as error:
            self._fail(str(error), quote(line))
        if self._length is not None and self._length > limits.MAX_SKIPPED_BYTES:
            self._fail_too_long(line)

    def _read_body(self) -> Body | None:
        assert self._length is not None
        if self._length > limits.MAX_MESSAGE_BYTES:
            return self._begin_to_pass_over(self._length)
        end = self._start + self._length
        if len(self._buffer) < end:
            if self._closed:
                self._fail_cut_short(end - len(self._buffer), self._length)
            self._weighing.add_some(self._buffer, self._start)
            return None
        data = bytes(self._buffer[self._start : end])
        try:
            return self._body(data, self._weighing.total(data), end)
        except envelope.NotJson as error:
            self._fail(why_no_json(data, error), quote(data))

    def _read_line(self) -> Body | Stray | None:
        """Read a line that starts with `{`: a message, or the first part of a line that is none."""
        buffer, start = self._buffer, self._start
        if start < self._bad_line_end:  # else each part would decode the rest of the line
            return self._read_part()
        end = buffer.find(b"\n", self._scanned)
        found = end >= 0
        if not found:
            self._scanned = end = len(buffer)
        if end - start > limits.MAX_MESSAGE_BYTES:
            return self._begin_to_pass_over(None)
        if not found and not self._closed:
            self._weighing.add_some(self._buffer, self._start)
            return None
        data = bytes(buffer[start:end])
        try:
            return self._body(data, self._weighing.total(data), end + found)
        except envelope.NotJson as error:
            if next_marker(buffer, start + 1, end) < end:  # the line may itself begin with one
                self._bad_line_end = end
                return self._read_part()
            return self._no_json(data, error, end)

    def _begin_to_pass_over(self, length: int | None) -> Body | None:
        self._at = "beyond"
        self._weighing = Weighing()
        self._beyond = PassedOver(length)
        return self._pass_over()

    def _pass_over(self) -> Body | None:
        """Take what has come of a message over the limit, and forget it."""
        beyond = self._beyond
        self._start = self._scanned = beyond.take(self._buffer, self._start)
        if beyond.is_complete or (self._closed and beyond.left is None):
            self._stray_in_a_row, self._at = 0, "boundary"
            return beyond.body()
        if self._closed:
            self._fail_cut_short(beyond.left or 0, beyond.size + (beyond.left or 0))
        if beyond.size > limits.MAX_SKIPPED_BYTES:
            self._fail_too_long(beyond.head)
        return None

    def _read_part(self) -> Body | Stray:
        """Read up to the next marker in a line that is no JSON as a whole."""
        end = next_marker(self._buffer, self._start + 1, self._bad_line_end)
        data = bytes(self._buffer[self._start : end])
        try:
            return self._body(data, weigh(data), end)
        except envelope.NotJson as error:
            return self._no_json(data, error, end)

    def _read_stray(self) -> Body | Stray | None:
        buffer, start = self._buffer, self._start
        if not self._is_no_batch and buffer.startswith(b"[", start):
            longest = start + limits.MAX_STRAY_BYTES
            end = buffer.find(b"\n", self._scanned, longest)
            if end < 0:
                self._scanned = end = min(len(buffer), longest)
                if end < longest and not self._closed:
                    return None
            data = bytes(buffer[start:end])
            if is_batch(data):
                return self._body(data, weigh(data), end)
            self._is_no_batch, self._scanned = True, start
        stop = _LF_OR_MARKER.search(buffer, self._scanned)
        if stop:
            end = stop.start()
        elif self._closed:
            end = len(buffer)
        else:
            # What may be the beginning of a marker is not counted yet: the limit is the same
            # however the bytes are split.
            self._scanned = max(start, len(buffer) - _LONGEST_MARKER + 1)
            self._check_stray(self._scanned - start)
            return None
        data = bytes(buffer[start:end])
        why = "stray output on stdout, which is for messages alone (log to stderr)"
        return self._stray(data, f'{why}: "{quote(data)}"', end)

    def _body(self, data: bytes, weight: Weight, end: int) -> Body:
        message: envelope.Message | envelope.InvalidMessage
        try:
            message = envelope.decode(data, weight)
        except envelope.InvalidMessage as error:
            error.__context__ = None  # it is kept, not raised: frames would keep it, and the bytes
            message = error.with_traceback(None)
        self._stray_in_a_row, self._start, self._at = 0, end, "boundary"
        return Body(data, message, weight.values, len(data))

    def _no_json(self, data: bytes, error: envelope.NotJson, end: int) -> Stray:
        why = f"stray output: it starts with {{ but is no JSON, {error.why}"
        return self._stray(data, f'{why}: "{quote(data)}"', end)

    def _stray(self, data: bytes, why: str, end: int) -> Stray:
        data = data.removesuffix(b"\r")
        self._check_stray(len(data))
        self._stray_in_a_row += len(data)
        self._start, self._at, self._is_no_batch = end, "boundary", False
        return Stray(data, why)

    def _check_stray(self, more: int) -> None:
        if self._stray_in_a_row + more > limits.MAX_STRAY_BYTES:
            why = f"more than {limits.MAX_STRAY_BYTES:,} bytes of stray output in a row"
            self._fail(why, self.unfinished)

    def _fail_too_long(self, start: bytes) -> NoReturn:
        self._fail(f"a message over {limits.MAX_SKIPPED_BYTES:,} bytes", quote(start))

    def _fail_cut_short(self, missing: int, length: int) -> NoReturn:
        why = f"{missing:,} of {length:,} bytes are missing"
        self._fail(f"the output ended inside a message: {why}", self.unfinished)

    def _fail(self, why: str, excerpt: str) -> NoReturn:
        self._dead = FramingError(why, excerpt)
        self._buffer.clear()  # none of it is read any more, and it may be 8 MiB
        raise self._dead from None
