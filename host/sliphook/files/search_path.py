"""Where programs are looked for: the entries of `PATH` that mean the same in every folder.

A relative entry, or an empty one, which means the current folder, would run whatever lies in the
folder in which the agent happens to be started.
"""

from __future__ import annotations

import os
import shutil

__all__ = ["search_path", "which"]


def search_path() -> list[str]:
    """The folders of this process's `PATH`, or the system's default if it is not set."""
    return [entry for entry in os.get_exec_path() if os.path.isabs(entry)]


def which(name: str) -> str | None:
    """The executable of that name in `search_path`, or None."""
    return shutil.which(name, path=os.pathsep.join(search_path()))
