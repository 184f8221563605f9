"""Pure: checks of what an agent passes to the public methods, before anything is sent.

A word that the protocol does not have, or a number where a text belongs, would be refused by every
plugin: each would log an error, and the event would be lost.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, cast, get_args

__all__ = ["check_each", "check_number", "check_origin", "check_text", "check_texts", "check_word"]


def check_word(what: str, given: object, words: Any, *, none: bool = False) -> None:
    """Check a word of a fixed set.

    Args:
        what: the argument's name.
        given: its value.
        words: the `Literal` of what it may be.
        none: None is allowed too.

    Raises:
        ValueError: it is none of them; the message names all.
    """
    known = get_args(words)
    if none and given is None:
        return
    if not isinstance(given, str) or given not in known:
        raise ValueError(f"{what} is {given!r}; it must be one of {', '.join(known)}")


def check_text(what: str, given: object, *, none: bool = False) -> None:
    """Check that it is a text, or None if `none` allows that.

    Raises:
        TypeError: it is neither.
    """
    if not isinstance(given, str) and not (none and given is None):
        raise TypeError(f"{what} must be a str{' or None' if none else ''}, not {_type_of(given)}")


def check_origin(given: object) -> None:
    """Check where the agent says that its tool comes from: `agent`, or a text with a colon.

    No plugin has a colon in its name, so none can be taken for the tool's owner.

    Raises:
        TypeError, ValueError: it is no text; it is another one.
    """
    check_text("origin", given)
    if given != "agent" and ":" not in str(given):
        raise ValueError(f"origin is {given!r}; it must be agent, or a text such as mcp:github")


def check_texts(*, none: bool = False, **given: object) -> None:
    """The same for several."""
    for what, one in given.items():
        check_text(what, one, none=none)


def check_number(
    what: str, given: object, *, low: float = 0, whole: bool = False, none: bool = False
) -> None:
    """Check that it is a finite number of at least `low`, or None if `none` allows that.

    Raises:
        TypeError: it is no number, or no whole one although `whole` wants that.
        ValueError: it is too low, infinite or NaN.
    """
    if none and given is None:
        return
    # True is an int for Python, and for no plugin in another language
    if isinstance(given, bool) or not isinstance(given, int if whole else (int, float)):
        kind = "an int" if whole else "a number"
        raise TypeError(f"{what} must be {kind}{' or None' if none else ''}, not {_type_of(given)}")
    if not math.isfinite(given) or given < low:
        raise ValueError(f"{what} is {given}; it must be {low:g} or more")


def check_each(what: str, given: object, kind: type) -> None:
    """Check that it is a list, or another row of values, of one type.

    Raises:
        TypeError: it is not.
    """
    its_type = _type_of(given)
    if isinstance(given, (str, bytes, dict)) or not isinstance(given, Iterable):
        raise TypeError(f"{what} must be a list of {kind.__name__}, not {its_type}")
    for one in cast("Iterable[object]", given):
        if not isinstance(one, kind):
            raise TypeError(f"{what} holds {_type_of(one)}; it must be a list of {kind.__name__}")


def _type_of(given: object) -> str:
    return type(given).__name__
