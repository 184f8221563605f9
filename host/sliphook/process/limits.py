"""Pure: how much of the machine one process of a plugin may use, by limits of the system.

`starter_main` sets them and then becomes the plugin: so there is no moment in which it runs without
them, and whatever it starts inherits them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Final

import msgspec

from sliphook_sdk.protocol.describe import doc

SCRIPT: Final = Path(__file__).with_name("starter_main.py")
SIGXCPU: Final = 24
"""The signal of the limit on processor time, on Linux and macOS."""


# Unknown keys are errors: a typo must not take a limit away.
class Limits(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """The limits of each single process of a plugin. None: no limit but the system's."""

    memory_mib: Annotated[
        int | None,
        doc("MiB of memory that a process of a plugin may allocate (RLIMIT_DATA)", 512),
    ] = None
    cpu_s: Annotated[
        int | None,
        doc("seconds of processor time that one may use in its life (RLIMIT_CPU)", 600),
    ] = None
    processes: Annotated[
        int | None,
        doc("how many more processes and threads you may have than at its start", 64),
    ] = None
    open_files: Annotated[
        int | None, doc("descriptors that one may have open (RLIMIT_NOFILE)", 256)
    ] = None


NO_LIMITS: Final = Limits()
LEAST: Final = MappingProxyType({"memory_mib": 16, "cpu_s": 1, "processes": 1, "open_files": 16})
"""The smallest value of each: with less, hardly a program starts."""
MOST: Final = 2**30
_SIGNS: Final = MappingProxyType(
    {
        "memory_mib": re.compile(r"memory|bad_alloc|ENOMEM|malloc", re.IGNORECASE),
        "open_files": re.compile(r"too many open files|EMFILE", re.IGNORECASE),
        "processes": re.compile(r"fork|new thread|temporarily unavailable|EAGAIN", re.IGNORECASE),
    }
)


def over(below: Limits, above: Limits) -> Limits:
    """The limits of `above`, and those of `below` that it does not set."""
    return msgspec.structs.replace(below, **_set(above))


def why_out_of_range(limits: Limits) -> tuple[str, str] | None:
    """The first key with a value that cannot be meant, and why; or None."""
    for key, value in _set(limits).items():
        if not LEAST[key] <= value <= MOST:
            return key, f"{value} is out of range: give {LEAST[key]} to {MOST:,}"
    return None


def limit_words(limits: Limits) -> list[str]:
    """The limits as words for `starter_main`."""
    return [f"{key}={value}" for key, value in _set(limits).items()]


def prepared(command: Sequence[str], words: Sequence[str], python: str) -> list[str]:
    """The command that does what the words say and then runs `command`, which it is without words.

    Args:
        command: an absolute path and its arguments.
        words: of `starter_main`.
        python: a Python interpreter.
    """
    # -I: Python imports nothing from the plugin's folder; -S: it starts faster
    return [python, "-I", "-S", str(SCRIPT), *words, "--", *command] if words else list(command)


def said_of_end(limits: Limits, returncode: int | None, last_words: str | None) -> str | None:
    """What a report of the plugin's death says of its limits; None if it has none.

    The system tells only of processor time. Of the others a program notices that a call failed, and
    says what it likes.

    Args:
        limits: the plugin's.
        returncode: how its process ended, as `subprocess` gives it.
        last_words: its last line on stderr.
    """
    own = _set(limits)
    if not own:
        return None
    if returncode == -SIGXCPU and "cpu_s" in own:
        return f"it has used the {own['cpu_s']} s of processor time that cpu_s gives it"
    for key, sign in _SIGNS.items():
        if key in own and last_words is not None and sign.search(last_words):
            return f"{key} = {own[key]} may be too little for it"
    return "its limits are " + ", ".join(f"{key} = {value}" for key, value in own.items())


def _set(limits: Limits) -> dict[str, int]:
    return {
        key: value for key, value in msgspec.structs.asdict(limits).items() if value is not None
    }
