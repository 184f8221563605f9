"""How foreign text is shown to people: nothing in it is hidden, or steers a terminal.

What a plugin, a model or a file says goes through here before it reaches a terminal or a log: as
one line (`quote`), as text of several lines (`visible`), or as JSON (`visible_json`).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

__all__ = ["quote", "visible", "visible_json"]

_ELLIPSIS = "…"

_UNSEEN: Final = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters but for tabs and line breaks
    "\ud800-\udfff"  # halves, which stand for bytes outside of UTF-8
    "\u2028\u2029"  # ends of lines
    # format characters, but for the signs of Arabic and other scripts that enclose digits
    "\xad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U00013430-\U0001345f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    # without a sign or a width (Unicode: Default_Ignorable_Code_Point), and an empty Braille sign
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0d\uffa0\ufff0-\ufff8"
    "\U000e0000-\U000e0fff"  # tags and more selectors of variants
    "\ufdd0-\ufdef\ufffe\uffff"  # no characters
)
"""What shows nothing by itself, for a pattern.

Not among them are U+200C and U+200D, which join the letters of scripts and the parts of emoji, and
U+FE0E and U+FE0F, which choose the form of an emoji.
"""
_KEPT: Final = frozenset(
    "\u200c\u200d\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
)
"""Not printable for Python, but joiners, and signs that enclose the digits behind them."""
_IN_A_LINE: Final = re.compile(f"[\t\n{_UNSEEN}]")
_RUNS: Final = re.compile(f"([\t\n{_UNSEEN}]+)")
_IN_TEXT: Final = re.compile(f"[{_UNSEEN}]")


def quote(data: bytes | str, limit: int = 120) -> str:
    r"""Give `data` as one line of text that hides nothing.

    Escaped as Python writes it (`\n`, `\x1b`, `\u202e`) are: control characters of both sets, line
    separators, what steers the direction, what has neither a sign nor a width, and what this
    Python does not know. So no terminal is steered by it, and no line of a log is broken or
    forged. What joins the letters of a script or chooses the form of an emoji stays. Bytes that
    are not UTF-8 become `\xff`. A backslash stays one, so JSON reads as it was written.

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
    if len(text) <= limit and text.isprintable() and not _IN_A_LINE.search(text):
        return text
    pieces: list[str] = []
    length, room = 0, limit - len(_ELLIPSIS)
    for index, run in enumerate(_RUNS.split(text)):
        if index % 2 == 0 and run.isprintable():
            length += len(run)
            # by characters where it may have to be cut
            pieces += [run] if length <= room else run
        else:
            for piece in map(_shown, run):
                pieces.append(piece)
                length += len(piece)
                # an escape has many characters: most of a text of nothing else is not looked at
                if length > limit:
                    break
        if length > limit:
            break
    else:
        return "".join(pieces)
    while pieces and length > room:
        length -= len(pieces.pop())
    return "".join(pieces) + _ELLIPSIS


def visible(text: str) -> str:
    r"""Give a text of any length and several lines as `quote` would, for a terminal.

    Line breaks and tabs stay; `\r` is left out, as it ends lines beside `\n`, and alone would let a
    line cover another one.
    """
    if _is_plain(text):
        return text
    return _IN_TEXT.sub(lambda found: _escape(found[0]), text.replace("\r", ""))


def visible_json(text: str) -> str:
    """Give JSON text with escapes for what `quote` escapes: it means the same and hides nothing."""
    return _IN_TEXT.sub(_json_escape, text)


def _is_plain(text: str) -> bool:
    """Most texts are, and this is quicker than a pattern."""
    return text.isascii() and text.isprintable()


def _json_escape(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


@lru_cache(maxsize=4_096)
def _shown(char: str) -> str:
    """One character of a line, escaped unless it is shown as it is."""
    is_plain = char in _KEPT or (char.isprintable() and not _IN_A_LINE.match(char))
    return char if is_plain else _escape(char)


@lru_cache(maxsize=1_024)
def _escape(char: str) -> str:
    """Escape one character; one that stands for a byte outside UTF-8 is shown as that byte."""
    if "\udc80" <= char <= "\udcff":
        return f"\\x{ord(char) - 0xDC00:02x}"
    return char.encode("unicode_escape").decode("ascii")
