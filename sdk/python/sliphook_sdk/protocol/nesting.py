"""How deep a message is nested, without decoding it."""

from __future__ import annotations

from array import array
from itertools import accumulate
from typing import Final

from . import limits

_STEPS: Final = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_NO_BRACKETS: Final = bytes(set(range(256)) - set(b"[{]}"))


def too_deep(body: bytes) -> bool:
    """True if a JSON text is nested deeper than a message may be."""
    return (
        # the cheapest test first: each level takes two brackets
        len(body) > 2 * limits.MAX_DEPTH
        and _brackets(body) > limits.MAX_DEPTH
        and _depth(body) > limits.MAX_DEPTH
    )


def _brackets(body: bytes) -> int:
    """Count the opening brackets, in strings too; the depth is not larger than this.

    `replace` uses memchr, which `count` does not.
    """
    return 2 * len(body) - len(body.replace(b"{", b"")) - len(body.replace(b"[", b""))


def _depth(body: bytes) -> int:
    """The depth of brackets outside of strings.

    No loop in Python, since a hostile body may be nothing but brackets.
    """
    # pairs of backslashes first: the quote in `\\"` ends a string, the one in `\"` does not
    unescaped = body.replace(rb"\\", b"").replace(rb"\"", b"")
    # every second part between quotes is inside of a string
    outside = b"".join(unescaped.split(b'"')[::2])
    return max(accumulate(array("b", outside.translate(_STEPS, _NO_BRACKETS))), default=0)
