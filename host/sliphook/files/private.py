"""Folders and files that only the user may use, whatever the umask of the process is.

A umask that takes nothing away would let everybody write where the host starts programs from; one
that takes all away would shut the user out.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from .regular import FILE_MODE, open_regular

__all__ = ["make_private_folder", "open_private", "temporary_folder"]

_FOLDER_MODE: Final = 0o700


def make_private_folder(folder: Path) -> None:
    """Make `folder`, and what is missing on the way to it, with mode 0700; keep what is there.

    Also the folders on the way, as the XDG specification asks: `mkdir(parents=True)` would make
    them with the mode that the umask leaves.

    Raises:
        OSError: it cannot be made, or is something else.
    """
    try:
        _make(folder)
    except FileNotFoundError:
        for missing in (*reversed(folder.parents), folder):
            _make(missing)


def _make(folder: Path) -> None:
    try:
        os.mkdir(folder, _FOLDER_MODE)
    except FileExistsError:
        if not folder.is_dir():
            raise
    except OSError:
        # a folder that is there may stand where nothing can be made
        if not folder.is_dir():
            raise
    else:
        # it had at most this mode from the start, so no other user could come in between
        os.chmod(folder, _FOLDER_MODE)


@contextmanager
def temporary_folder(prefix: str, among: Path | None = None) -> Generator[Path]:
    """An empty folder with mode 0700, which is removed with all in it at the end of the block.

    Args:
        prefix: how its name begins.
        among: the folder in which it is made; None: the system's for temporary files.

    Raises:
        OSError: it cannot be made.
    """
    with tempfile.TemporaryDirectory(
        prefix=prefix, dir=among, ignore_cleanup_errors=True
    ) as folder:
        # the umask may have taken more away than from others
        os.chmod(folder, _FOLDER_MODE)
        yield Path(folder)


def open_private(path: Path, flags: int) -> int:
    """Open a file and make it if it is missing, with mode 0600; a file that is there keeps its own.

    It never waits: only regular files are opened.

    Args:
        path: the file.
        flags: flags of `os.open` other than O_CREAT, O_EXCL and O_CLOEXEC.

    Raises:
        OSError: it cannot be opened or made, or is no regular file.
    """
    flags |= os.O_CREAT
    try:
        descriptor = open_regular(path, flags | os.O_EXCL)
    except FileExistsError:
        return open_regular(path, flags)
    os.fchmod(descriptor, FILE_MODE)
    return descriptor
