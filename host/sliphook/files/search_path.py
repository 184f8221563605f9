"""Where programs are looked for: the entries of `PATH` that mean the same in every folder.

A relative entry, or an empty one, which means the current folder, would run whatever lies in the
folder in which the agent happens to be started.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping

__all__ = ["search_path", "which"]


def search_path(environ: Mapping[str, str] = os.environ) -> list[str]:
    """The folders of this process's `PATH`, or the system's default if it is not set."""
    return [entry for entry in os.get_exec_path(environ) if os.path.isabs(entry)]


def which(name: str, environ: Mapping[str, str] = os.environ) -> str | None:
    """The executable of that name in `search_path`, or None."""
    return shutil.which(name, path=os.pathsep.join(search_path(environ)))
