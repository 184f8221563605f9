"""Pure: which environment variables a plugin gets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from sliphook.quoting import quote

ALLOWED_ENVIRONMENT: Final = (
    "PATH",
    "HOME",
    "LANG",
    "TZ",
    "TMPDIR",
    "TERM",
    "USER",
    "LOGNAME",
    "SHELL",
)
_NEVER_GRANTED: Final = ("LD_", "DYLD_", "PYTHONPATH", "NODE_OPTIONS")
_ADDED: Final = {"PYTHONUTF8": "1", "PYTHONUNBUFFERED": "1"}
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,254}")


def plugin_environment(environ: Mapping[str, str], granted: Mapping[str, str]) -> dict[str, str]:
    """The environment of a plugin: an allow-list of the agent's, what the user granted, and UTF-8 without buffering for Python."""
    kept = {name: value for name, value in environ.items() if is_given_to_all(name)}
    kept.update(
        {name: value for name, value in granted.items() if not name.startswith(_NEVER_GRANTED)}
    )
    return {**kept, **_ADDED}


def is_given_to_all(name: str) -> bool:
    """Every plugin gets the variable, granted or not."""
    return name in ALLOWED_ENVIRONMENT or name.startswith("LC_")


def why_not_granted(name: str) -> str | None:
    """Why no plugin can be given the variable, in a line, or None."""
    if not _NAME.fullmatch(name):
        return f"'{quote(name, 40)}' is no name of an environment variable"
    if name.startswith(_NEVER_GRANTED):
        return f"{name} is never given to a plugin: it would change which code runs there"
    return None
