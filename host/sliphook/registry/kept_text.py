"""The texts of approved scripts, kept to show what has changed since."""

from __future__ import annotations

import contextlib
import difflib
import hashlib
from pathlib import Path
from typing import Final

from sliphook.files import paths
from sliphook.files.atomic import write_atomically
from sliphook.files.private import make_private_folder
from sliphook.files.regular import open_regular

__all__ = ["changes", "forget", "keep"]

_MAX_BYTES: Final = 256 * 1024
_MAX_LINES: Final = 5_000
"""A longer script is not compared: that may take long."""


def keep(name: str, script: str, sha256: str | None) -> None:
    """Keep the text of the script that was approved, if it can be shown; else forget the old one.

    Nothing hangs on it: what cannot be written is not kept.
    """
    text = _text_of(Path(script), sha256)
    if text is None:
        forget(name)
        return
    with contextlib.suppress(OSError):
        make_private_folder(paths.approved_texts())
        write_atomically(paths.approved_texts() / name, text)


def forget(name: str) -> None:
    """Remove the text that is kept of a plugin."""
    with contextlib.suppress(OSError):
        (paths.approved_texts() / name).unlink(missing_ok=True)


def changes(name: str, script: str, before: str | None, now: str | None) -> list[str] | None:
    """What has changed in a script since it was approved, as lines of a diff.

    Args:
        name: the plugin's name.
        script: its file.
        before: the approved SHA-256.
        now: that of the file as the user is shown it.

    Returns:
        The lines, not yet safe to print; None if one of the texts is not there.
    """
    old, new = _text_of(paths.approved_texts() / name, before), _text_of(Path(script), now)
    if old is None or new is None:
        return None
    # not `splitlines`: a line break that no program takes for one would hide a change
    return list(
        difflib.unified_diff(old.split("\n"), new.split("\n"), "as approved", "now", lineterm="")
    )


def _text_of(path: Path, sha256: str | None) -> str | None:
    try:
        with open(path, "rb", opener=open_regular) as file:
            data = file.read(_MAX_BYTES + 1)
    except OSError:
        return None
    is_it = data.startswith(b"#!") and hashlib.sha256(data).hexdigest() == sha256
    if len(data) > _MAX_BYTES or not is_it or data.count(b"\n") > _MAX_LINES:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None
