"""The log of the daemons of one agent: they have no terminal."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Final

from sliphook.files import paths
from sliphook.files.private import make_private_folder, open_private

MAX_LOG_BYTES: Final = 1024 * 1024


def log_file(agent: str) -> Path:
    """The log of all daemons of an agent."""
    return paths.state_home() / "logs" / f"attached-{agent}.log"


def log_to_file(agent: str) -> None:
    """Write what is logged to the agent's file; nothing if that cannot be written."""
    path = log_file(agent)
    try:
        make_private_folder(path.parent)
        if path.exists() and path.stat().st_size > MAX_LOG_BYTES:
            path.replace(path.with_suffix(".log.1"))
        descriptor = open_private(path, os.O_WRONLY | os.O_APPEND)
    except OSError:
        return
    logging.basicConfig(
        stream=os.fdopen(descriptor, "a", encoding="utf-8", errors="backslashreplace"),
        level=logging.INFO,
        format=f"%(asctime)s {os.getpid()} %(levelname)s %(name)s %(message)s",
    )
