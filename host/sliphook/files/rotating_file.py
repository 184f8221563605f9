"""A file that lines are appended to, and that makes room for a new one when it is full."""

from __future__ import annotations

import contextlib
import itertools
import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

__all__ = ["RotatingFile"]


class RotatingFile:
    """An open file; when it is full, it becomes `NAME.1`, `NAME.1` becomes `NAME.2`, and so on.

    Pipes and devices are written to and never renamed. A link stays: the file it leads to rotates.

    Args:
        path: the file.
        open_file: opens a path for appending and returns the descriptor. It is called with `path`
            first, and with the path without links for each file that follows.
        max_bytes: a file that has reached this size is full.
        old_files: how many old files are kept; `NAME.1` is the newest.

    Raises:
        OSError: (all methods but `append`) what `open_file` or the file system raise.
    """

    def __init__(
        self, path: Path, *, open_file: Callable[[Path], int], max_bytes: int, old_files: int
    ) -> None:
        self._real: Final = Path(os.path.realpath(path))
        self._open = open_file
        self._max_bytes = max_bytes
        self._old_files = old_files
        self._fd = open_file(path)
        self._node = os.fstat(self._fd)
        self._torn = False

    def fileno(self) -> int:
        """The descriptor of the file that is open now."""
        return self._fd

    def attend(self, more: int = 0) -> bool:
        """Begin another file if this one is full, or was moved, deleted or rotated.

        If that fails, the old one stays open and can be written to. A full one that cannot be
        renamed is emptied: its lines are lost, but not those to come, and the size is bounded.

        Args:
            more: the bytes that come next; if there is no room for them, the file is full.

        Returns:
            True if another file is open now, or this one was emptied.
        """
        if not stat.S_ISREG(self._node.st_mode):
            return False
        if not self._is_gone():
            size = os.fstat(self._fd).st_size
            # an empty file is never full: lines over the limit would only push old files out
            if not size or size + more < self._max_bytes:
                return False
            self._rename()
            if not self._is_gone():
                os.ftruncate(self._fd, 0)
                self._torn = False
                return True
        # before the close: if it fails, the old file can still be written to
        fd = self._open(self._real)
        os.close(self._fd)
        self._fd, self._node, self._torn = fd, os.fstat(fd), False
        return True

    def append(self, lines: Sequence[bytes]) -> tuple[int, OSError | None]:
        """Write lines, each with its line break.

        If only the beginning of a line could be written, the next `append` ends that line first, so
        that no other is spoiled.

        Returns:
            How many of them are whole in the file, and what kept the others from it.
        """
        data = (b"\n" if self._torn else b"") + b"".join(lines)
        left = memoryview(data)
        try:
            while left:
                left = left[os.write(self._fd, left) :]
        except OSError as error:
            there = data[: len(data) - len(left)]
            # the first line break ends the torn line, which is none of `lines`
            whole = there.count(b"\n") - (1 if self._torn and there else 0)
            if there:
                self._torn = not there.endswith(b"\n")
            return whole, error
        self._torn = False
        return len(lines), None

    def close(self) -> None:
        """Close the file; it cannot be used any more."""
        os.close(self._fd)

    def _rename(self) -> None:
        """Rename this file and the old ones, as far as that is possible."""
        # a folder of such a name stays where it is
        there = [self._numbered(number) for number in range(self._old_files + 1)]
        there = [path for path in there if not path.is_dir()]
        # from the oldest, so that no file overwrites one that is to be kept
        for newer, older in reversed([*itertools.pairwise(there)]):
            with contextlib.suppress(OSError):
                newer.replace(older)

    def _is_gone(self) -> bool:
        try:
            node = self._real.stat()
        except OSError:
            return True
        # by its inode: a new file may have been made under the old name
        return (node.st_dev, node.st_ino) != (self._node.st_dev, self._node.st_ino)

    def _numbered(self, number: int) -> Path:
        return self._real.with_name(f"{self._real.name}.{number}") if number else self._real
