"""Where a message ends: how both sides write, and how the plugin reads.

Bytes in, bodies out: nothing here decodes JSON or waits.
"""

from __future__ import annotations

from typing import Final

_LENGTH: Final = b"Content-Length: "
_END_OF_HEADER: Final = b"\r\n\r\n"
_MAX_HEADER: Final = 64  # the host's header has this one field and at most seven digits
_BLANK: Final = b" \t\r\n"


class FramingError(Exception):
    """The input is not a stream of messages, and the next message cannot be found.

    The writer is at fault.

    Attributes:
        why: what is wrong, for people.
        excerpt: the bytes in question, escaped and cut; may be empty.
    """

    def __init__(self, why: str, excerpt: str = "") -> None:
        super().__init__(f'{why}: "{excerpt}"' if excerpt else why)
        self.why = why
        self.excerpt = excerpt


def frame(body: bytes) -> bytes:
    r"""One message as either side writes it to the stream.

    The length includes the newline after the body. JSON may end in white space, so a reader by
    headers takes the newline as part of the body, and a reader by lines gets the body as one line.

    Args:
        body: compact JSON without a raw newline.
    """
    return b"Content-Length: %d\r\n\r\n%b\n" % (len(body) + 1, body)


def frame_head(head: bytes, more: int) -> bytes:
    """The beginning of a frame that is written in parts.

    Args:
        head: the beginning of the body.
        more: bytes of the rest of the body, and of the newline after it.
    """
    return b"Content-Length: %d\r\n\r\n%b" % (len(head) + more, head)


class FrameSplitter:
    """Splits the host's bytes into bodies.

    The host frames correctly, so anything else is an error at once. A line that starts with `{` is
    a body too, and white space between messages is skipped, so that an author can type or paste
    messages. Sizes are not limited here; the host keeps its own limit.
    """

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._scanned = 0  # bytes of a line already searched for its newline
        self._need = 1  # bytes that the next message takes at least

    def feed(self, data: bytes) -> list[bytes]:
        """Take what was read, and return the bodies that are now complete.

        A body keeps the newline that its length includes; JSON decoders skip it.

        Raises:
            FramingError: the input is neither a header of the host nor a line of JSON. The splitter
                cannot be used after it.
        """
        buffer = self._buffer
        if not buffer:
            head, _, body = data.partition(_END_OF_HEADER)
            # the fast path: one read is usually one whole message
            if head == b"%b%d" % (_LENGTH, len(body)):
                return [body]
        buffer += data
        bodies: list[bytes] = []
        at = 0
        while len(buffer) - at >= self._need:
            first = buffer[at]
            if first in _BLANK:
                at += 1
            elif first == 0x7B:  # {
                end = buffer.find(b"\n", at + self._scanned)
                if end < 0:
                    self._scanned = len(buffer) - at
                    break
                self._scanned = 0
                bodies.append(bytes(buffer[at:end]))
                at = end + 1
            else:
                header = _header(buffer, at)
                if header is None:
                    break
                start, end = header
                if end > len(buffer):
                    self._need = end - at
                    break
                self._need = 1
                bodies.append(bytes(buffer[start:end]))
                at = end
        del buffer[:at]
        return bodies


def _header(buffer: bytearray, at: int) -> tuple[int, int] | None:
    """Where the body after the header at `at` starts and ends; None if the header is incomplete."""
    # bounded: a header that does not end is an error at once, not a growing buffer
    end = buffer.find(_END_OF_HEADER, at, at + _MAX_HEADER)
    if end >= 0:
        head = bytes(buffer[at:end])
        digits = head.removeprefix(_LENGTH)
        if len(digits) < len(head) and digits.isdigit():
            start = end + len(_END_OF_HEADER)
            return start, start + int(digits)
    else:
        head = bytes(buffer[at : at + _MAX_HEADER])
        if len(head) < _MAX_HEADER and head[: len(_LENGTH)] == _LENGTH[: len(head)]:
            return None
    raise FramingError("neither a Content-Length header nor a line of JSON", ascii(head)[2:-1])
