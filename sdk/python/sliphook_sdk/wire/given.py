"""Pure: what the author's code gives to a function of the SDK, checked before any of it is used.

A mistake is named at its line, and not by the host, or by Python somewhere inside of the SDK.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, cast

from .values import strict_json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sliphook_sdk.protocol import LogParams

_SHOWN_CHARS: Final = 1_000


def check_text(what: str, given: object, *, none: bool = False) -> None:
    """Check that it is a text, or None if `none` allows that.

    Raises:
        TypeError: it is neither.
    """
    if not isinstance(given, str) and not (none and given is None):
        raise wrong_type(what, "a str", given, none)


def check_number(what: str, given: Any, *, none: bool = False) -> None:
    """Check that it is a finite number, also one of numpy, or None if `none` allows that.

    Raises:
        TypeError: it is neither.
        ValueError: it is infinite or NaN, or no float can hold it.
    """
    if none and given is None:
        return
    try:
        if isinstance(given, bool):  # an int for Python, and for no host
            raise TypeError
        is_finite = math.isfinite(given)
    except TypeError:
        raise wrong_type(what, "a number", given, none) from None
    except OverflowError:
        is_finite = False
    if not is_finite:
        raise ValueError(f"{what} must be a finite number")


def check_object(what: str, given: object) -> None:
    """Check that it is a dict that JSON can hold, or None.

    Raises:
        TypeError: it is neither.
    """
    if not isinstance(given, (dict, type(None))):
        raise wrong_type(what, "a dict", given, none=True)
    json_of(what, cast("object", given))


def check_input(what: str, given: object) -> None:
    """Check that it is what a program can read: a text, bytes or None.

    Raises:
        TypeError: it is none of these.
    """
    if not isinstance(given, (str, bytes, bytearray, type(None))):
        raise wrong_type(what, "a str, bytes", given, none=True)


def json_of(what: str, given: object) -> bytes:
    """The value as JSON.

    Raises:
        TypeError: JSON cannot hold it; the message has the path: `$.rows[2]`.
    """
    try:
        return strict_json(given)
    except ValueError as exc:
        raise TypeError(f"{what} cannot be sent: {exc}") from None


def row_of(what: str, given: Iterable[Any], of: str) -> list[Any]:
    """The values of a list, or of another row, unchecked; `of` names them for people.

    Raises:
        TypeError: it is no row, or a text, which is a row of letters for Python.
    """
    if isinstance(given, (str, bytes)) or not hasattr(given, "__iter__"):
        raise wrong_type(what, f"a list of {of}", given)
    return list(given)


def wrong_type(what: str, kind: str, given: object, none: bool = False) -> TypeError:
    """The error that says what it must be, and of which type it is."""
    named = "None" if given is None else type(given).__name__
    return TypeError(f"{what} must be {kind}{' or None' if none else ''}, not {named}")


def shown(value: object) -> str:
    """The value for people, cut to 1,000 characters; its type if its `repr` raises."""
    try:
        text = repr(value)
    except Exception:
        return f"<{type(value).__name__}>"
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}..."


def line_of(params: LogParams) -> str:
    """A line of the log for standard error, where the host cannot be told of it."""
    fields = [f"{name!r}: {shown(value)}" for name, value in (params.fields or {}).items()]
    beside = f" {{{', '.join(fields)}}}" if fields else ""
    return f"{params.level}: {params.message}{beside}"
