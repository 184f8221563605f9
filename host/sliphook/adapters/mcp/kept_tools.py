"""The tools that a server listed when its plugin was started first, in the plugin's folder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from sliphook.files.regular import open_regular

from .names import MAX_ALL_BYTES, Fitted

_FILE: Final = "tools.json"
_LATE: Final = "late"
_MOST_BYTES: Final = 8 * MAX_ALL_BYTES


class _Kept(msgspec.Struct, frozen=True):
    """The file: what the tools were listed by, and the tools."""

    key: list[str]
    tools: list[Fitted]


_DECODER: Final = msgspec.json.Decoder(_Kept)


def kept(folder: Path, key: Sequence[str]) -> list[Fitted] | None:
    """The tools that are kept, or None.

    Args:
        folder: the plugin's folder.
        key: what the list depends on; another one has other tools.
    """
    try:
        with open(folder / _FILE, "rb", opener=open_regular) as file:
            found = _DECODER.decode(file.read(_MOST_BYTES))
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    return found.tools if found.key == list(key) else None


def keep(folder: Path, key: Sequence[str], tools: Sequence[Fitted]) -> None:
    """Keep the tools; if that is not possible, the next start takes longer."""
    new = folder / f"{_FILE}.{os.getpid()}"
    with suppress(OSError):
        with open(new, "wb", opener=open_regular) as file:
            file.write(msgspec.json.encode(_Kept(list(key), list(tools))))
        new.replace(folder / _FILE)


def is_kept(folder: Path) -> bool:
    """Whether the server has ever listed its tools."""
    return (folder / _FILE).exists()


def give_up(folder: Path) -> None:
    """Keep none: the next start asks the server, and does not go on without an answer."""
    with suppress(OSError):
        (folder / _FILE).unlink()
    with suppress(OSError):
        (folder / _LATE).touch()


def late(folder: Path) -> bool:
    """Whether the last start has given up; the next may hope again."""
    try:
        (folder / _LATE).unlink()
    except OSError:
        return False
    return True
