"""Is it the file that was approved? Hashed through a descriptor that stays open until the program runs."""

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

_PIECE: Final = 1024 * 1024


class Abandoned(SliphookError):
    """Nobody wants the hash any more."""


class Unreadable(SliphookError):
    """The file cannot be hashed. str() is one line."""


class Seal(NamedTuple):
    """What tells that a file is another one, or was written to, without reading it.

    No program can set the time of the last change.
    """

    device: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int


def seal_of(info: os.stat_result) -> Seal:
    """The seal of a file that `stat` has looked at."""
    return Seal(info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns)


class HeldFile:
    """An executable that is held open between the look at its bytes and their use.

    Attributes:
        path: where it was found.
        seal: what it was when it was opened.
        sha256: of its bytes, in hexadecimal.

    Args:
        path: the executable; symbolic links are followed.
        give_up: asked between two pieces of a large file.

    Raises:
        Unreadable: it cannot be read, or was written to while it was.
        Abandoned: `give_up` said so.
    """

    def __init__(self, path: Path, give_up: Callable[[], bool] = lambda: False) -> None:
        self.path = path
        try:
            # a pipe in its place must not hold anybody
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
        left = self.seal.size  # one that grows has changed; to read on would never end
        while left > 0 and (piece := os.read(self._descriptor, min(left, _PIECE))):
            if give_up():
                raise Abandoned
            digest.update(piece)
            left -= len(piece)
            head = head or piece[:4]
        return digest.hexdigest(), head

    @property
    def by_descriptor(self) -> str | None:
        """A path that executes these very bytes, whatever `path` has become; None where the system cannot.

        Scripts are left out: their interpreter would be told this path, and they could not find
        what lies beside them.
        """
        path = f"/proc/{os.getpid()}/fd/{self._descriptor}"
        usable = sys.platform == "linux" and self._head == b"\x7fELF" and os.access(path, os.X_OK)
        return path if usable else None

    def is_as_it_was(self) -> bool:
        """Neither was the file written to, nor is there another under its path."""
        return seal_of(os.fstat(self._descriptor)) == self.seal and is_there(self.path, self.seal)

    def close(self) -> None:
        """Let go of it."""
        os.close(self._descriptor)


def is_there(path: Path, seal: Seal) -> bool:
    """The file with this seal is still under this path, and was not written to."""
    try:
        return seal_of(path.stat()) == seal
    except OSError:
        return False


def sha256_of(path: Path) -> str:
    """The hash of a file's bytes.

    Raises:
        Unreadable: it cannot be read.
    """
    held = HeldFile(path)
    held.close()
    return held.sha256
