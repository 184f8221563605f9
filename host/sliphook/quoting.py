"""How a plugin's text is shown to people: on one line, harmless to a terminal, cut to a length."""

from __future__ import annotations

from functools import lru_cache

__all__ = ["quote"]

_ELLIPSIS = "…"


def quote(data: bytes | str, limit: int = 120) -> str:
    r"""Give `data` as one line of printable text.

    Everything that is not printable is escaped as Python writes it (`\n`, `\x1b`, `\u202e`):
    control characters of both sets, line separators, and what steers the direction or has no width.
    So no terminal is steered by it, and no line of a log is broken or forged. Bytes that are not
    UTF-8 become `\xff`. A backslash stays one, so JSON reads as it was written.

    Args:
        data: What the plugin wrote; bytes are taken for UTF-8.
        limit: The longest result in characters. What is longer is cut, never inside an escape, and
            ends in `…`.
    """
    if isinstance(data, bytes):
        # No character takes more than four bytes, so nothing beyond can be seen; it is not even
        # decoded.
        data = data[: 4 * (limit + 1)].decode("utf-8", "surrogateescape")
    text = data[: limit + 1]
    if len(text) <= limit and text.isprintable():
        return text
    pieces: list[str] = []
    length = 0
    for char in text:
        pieces.append(char if char.isprintable() else _escape(char))
        length += len(pieces[-1])
        # an escape has many characters: most of a text of nothing else is not looked at
        if length > limit:
            break
    else:
        return "".join(pieces)
    while pieces and length > limit - len(_ELLIPSIS):
        length -= len(pieces.pop())
    return "".join(pieces) + _ELLIPSIS


@lru_cache(maxsize=1_024)
def _escape(char: str) -> str:
    """Escape one character; one that stands for a byte outside UTF-8 is shown as that byte."""
    if "\udc80" <= char <= "\udcff":
        return f"\\x{ord(char) - 0xDC00:02x}"
    return char.encode("unicode_escape").decode("ascii")
