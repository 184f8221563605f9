"""Pure: the regular expressions of schemas: what each costs, and which are taken apart.

The library's engine takes time in proportion to the text and to the size of the expression, but for
look-around and back-references, which it tries with backtracking. Look-ahead at the start, as in
`^(?!admin)[a-z]+$`, is taken apart: it says what a text must, or must not, match besides.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from .errors import SchemaError

MAX_PATTERN_CHARS: Final = 1_000
MAX_WEIGHT: Final = 2_000
"""The most states that one expression may have, repetitions written out."""
BACKTRACK_CHARS: Final = 256
"""An expression that needs backtracking matches no longer text; a look-around of a few characters
takes time in the square of the text.
"""

_SCHEMA_US: Final = 12
"""To read and compile one schema, in microseconds."""
_WIDE_US: Final = 32
r"""More for a class of nearly all of Unicode, such as a dot, `[^a]` or `\S`."""
_PROPERTY_US: Final = 450
r"""More for `\p{...}`, which the engine looks up in its tables."""
_FOLD_US: Final = 2_500
r"""More for a long range, as in `[a-\u{10FFFF}]`, and for `\p{...}`, where case does not count: the
engine goes through all characters of it."""
_COPIES_US: Final = 600
"""The most for copies of what is repeated: then the engine has found that it is too large."""
_REPETITION: Final = re.compile(r"\{(\d+)(,?)(\d*)\}", re.ASCII)
_NO_CASE: Final = re.compile(r"\(\?[a-zA-Z]*i")
_LONG_RANGE: Final = re.compile(r"-\s*(?:[^\x00-\x7f]|\\[xuU0-7])")
_PROPERTY: Final = re.compile(r"\\[pP]")
_ASCII_CLASS: Final = re.compile(r"\[(?!\^)(?:[ -Z^-~]|\\[^pPwWDsSxuU0-7])*\Z")


class Expression(NamedTuple):
    """One regular expression.

    Attributes:
        text: what the engine tries.
        worth: how many schemas take as long to read and compile; never fewer.
        weight: about how many states the engine has for it.
        backtracks: it needs backtracking, so that only short texts are tried.
        also: expressions that must match as well (True), or must not (False).
    """

    text: str
    worth: int
    weight: int
    backtracks: bool
    also: tuple[tuple[str, bool], ...] = ()


class _Elements(NamedTuple):
    r"""What the elements of an expression count, each as often as it is repeated.

    Attributes:
        char: one character of ASCII.
        wide: another one, and `.`.
        escapes: `\w` and the like, by their letter.
        of_class: a class, by its characters up to the `]`.
        most: what is more is not told apart.
    """

    char: float
    wide: float
    escapes: dict[str, float]
    of_class: Callable[[str], float]
    most: int


def _states_of_class(text: str) -> float:
    return 2 + 8 * len(_PROPERTY.findall(text))


def _us_of_class(text: str) -> float:
    if _ASCII_CLASS.match(text):
        return 1.4
    return 5 + len(text) / 2 + 60 * len(_PROPERTY.findall(text))


_STATES: Final = _Elements(
    char=1,
    wide=1,
    escapes={"p": 8, "P": 8, "w": 4, "W": 4, "d": 2, "D": 2, "s": 2, "S": 2},
    of_class=_states_of_class,
    most=MAX_WEIGHT,
)
"""About how many states the engine has."""
_COPIES: Final = _Elements(
    char=0.3,
    wide=5,
    escapes={"p": 60, "P": 60, "w": 2, "W": 5, "d": 2, "D": 5, "s": 5, "S": 5},
    of_class=_us_of_class,
    most=_COPIES_US,
)
"""How many microseconds it takes to write them."""


def _worth(text: str) -> int:
    """How many schemas take as long to read and compile.

    An expression takes 25 us, 3 for each character, and more for what stands in it: about twice
    what it does take, so that few copies of something are contained in it.
    """
    properties = len(_PROPERTY.findall(text))
    us = 25 + 3 * len(text) + _PROPERTY_US * properties
    us += _WIDE_US * (text.count(".") + text.count("[^") + text.count("\\"))
    copies, _ = _measure(text, _COPIES)
    if _NO_CASE.search(text):
        us += _FOLD_US * (properties + len(_LONG_RANGE.findall(text)))
        copies *= 2
    return 1 + int(max(us, 25 + copies)) // _SCHEMA_US


def read_pattern(text: str) -> Expression:
    """Measure an expression and take its look-ahead at the start apart.

    Raises:
        SchemaError: it is too long, would be too large, or its brackets do not pair.
    """
    if len(text) > MAX_PATTERN_CHARS:
        raise SchemaError(f"has {len(text):,} characters; at most {MAX_PATTERN_CHARS:,} are tried")
    states, backtracks = _measure(text, _STATES)
    weight = int(states)
    if weight > MAX_WEIGHT:
        raise SchemaError(
            "repeats too much: written out, its repetitions have more than"
            f" {MAX_WEIGHT:,} places; give smaller numbers in braces"
        )
    if backtracks and (apart := _apart(text)) is not None:
        rest, also = apart
        if not any(_measure(part, _STATES)[1] for part in (rest, *(one for one, _ in also))):
            return Expression(rest, _worth(text), weight, False, tuple(also))
    return Expression(text, _worth(text), weight, backtracks)


def _apart(text: str) -> tuple[str, list[tuple[str, bool]]] | None:
    """`^(?=A)(?!B)rest` as `^rest` with `^A` and not `^B`, or None if it has another form."""
    if not text.startswith("^(?") or _splits(text):
        return None
    also: list[tuple[str, bool]] = []
    at = 1
    while text.startswith(("(?=", "(?!"), at):
        end = _closing(text, at)
        if end is None or text[end + 1 : end + 2] in ("*", "+", "?", "{"):
            return None
        # in a group: it may be an alternative
        also.append((f"^(?:{text[at + 3 : end]})", text[at + 2] == "="))
        at = end + 1
    return f"^{text[at:]}", also


def _splits(text: str) -> bool:
    """True if the whole expression is an alternative."""
    return any(char == "|" and depth == 0 for _, char, depth in _marks(text, 0))


def _closing(text: str, start: int) -> int | None:
    """Where the group that begins at `start` ends."""
    return next((at for at, char, depth in _marks(text, start) if char == ")" and depth == 0), None)


def _marks(text: str, at: int) -> Iterator[tuple[int, str, int]]:
    """Every `(`, `)` and `|` from `at` on: where, which, and how many groups are open then."""
    depth = 0
    while at < len(text):
        char = text[at]
        if char == "\\":
            at += 1
        elif char == "[":
            at = _class_end(text, at)
        elif char in "()|":
            depth += {"(": 1, ")": -1, "|": 0}[char]
            yield at, char, depth
        at += 1


def _class_end(text: str, start: int) -> int:
    """The place of the `]` that ends the class; classes in classes are the engine's extension."""
    depth, at = 0, start
    while at < len(text):
        char = text[at]
        if char == "\\":
            at += 1
        elif char == "[":
            depth += 1
            if text.startswith("^", at + 1):
                at += 1
        elif char == "]":
            depth -= 1
            if depth == 0:
                return at
        at += 1
    raise SchemaError("has a [ that no ] closes")


