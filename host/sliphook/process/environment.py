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
"""Beginnings of names. Such variables change which code runs in the plugin, whatever its file."""
_ADDED: Final = {"PYTHONUTF8": "1", "PYTHONUNBUFFERED": "1"}
"""For plugins in Python: a buffered stderr would lose the last lines of a plugin that is killed."""
VARIABLE_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,254}")
"""What a variable of an environment can be called."""


def plugin_environment(environ: Mapping[str, str], granted: Mapping[str, str]) -> dict[str, str]:
    """The whole environment of a plugin.

    Args:
        environ: the agent's environment, of which an allow-list is passed on.
        granted: the variables that the user has granted the plugin.
    """
    kept = {name: value for name, value in copied(environ).items() if is_given_to_all(name)}
    # a relative entry would lead into the plugin's own folder; an empty PATH into the current one
    entries = [entry for entry in kept.pop("PATH", "").split(":") if entry.startswith("/")]
    if entries:
        kept["PATH"] = ":".join(entries)
    # a manifest cannot ask for these, but `granted` may come straight from a PluginSpec
    kept.update(
        {name: value for name, value in granted.items() if not name.startswith(_NEVER_GRANTED)}
    )
    return {**kept, **_ADDED}


def copied(environ: Mapping[str, str]) -> dict[str, str]:
    """A copy of an environment, without what another thread takes away meanwhile.

    `os.environ.items()` raises KeyError then.
    """
    return {name: value for name in environ if (value := environ.get(name)) is not None}


def is_given_to_all(name: str) -> bool:
    """True if every plugin gets the variable without a grant."""
    return name in ALLOWED_ENVIRONMENT or name.startswith("LC_")


def why_not_granted(name: str) -> str | None:
    """One line that says why no plugin can be given the variable, or None."""
    if not VARIABLE_NAME.fullmatch(name):
        return f"'{quote(name, 40)}' is no name of an environment variable"
    if name.startswith(_NEVER_GRANTED):
        return f"{name} is never given to a plugin: it would change which code runs there"
    return None
