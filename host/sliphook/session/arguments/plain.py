"""Pure: checks of what an agent passes to the public methods, before anything is sent.

A word that the protocol does not have, or a number where a text belongs, would be refused by every
plugin: each would log an error, and the event would be lost.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar, cast, get_args

from sliphook.wire.sendable import encode_value
from sliphook_sdk.protocol.limits import MAX_HOST_DIGITS

__all__ = [
    "MAX_INT",
    "check_error",
    "check_flag",
    "check_flags",
    "check_free",
    "check_number",
    "check_object",
    "check_origin",
    "check_schema",
    "check_text",
    "check_texts",
    "check_word",
    "path_of",
    "row_of",
    "shown",
    "texts_by_name",
    "texts_of",
    "type_of",
]

T = TypeVar("T")

MAX_INT: Final = 10**MAX_HOST_DIGITS - 1
"""The largest integer in a message to a plugin."""
_SHOWN_CHARS: Final = 80


def check_word(what: str, given: object, words: Any, *, none: bool = False) -> None:
    """Check a word of a fixed set.

    Args:
        what: the argument's name.
        given: its value.
        words: the `Literal` of what it may be.
        none: None is allowed too.

    Raises:
        TypeError: it is no text.
        ValueError: it is none of them; the message names all.
    """
    check_text(what, given, none=none)
    known = get_args(words)
    if isinstance(given, str) and given not in known:
        raise ValueError(f"{what} is {shown(given)}; it must be one of {', '.join(known)}")


def check_text(what: str, given: object, *, none: bool = False) -> None:
    """Check that it is a text, or None if `none` allows that.

    Raises:
        TypeError: it is neither.
    """
    if not isinstance(given, str) and not (none and given is None):
        raise TypeError(f"{what} must be a str{' or None' if none else ''}, not {type_of(given)}")


def check_origin(given: object) -> None:
    """Check where the agent says that its tool comes from: `agent`, or a text with a colon.

    No plugin has a colon in its name, so none can be taken for the tool's owner.

    Raises:
        TypeError, ValueError: it is no text; it is another one.
    """
    check_text("origin", given)
    if given != "agent" and ":" not in str(given):
        raise ValueError(
            f"origin is {shown(str(given))}; it must be agent, or a text such as mcp:github"
        )


def check_free(session_id: str | None, open_ids: Container[str]) -> None:
    """Check that no open session has the id.

    Raises:
        ValueError: one has.
    """
    if session_id is not None and session_id in open_ids:
        raise ValueError(f"session_id is {shown(session_id)}, which an open session has")


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
        ValueError: it is too low, too large, infinite or NaN.
    """
    if none and given is None:
        return
    # True is an int for Python, and for no plugin in another language
    if isinstance(given, bool) or not isinstance(given, int if whole else (int, float)):
        kind = "an int" if whole else "a number"
        raise TypeError(f"{what} must be {kind}{' or None' if none else ''}, not {type_of(given)}")
    # an int that no float can hold is not shown either: it may be too long for that
    if isinstance(given, int) and abs(given) > MAX_INT:
        raise ValueError(f"{what} has more than {MAX_HOST_DIGITS} digits")
    if not math.isfinite(given) or given < low:
        raise ValueError(f"{what} is {given}; it must be {low:g} or more")


def check_flag(what: str, given: object, *, none: bool = False) -> None:
    """Check that it is True or False, or None if `none` allows that.

    Raises:
        TypeError: it is neither; a text such as "no" would count as true.
    """
    if not isinstance(given, bool) and not (none and given is None):
        raise TypeError(f"{what} must be a bool{' or None' if none else ''}, not {type_of(given)}")


def check_flags(**given: object) -> None:
    """The same for several."""
    for what, one in given.items():
        check_flag(what, one)


def check_error(what: str, given: object) -> None:
    """Check that it is an exception, or None.

    Raises:
        TypeError: it is neither.
    """
    if not isinstance(given, (BaseException, type(None))):
        raise TypeError(f"{what} must be an exception or None, not {type_of(given)}")


def check_schema(what: str, given: object) -> None:
    """Check that it is a dict, or None; what is in it is read when arguments are checked by it.

    Raises:
        TypeError: it is neither.
    """
    if not isinstance(given, (dict, type(None))):
        raise TypeError(f"{what} must be a dict or None, not {type_of(given)}")


def check_object(what: str, given: object) -> None:
    """Check that it is a dict that can be sent to plugins, or None.

    Raises:
        TypeError: it is neither, JSON cannot hold it, or no message may have so much in it.
    """
    check_schema(what, given)
    try:
        encode_value(given)
    except TypeError as error:
        raise TypeError(f"{what} cannot be sent: {error}") from None


def texts_of(what: str, given: Iterable[str]) -> list[str]:
    """The texts of a list, or of another row of them.

    Raises:
        TypeError: it is none.
    """
    texts = row_of(what, given, "str")
    for index, one in enumerate(texts):
        check_text(f"{what}[{index}]", one)
    return texts


def row_of(what: str, given: Iterable[T], of: str) -> list[T]:
    """The values of a list, or of another row, unchecked; `of` names them for people.

    Raises:
        TypeError: it is no row, or a text, which is a row of letters for Python.
    """
    if isinstance(given, (str, bytes)) or not hasattr(given, "__iter__"):
        raise TypeError(f"{what} must be a list of {of}, not {type_of(given)}")
    return list(given)


def texts_by_name(what: str, given: object) -> dict[str, str | None]:
    """The texts of a dict, each a str or None, or of None, which is an empty one.

    Raises:
        TypeError: it is neither.
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise TypeError(f"{what} must be a dict or None, not {type_of(given)}")
    texts = dict(cast("Mapping[str, str | None]", given))
    for name, one in texts.items():
        check_text(f"a name in {what}", name)
        check_text(f"{what}[{shown(name)}]", one, none=True)
    return texts


def path_of(what: str, given: object) -> Path | None:
    """The path that a text or a PathLike names, or None.

    Raises:
        TypeError: it is neither; bytes are none.
    """
    if given is None:
        return None
    try:
        return Path(cast(str, given))
    except TypeError:
        raise TypeError(f"{what} must be a path or None, not {type_of(given)}") from None


def shown(text: str) -> str:
    """A text in quotes for an error, cut if it is long."""
    return repr(text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…")


def type_of(given: object) -> str:
    """The name of its type."""
    return type(given).__name__