def _measure(text: str, elements: _Elements) -> tuple[float, bool]:
    """What the elements of the expression come to, and whether it needs backtracking.

    Raises:
        SchemaError: its brackets do not pair.
    """
    backtracks = False
    # for each open group: the sum before it, and the last element of it
    sums, last = [0.0], 0.0
    at = 0
    while at < len(text):
        char = text[at]
        if char == "(":
            sums[-1] += last
            sums.append(0)
            last = 0
            if text.startswith("(?", at):
                named = text.startswith("(?<", at) and text[at + 3 : at + 4] not in ("=", "!")
                if text.startswith("(?:", at):
                    at += 2
                elif named and ">" in text[at:]:
                    at = text.index(">", at)
                else:
                    backtracks = True
                    at += 2
        elif char == ")":
            if len(sums) == 1:
                raise SchemaError("has a ) without a (")
            last = sums.pop() + last + 2
        elif char in "*+?":
            last += 1
        elif char == "{" and (times := _times(text, at)) is not None:
            count, at = times
            last = last * count + 1
        else:
            sums[-1] += last
            last = elements.char if char.isascii() and char != "." else elements.wide
            if char == "\\":
                at += 1
                following = text[at : at + 1]
                if not following:
                    raise SchemaError("ends in a \\")
                last = elements.escapes.get(following, elements.char)
                # back-references, and what only the backtracking engine knows
                if (following.isdigit() and following != "0") or following in "kGKZ":
                    backtracks = True
            elif char == "[":
                end = _class_end(text, at)
                last = elements.of_class(text[at:end])
                at = end
        at += 1
        if sums[-1] + last > elements.most:
            return elements.most + 1, backtracks
    if len(sums) > 1:
        raise SchemaError("has a ( that no ) closes")
    return sums[0] + last, backtracks


def _times(text: str, at: int) -> tuple[int, int] | None:
    """The greatest number in `{2,5}` and where it ends, or None if that is no repetition."""
    found = _REPETITION.match(text, at)
    if found is None:
        return None
    (least, comma, most), end = found.groups(), found.end() - 1
    if len(least) > 6 or len(most) > 6:
        return MAX_WEIGHT + 1, end
    return max(int(most or least), 1) + bool(comma), end
