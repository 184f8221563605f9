"""The log of decisions: JSON lines in the plugin's folder, which several agents may write to."""

from __future__ import annotations

import errno
import fcntl
import json
import os
from pathlib import Path
from typing import Any

MAX_BYTES = 1_048_576
KEPT = 3
MAX_TEXT = 2_000


class DecisionLog:
    """`decisions.jsonl`, of 1 MiB at most, and `.1` to `.3`, the ones before."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "decisions.jsonl"
        self._lock = folder / "decisions.lock"

    def add(self, record: dict[str, Any]) -> None:
        """Write one line, whole. Raises OSError."""
        line = json.dumps(record, default=str).encode() + b"\n"
        with open(self._lock, "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if self._path.exists() and self._path.stat().st_size + len(line) > MAX_BYTES:
                self._rotate()
            with open(self._path, "ab", buffering=0, opener=_private) as log:
                size = os.fstat(log.fileno()).st_size
                if log.write(line) < len(line):
                    log.truncate(size)  # the disk is full: no half line
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _rotate(self) -> None:
        for number in range(KEPT, 0, -1):
            older = self._path.with_name(f"{self._path.name}.{number}")
            newer = f"{self._path.name}.{number - 1}" if number > 1 else self._path.name
            if (newer_path := self._path.with_name(newer)).exists():
                newer_path.replace(older)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def shown(arguments: Any) -> str:
    """Arguments as one text, cut to what the log keeps."""
    text = json.dumps(arguments, ensure_ascii=False, default=str)
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}… ({len(text):,} characters)"
