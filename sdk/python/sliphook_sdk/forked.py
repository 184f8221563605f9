"""Child processes that the author's code forks. A child may do its own work, and nothing here.

A fork copies the whole plugin: its way to the host, its event loop, and the handler that runs. If
the child returned from that handler too, it would answer in the plugin's name. So a child ends
where it comes back to the SDK, as a program ends at its last line.
"""

from __future__ import annotations

import os
import sys
import traceback
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

_STATUS_BITS: Final = 0xFF
"""What the system keeps of an exit status."""


class OneProcess:
    """A block that only the process which has entered it leaves; a forked child ends there."""

    __slots__ = ("_pid",)

    def __enter__(self) -> None:
        # asked of the system and not of Python's own hooks: C code may fork as well
        self._pid = os.getpid()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        if os.getpid() != self._pid:
            end_child(raised)


def in_children(let_go: Callable[[], object]) -> None:
    """Have each child that this process forks call a function, and none of their own children.

    What it lets go is the plugin's. A child may open files under the same numbers, and hand those
    on to its children.
    """
    has_let_go = False

    def once() -> None:
        nonlocal has_let_go
        if not has_let_go:
            has_let_go = True
            let_go()

    os.register_at_fork(after_in_child=once)


def end_child(raised: BaseException | None = None) -> NoReturn:
    """End this process, without the functions of `atexit`: they are the plugin's.

    Args:
        raised: what ended the child's code. The exit status is that of a program: 0 for None, the
            one that a SystemExit has, 1 for any other exception, whose traceback is printed.
    """
    code = 1
    try:
        code = _status(raised)
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception):  # closed, or another object of the author
                stream.flush()
    finally:
        os._exit(code & _STATUS_BITS)


def _status(raised: BaseException | None) -> int:
    if raised is None:
        return 0
    if not isinstance(raised, SystemExit):
        traceback.print_exception(type(raised), raised, raised.__traceback__)
        return 1
    if raised.code is None or isinstance(raised.code, int):
        return raised.code or 0
    say(str(raised.code))
    return 1


def say(line: str) -> None:
    """Write a line to standard error, which is the plugin's log in its children too."""
    with suppress(Exception):  # closed, or another object of the author
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()
