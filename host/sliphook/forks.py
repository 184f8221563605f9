"""Where a host was opened, and whether this process is a fork of that one.

A fork has a copy of the host and none of its threads and plugins. Its calls are refused there, and
leaving its blocks does nothing. Inside of an event loop, leaving the host's block ends the fork; so
does coming back from a callback in which it was made.
"""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, NoReturn, TypeVar

from .errors import OtherProcess
from .quoting import quote

__all__ = ["ForksEndHere", "Home", "call_ending_forks", "end_fork"]

R = TypeVar("R")

_STATUS_BITS: Final = 0xFF
"""What the system keeps of an exit status; beyond an int of C, `os._exit` raises."""


class Home:
    """The process and the line of the agent's code in which something was opened.

    Attributes:
        is_elsewhere: this process is a fork of that one.
    """

    def __init__(self) -> None:
        self.is_elsewhere = False
        self._process = os.getpid()
        self._place = _place_outside()
        _homes.add(self)

    def refuse_elsewhere(self) -> None:
        """Raise `OtherProcess` if this process is a fork."""
        if self.is_elsewhere:
            raise OtherProcess(
                f"the host was opened in process {self._process} ({self._place}) and can be used"
                f" there only; this is process {os.getpid()}, a fork of it: open a host here"
            )


def end_fork(error: BaseException | None) -> NoReturn:
    """End this process, a fork inside of an event loop, as `multiprocessing` ends its children.

    A loop of trio or asyncio cannot be left in order there: its tasks wait for what the parent
    process has, and taking its epoll down takes the parent's down.

    Args:
        error: what leaves the block; `SystemExit` gives the status.
    """
    code: object = 0 if error is None else 1
    if isinstance(error, SystemExit):
        code = 0 if error.code is None else error.code
    try:
        # the streams may be None, closed, or objects of the agent, and so may what shows an error
        with suppress(Exception):
            if not isinstance(code, int):
                sys.stderr.write(f"{code}\n")
            elif error is not None and not isinstance(error, SystemExit):
                sys.excepthook(type(error), error, error.__traceback__)
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception):
                stream.flush()
    finally:
        os._exit(code & _STATUS_BITS if isinstance(code, int) else 1)


class ForksEndHere:
    """A block around agent's code that a loop or a thread of the host's calls; entered once.

    A fork that was made inside of it ends where it would leave it (see `end_fork`): behind it is
    work for the parent process, by a loop or a thread that the fork does not have.
    """

    __slots__ = ("_process",)

    def __enter__(self) -> None:
        self._process = os.getpid()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # what is else raised, in code that awaits, ends it from outside: the fork may be of others
        if os.getpid() != self._process and (
            error is None or isinstance(error, (Exception, SystemExit, KeyboardInterrupt))
        ):
            end_fork(error)


def call_ending_forks(function: Callable[..., R], *args: Any) -> R:
    """Call a function of the agent's in such a block."""
    with ForksEndHere():
        return function(*args)


def _place_outside() -> str:
    """File and line of the code that has called the host."""
    # `inspect` has a public name for it, and takes long to import
    frame = sys._getframe()  # pyright: ignore[reportPrivateUsage]
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__", "")):
        frame = frame.f_back
    return f"{quote(frame.f_code.co_filename, 200)}, line {frame.f_lineno}"


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] in ("sliphook", "contextlib")


# weak: this must not keep dropped hosts alive
_homes: weakref.WeakSet[Home] = weakref.WeakSet()


def _leave_home() -> None:
    for home in _homes:
        home.is_elsewhere = True


os.register_at_fork(after_in_child=_leave_home)
