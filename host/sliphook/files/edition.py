"""Tells one state of a program's files from the next, without reading them."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Final

__all__ = ["edition_of"]

_MAX_FILES: Final = 500
"""Files beside the program that are looked at."""


def edition_of(program: Path) -> str | None:
    """A text that is another one after any change; None if there is no such file.

    It covers the file, and those beside it with the same ending: the modules that a script imports
    from its own folder.
    """
    try:
        found = [_stamp(program)]
        if program.suffix:
            with os.scandir(program.parent) as entries:
                beside = sorted(one.path for one in entries if one.name.endswith(program.suffix))
            found += [_stamp(path) for path in beside[:_MAX_FILES]]
    except (OSError, ValueError):  # a NUL in the path
        return None
    return hashlib.sha256("\n".join(found).encode("utf-8", "surrogateescape")).hexdigest()


def _stamp(path: Path | str) -> str:
    stat = os.stat(path)
    return f"{stat.st_ino} {stat.st_mtime_ns} {stat.st_size} {path}"
