"""Opens regular files alone: a pipe under a file's name would hold who opens it, for ever."""

from __future__ import annotations

import errno
import os
import stat
from typing import Final

__all__ = ["FILE_MODE", "open_regular"]

FILE_MODE: Final = 0o600
"""Of a file that is made."""


def open_regular(path: str | os.PathLike[str], flags: int) -> int:
    """Open a file without waiting; also for `open(..., opener=open_regular)`.

    Args:
        path: the file; one that is made has mode 0600, less what the umask takes.
        flags: as for `os.open`.

    Raises:
        OSError: it cannot be opened, or is a pipe, a device or a folder.
    """
    # O_NONBLOCK: else to open a pipe waits for its other end
    descriptor = os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK, FILE_MODE)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is no regular file", os.fspath(path))
    return descriptor
