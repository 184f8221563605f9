"""The folders of Sliphook's files: those of the XDG base directory specification.

They are the same on macOS as on Linux. The library platformdirs is not used: its import takes as
long as that of click, and it takes a relative `HOME` for unset, where an error is wanted.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path


def data_home() -> Path:
    """`$XDG_DATA_HOME/sliphook`: transcripts, and the two folders below."""
    return _home("XDG_DATA_HOME", ".local/share")


def plugin_files() -> Path:
    """`$XDG_DATA_HOME/sliphook/plugins`: a file for each installed plugin."""
    return data_home() / "plugins"


def plugin_data() -> Path:
    """`$XDG_DATA_HOME/sliphook/data`: a folder for each plugin's own data."""
    return data_home() / "data"


def approved_texts() -> Path:
    """`$XDG_DATA_HOME/sliphook/approved`: the installed scripts as they were approved."""
    return data_home() / "approved"


def state_home() -> Path:
    """`$XDG_STATE_HOME/sliphook`: logs, histories."""
    return _home("XDG_STATE_HOME", ".local/state")


def config_home() -> Path:
    """`$XDG_CONFIG_HOME/sliphook`: what the user writes."""
    return _home("XDG_CONFIG_HOME", ".config")


def _home(variable: str, default: str) -> Path:
    set_to = os.environ.get(variable, "")
    # the specification ignores a relative path: the files would move with the current folder
    return (Path(set_to) if os.path.isabs(set_to) else user_home() / default) / "sliphook"


def user_home() -> Path:
    """The user's home.

    Raises:
        OSError: it is not known.
    """
    home = os.path.expanduser("~")
    # Python takes an empty HOME for the root folder
    if not os.path.isabs(home) or os.environ.get("HOME") == "":
        raise FileNotFoundError(
            errno.ENOENT, "your home folder is not known; set HOME to its absolute path"
        )
    return Path(home)
