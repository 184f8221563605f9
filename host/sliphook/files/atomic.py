"""How a file of the user's is changed: one program at a time, and whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import tempfile
import time
from collections.abc import Generator
from pathlib import Path
from typing import Final

from sliphook.errors import SliphookError
from sliphook.quoting import quote

LOCK_WAIT_S: Final = 5.0
"""How long another program that changes the same files is waited for."""
_UNFINISHED: Final = ".unfinished"
_LOOK_S: Final = 0.02
_BUSY: Final = frozenset({errno.EWOULDBLOCK, errno.EACCES, errno.EAGAIN})


class Busy(SliphookError):
    """Another program changes the files and does not get done. str() is one line."""


def write_atomically(path: Path, text: str) -> None:
    """Replace the file, mode 0600: whoever reads it finds the old text or the new one, after a crash too.

    Raises:
        OSError: it cannot be written; the old one is as it was.
    """
    descriptor, temporary = tempfile.mkstemp(
        _UNFINISHED, f".{path.name}.", path.parent
    )  # 0600 from the start
    try:
        with open(descriptor, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):  # what went wrong before it is what counts
            os.unlink(temporary)
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Make the new name last; some file systems cannot, and have it nevertheless."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def locked(folder: Path, wait_s: float = LOCK_WAIT_S) -> Generator[None]:
    """Keep other programs from changing the files in `folder`; it is made, for the user alone, where it is not there yet.

    The lock is the system's own on a file `.lock` there, so a program that dies lets go of it.
    Readers need none.

    Raises:
        Busy: somebody else has had the lock for `wait_s`.
        OSError: the folder cannot be made or written to.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(
        folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
    )
    try:
        give_up = time.monotonic() + wait_s
        while not _takes(descriptor):
            if time.monotonic() >= give_up:
                raise Busy(
                    f"another program has been changing {quote(str(folder))} for {wait_s:g} s; try again when it is done"
                )
            time.sleep(_LOOK_S)
        for left in folder.glob(
            f".*{_UNFINISHED}"
        ):  # its writer was killed, else it would have the lock
            left.unlink(missing_ok=True)
        yield
    finally:
        os.close(descriptor)


def _takes(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _BUSY:
            return False
        raise
    return True
