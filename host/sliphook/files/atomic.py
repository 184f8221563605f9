"""Changes of the user's files: by one program at a time, and whole or not at all."""

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

from sliphook.agent_log import agent_log
from sliphook.errors import SliphookError
from sliphook.quoting import quote

from .private import make_private_folder, open_private

LOCK_WAIT_S: Final = 60.0
"""How long `locked` waits for other programs that change the same files.

Each of them holds the lock for some milliseconds, on a slow disk for some seconds, and any number
may wait at once: it is the time of the whole queue.
"""
SAY_S: Final = 1.0
"""After this time the user is told what is waited for."""
_log = agent_log(__name__)
_UNFINISHED: Final = ".unfinished"
_RETRY_S: Final = 0.02
_BUSY: Final = frozenset({errno.EWOULDBLOCK, errno.EACCES, errno.EAGAIN})


class Busy(SliphookError):
    """Another program has held the lock for too long. str() is one line."""


def write_atomically(path: Path, text: str) -> None:
    """Replace the file by one with mode 0600.

    A reader finds the old text or the new one, also after a crash.

    Raises:
        OSError: the file cannot be written; the old one is as it was.
    """
    # mkstemp gives mode 0600 from the start;
    # beside `path`: a rename is atomic only within one file system
    descriptor, temporary = tempfile.mkstemp(_UNFINISHED, f".{path.name}.", path.parent)
    try:
        os.fchmod(descriptor, 0o600)  # a umask may have taken even this away
        with open(descriptor, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            # before the rename: else a power cut may leave the new name with no content
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):  # the first error is the one to report
            os.unlink(temporary)
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Write the new name to the disk. Some file systems refuse this, and need it not."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def locked(folder: Path, wait_s: float = LOCK_WAIT_S) -> Generator[None]:
    """Keep other programs from changing the files in `folder`.

    A missing folder is made with mode 0700. The lock is the system's, on the file `.lock` there, so
    it ends with the program that holds it. Readers need no lock. The file holds the process id of
    its last holder, for people. If the wait takes longer than `SAY_S`, it is logged.

    Args:
        folder: the folder.
        wait_s: how long to wait for another program, in seconds.

    Raises:
        Busy: another program has held the lock for `wait_s`.
        OSError: the folder cannot be made or written to.
    """
    make_private_folder(folder)
    # O_NOFOLLOW: a link there must not make us create a file elsewhere
    descriptor = open_private(folder / ".lock", os.O_RDWR | os.O_NOFOLLOW)
    try:
        _wait_for(descriptor, folder, wait_s)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, b"%d\n" % os.getpid(), 0)
        # a writer holds the lock, so the writer of such a file was killed
        for left in folder.glob(f".*{_UNFINISHED}"):
            left.unlink(missing_ok=True)
        yield
    finally:
        # the file stays: were it removed, two programs could hold locks on two files of that name
        os.close(descriptor)


def _wait_for(descriptor: int, folder: Path, wait_s: float) -> None:
    began, said = time.monotonic(), False
    # tried again and again, as flock itself knows no timeout; each try may be the one that gets
    # it, so no program waits behind all that come later
    while not _takes(descriptor):
        waited_s = time.monotonic() - began
        if waited_s >= wait_s:
            raise Busy(
                f"{_holder(descriptor)} has been changing {quote(str(folder))} for {wait_s:g} s;"
                " try again when it is done"
            )
        if waited_s >= SAY_S and not said:
            said = True
            _log.warning(
                "waiting for %s, which is changing %s; for %g s at most",
                _holder(descriptor),
                quote(str(folder)),
                wait_s,
            )
        time.sleep(_RETRY_S)


def _holder(descriptor: int) -> str:
    number = os.pread(descriptor, 20, 0).strip()
    return f"the process {int(number)}" if number.isdigit() else "another program"


def _takes(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _BUSY:
            return False
        raise
    return True
