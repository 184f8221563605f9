"""Notices if a folder or a link on the way to a file is moved while the file is being started.

Two folders that are exchanged and exchanged back leave no trace in the file: for a moment, another
file was under its path, and an interpreter may have opened that one. Linux tells of it (inotify).
On other systems nothing is noticed.
"""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from typing import Final

from .ownership import steps_to

_MOVE_SELF: Final = 0x800
_DELETE_SELF: Final = 0x400
_DONT_FOLLOW: Final = 0x02000000


class PathWatch:
    """A watch on each folder and link from `/` to a file, until `close`.

    If the system has no watch left for this user, nothing is noticed.

    Args:
        path: the file.
    """

    def __init__(self, path: Path) -> None:
        # one thread may look while another one closes
        self._lock = threading.Lock()
        self._descriptor = _watch(path) if sys.platform == "linux" else -1

    def has_moved(self) -> bool:
        """Whether any of them was moved or removed since the start; False after `close`."""
        with self._lock:
            if self._descriptor < 0:
                return False
            try:
                return bool(os.read(self._descriptor, 4096))
            except BlockingIOError:
                return False

    def close(self) -> None:
        """Stop watching; a second time it does nothing."""
        with self._lock:
            if self._descriptor >= 0:
                os.close(self._descriptor)
                self._descriptor = -1


def _watch(path: Path) -> int:
    import ctypes  # it takes milliseconds, and only a start of an approved file needs it

    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = int(libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
    if descriptor >= 0:
        flags = _MOVE_SELF | _DELETE_SELF | _DONT_FOLLOW
        try:
            for step in steps_to(path):
                libc.inotify_add_watch(descriptor, os.fsencode(step.path), flags)
        except (OSError, ValueError):
            pass  # it leads nowhere: to open it fails as well, and says why
    return descriptor
