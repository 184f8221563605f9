"""Where a host was opened, and whether this process is a fork of that one.

A fork has a copy of the host and none of its threads and plugins. Its calls are refused there, and
leaving its blocks does nothing. Inside of an event loop, leaving the host's block ends the fork.
"""

from __future__ import annotations

import os
import sys
import weakref
from contextlib import suppress
from typing import NoReturn

from .errors import OtherProcess
from .quoting import quote

__all__ = ["Home", "end_fork"]


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
    elif error is not None:
        sys.excepthook(type(error), error, error.__traceback__)
    if not isinstance(code, int):
        sys.stderr.write(f"{code}\n")
        code = 1
    with suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


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
