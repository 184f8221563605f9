"""Pure: the begin and the end of what a command writes, and its last line."""

from __future__ import annotations

import codecs
import re
from typing import Final

LEFT_OUT: Final = "\n[... "
"""With what the line begins that stands for what is not kept."""
_LINE_BYTES: Final = 4096
"""Of what came last so much is looked at for the last line."""
_LINE_CHARS: Final = 200
_STYLE: Final = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
"""What colours a terminal, and moves its cursor."""


class KeptOutput:
    """Keeps at most `max_bytes`: half from the begin, and half from the end.

    Args:
        max_bytes: how much is kept.
    """

    def __init__(self, max_bytes: int) -> None:
        self._most_head = max_bytes - max_bytes // 2
        self._most_tail = max_bytes // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0

    def add(self, data: bytes) -> None:
        """Take in what was read."""
        room = self._most_head - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > 2 * self._most_tail:  # not each time: it moves what is kept
            self._trim()

    @property
    def is_cut(self) -> bool:
        """There was more than is kept."""
        self._trim()
        return self._dropped > 0

    def text(self) -> str:
        """What is kept, and in the middle how much is not. What is no UTF-8 is replaced."""
        if not self.is_cut:
            return (self._head + self._tail).decode("utf-8", "replace")
        # neither side ends in half a character
        head = codecs.getincrementaldecoder("utf-8")("replace").decode(self._head)
        tail = self._tail.lstrip(bytes(range(0x80, 0xC0))).decode("utf-8", "replace")
        return f"{head}{LEFT_OUT}{self._dropped:,} bytes are left out ...]\n{tail}"

    def _trim(self) -> None:
        excess = len(self._tail) - self._most_tail
        if excess > 0:
            del self._tail[:excess]
            self._dropped += excess


def last_line(data: bytes) -> str | None:
    """The last line with text in it, without colours; None if there is none."""
    text = _STYLE.sub("", data[-_LINE_BYTES:].decode("utf-8", "replace"))
    lines = [line.strip() for line in text.splitlines()]
    return next((line[:_LINE_CHARS] for line in reversed(lines) if line), None)
