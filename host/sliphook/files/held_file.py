"""The hash of an executable, through a descriptor that stays open until the program runs."""

from __future__ import annotations

import hashlib
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from sliphook.errors import SliphookError
from sliphook.quoting import quote

_CHUNK_BYTES: Final = 1024 * 1024


class Abandoned(SliphookError):
    """The caller does not need the hash any more."""


class Unreadable(SliphookError):
    """The file cannot be hashed. str() is one line."""


class Seal(NamedTuple):
    """What differs if a file was replaced or written to, without reading the file.

    No program can set `ctime_ns`, the time of the last change of the inode.
    """

    device: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int


def seal_of(info: os.stat_result) -> Seal:
    """The seal of a file, from the result of `stat`."""
    return Seal(info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns)


class HeldFile:
    """An executable that is open from the hash of its bytes until it is started.

    Attributes:
        path: the path that it was opened by.
        seal: its seal when it was opened.
        sha256: the hash of its bytes, in hexadecimal.

    Args:
        path: the executable; symbolic links are followed.
        give_up: called between two chunks of a large file; True ends the reading.

    Raises:
        Unreadable: the file cannot be read, or was written to during the reading.
        Abandoned: `give_up` returned True.
    """

    def __init__(self, path: Path, give_up: Callable[[], bool] = lambda: False) -> None:
        self.path = path
        try:
            # O_NONBLOCK: to open a pipe under this name must not block
            self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise Unreadable(f"{quote(str(path))} cannot be read: {reason}") from None
        try:
            info = os.fstat(self._descriptor)
            if not stat.S_ISREG(info.st_mode):
                raise Unreadable(f"{quote(str(path))} is no regular file")
            self.seal = seal_of(info)
            self.sha256, self._head = self._read(give_up)
            # a write during the reading gives the hash of bytes that were never there together
            if seal_of(os.fstat(self._descriptor)) != self.seal:
                raise Unreadable(
                    f"{quote(str(path))} is being written to; try again when that is done"
                )
        except OSError as error:
            self.close()
            raise Unreadable(f"{quote(str(path))} cannot be read: {error.strerror}") from None
        except BaseException:
            self.close()
            raise

    def _read(self, give_up: Callable[[], bool]) -> tuple[str, bytes]:
        digest, head = hashlib.sha256(), b""
        left = self.seal.size  # and no more: a file that grows has changed, and may never end
        while left > 0 and (chunk := os.read(self._descriptor, min(left, _CHUNK_BYTES))):
            if give_up():
                raise Abandoned
            digest.update(chunk)
            left -= len(chunk)
            head = head or chunk[:4]
        return digest.hexdigest(), head

    @property
    def by_descriptor(self) -> str | None:
        """A path that executes these bytes, even if `path` is another file now; or None.

        Only Linux has such a path, and only for binaries: the interpreter of a script would be
        given this path, and the script would not find the files beside it.
        """
        # not /proc/self: the path is resolved in the child, where that is the child
        path = f"/proc/{os.getpid()}/fd/{self._descriptor}"
        usable = sys.platform == "linux" and self._head == b"\x7fELF" and os.access(path, os.X_OK)
        # of a process that is not dumpable, /proc belongs to root, and the child cannot go there
        return path if usable and os.stat("/proc/self/fd").st_uid == os.geteuid() else None

    def is_as_it_was(self) -> bool:
        """Whether the file is still under its path and was not written to."""
        return seal_of(os.fstat(self._descriptor)) == self.seal and is_there(self.path, self.seal)

    def close(self) -> None:
        """Close the descriptor."""
        os.close(self._descriptor)


def is_there(path: Path, seal: Seal) -> bool:
    """Whether the file with this seal is still under this path and was not written to."""
    try:
        return seal_of(path.stat()) == seal
    except OSError:
        return False


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file's bytes, in hexadecimal.

    Raises:
        Unreadable: the file cannot be read.
    """
    held = HeldFile(path)
    held.close()
    return held.sha256
