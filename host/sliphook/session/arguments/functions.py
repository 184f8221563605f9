"""Pure: checks of the functions and objects that an agent gives the host to call.

One that is wrong would be noticed at its first call only: in the task of a plugin, or by a person.
"""

from __future__ import annotations

from functools import partial
from inspect import iscoroutinefunction, isfunction, ismethod

from .plain import type_of

__all__ = ["check_async", "check_function", "check_methods", "check_plain"]


def check_function(what: str, given: object) -> None:
    """Check that it can be called, or is None.

    Raises:
        TypeError: it is neither.
    """
    if given is not None and not callable(given):
        raise TypeError(f"{what} must be a function or None, not {type_of(given)}")


def check_async(what: str, given: object) -> None:
    """Check that it can be called and awaited, or is None.

    Raises:
        TypeError: it cannot be called, or it is a plain `def`. A lambda, a decorated function and
            an object are believed to return what can be awaited.
    """
    check_function(what, given)
    while isinstance(given, partial):
        given = given.func
    is_def = (isfunction(given) or ismethod(given)) and given.__name__ != "<lambda>"
    if is_def and not iscoroutinefunction(given) and not hasattr(given, "__wrapped__"):
        raise TypeError(f"{what} must be an async function, not a plain one")


def check_plain(what: str, given: object) -> None:
    """Check that it can be called without await, or is None.

    Raises:
        TypeError: it cannot be called, or it is async: what it does would never begin.
    """
    check_function(what, given)
    if iscoroutinefunction(given) or iscoroutinefunction(type(given).__call__):
        raise TypeError(f"{what} must be a plain function, not an async one")


def check_methods(what: str, given: object, *names: str) -> None:
    """Check that it is an object with these methods, or None.

    Raises:
        TypeError: it is neither.
    """
    if given is None:
        return
    for name in names:
        if isinstance(given, type) or not callable(getattr(given, name, None)):
            listed = " and ".join(f"{one}()" for one in names)
            raise TypeError(f"{what} must be an object with {listed} or None, not {type_of(given)}")
