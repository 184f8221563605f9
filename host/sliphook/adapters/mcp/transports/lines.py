"""Lines for people: into the plugin's log, and as its last one."""

from __future__ import annotations

import os
import sys
from typing import Final, NoReturn, cast

_MOST_CHARS: Final = 300


def first_of(exc: BaseException) -> BaseException:
    """The exception; of a group, its first."""
    while isinstance(exc, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", exc)
        exc = group.exceptions[0]
    return exc


def in_a_line(exc: BaseException) -> str:
    """What is wrong; of a group, what its first says."""
    first = first_of(exc)
    said = str(first).strip() or f"it gave no reason ({type(first).__name__})"
    return said.splitlines()[0][:_MOST_CHARS]


def say(line: str) -> None:
    """Write a line to the plugin's log."""
    print(line, file=sys.stderr, flush=True)


def die(line: str) -> NoReturn:
    """End the process: the host says this line, and starts the plugin again."""
    say(line)
    os._exit(1)
