"""Where one message ends and the next begins: how both sides write, and how the plugin's side reads.

Nothing here knows JSON, and nothing waits: bytes in, bodies out.
"""

from __future__ import annotations

from typing import Final

_LENGTH: Final = b"Content-Length: "
_END_OF_HEADER: Final = b"\r\n\r\n"
_MAX_HEADER: Final = 64  # the host's header has this one field and at most seven digits
_BLANK: Final = b" \t\r\n"


class FramingError(Exception):
    """What came is no stream of messages; where the next one begins cannot be known.

    The fault is the writer's.

    Attributes:
        why: What is wrong, a sentence for people.
        excerpt: The bytes in question, escaped and cut; may be empty.
    """

    def __init__(self, why: str, excerpt: str = "") -> None:
        super().__init__(f'{why}: "{excerpt}"' if excerpt else why)
        self.why = why
        self.excerpt = excerpt


def frame(body: bytes) -> bytes:
    r"""Give one message as it is written to the stream, by either side.

    The length counts the newline that follows the body. JSON may end in white space, so a reader of
    headers takes the newline as part of the body, and a reader of lines finds the body on a line of
    its own.

    Args:
        body: Compact JSON without a raw newline.
    """
    return b"Content-Length: %d\r\n\r\n%b\n" % (len(body) + 1, body)


class FrameSplitter:
    """Splits what the host writes into bodies.

    The host is well-formed, so anything else is an error at once.

    A line that starts with `{` is a body too, and blank space between messages is skipped: so an
    author can run a plugin by hand and type or paste messages. There is no limit of size; the host
    keeps to its own.
    """

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._scanned = 0  # bytes of a line that are known to hold no newline
        self._need = 1  # below this many bytes there is nothing to find

    def feed(self, data: bytes) -> list[bytes]:
        """Take what was read and give the bodies that are now complete.

        A body keeps the newline that its length counts; JSON decoders skip it.

        Raises:
            FramingError: This is no header of the host and no line of JSON. Nothing can be fed
                after it.
        """
        buffer = self._buffer
        if not buffer:
            head, _, body = data.partition(_END_OF_HEADER)
            if head == b"%b%d" % (
                _LENGTH,
                len(body),
            ):  # one whole message and no more: the usual case
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
    """Read the header at `at`: where its body starts and ends, or None while the header is not complete."""
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
