"""Why a command cannot be started, for people."""

from __future__ import annotations

import errno
import os

from sliphook_sdk.errors import CommandError

_HEAD_BYTES = 128


def start_error(program: str, cwd: str | None, path: str, exc: Exception) -> CommandError:
    """What is wrong, and what to do.

    Args:
        program: as it was given.
        cwd: the folder in which it would run; None: that of this process.
        path: the folders in which it was looked for.
        exc: what `subprocess` raised.
    """
    if cwd is not None and not os.path.isdir(cwd):
        return CommandError(f"{program} cannot run in {cwd}: there is no such folder")
    if not isinstance(exc, OSError):
        return CommandError(f"{program} cannot be started: {exc}")
    file = os.path.join(cwd or ".", program)
    if os.sep not in program:
        if exc.errno == errno.ENOENT:
            return CommandError(f"there is no command {program} in PATH, which is {path}")
    elif not os.path.exists(file):
        return CommandError(f"there is no program {file}")
    elif os.path.isdir(file):
        return CommandError(f"{file} is a folder, and no program")
    elif exc.errno == errno.EACCES and not os.access(file, os.X_OK):
        return CommandError(f"{file} is not executable: chmod +x {file}")
    elif exc.errno == errno.ENOENT:
        return CommandError(
            f"{file} cannot be started: what its first line names does not exist: {_head(file)}"
        )
    if exc.errno == errno.ENOEXEC:
        return CommandError(
            f"{program} cannot be started: it is no program for this machine, or a script whose "
            "first line is not like #!/bin/sh"
        )
    return CommandError(f"{program} cannot be started: {exc.strerror}")


def _head(file: str) -> str:
    try:
        with open(file, "rb") as opened:
            return opened.read(_HEAD_BYTES).decode("utf-8", "replace").partition("\n")[0]
    except OSError:
        return "(it cannot be read)"
