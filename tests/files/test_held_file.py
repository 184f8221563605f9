"""The seal of an executable: a file that was written to is another one, whatever its times say."""

from __future__ import annotations

import os
import time
from pathlib import Path

from sliphook.files.held_file import HeldFile, is_there

WAIT_S = 120.0


def test_bytes_that_were_exchanged_break_the_seal_though_size_and_time_are_as_before(
    tmp_path: Path,
) -> None:
    """A program can set every time of a file but that of the last change of its inode."""
    path = tmp_path / "guard"
    path.write_bytes(b"good")
    before = path.stat()
    held = HeldFile(path)
    try:
        assert held.is_as_it_was()
        give_up = time.monotonic() + WAIT_S
        while path.stat().st_ctime_ns == before.st_ctime_ns:  # the clock of some disks is coarse
            assert time.monotonic() < give_up
            path.write_bytes(b"evil")
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        after = path.stat()
        assert (after.st_size, after.st_mtime_ns, after.st_ino) == (
            before.st_size,
            before.st_mtime_ns,
            before.st_ino,
        )
        assert not held.is_as_it_was()
        assert not is_there(path, held.seal)
    finally:
        held.close()
