"""Pure: Claude Code's `if`, one permission rule such as `Bash(git commit:*)` or `Edit(*.py)`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from sliphook_sdk.protocol import Globs

_RULE: Final = re.compile(r"([A-Za-z0-9_*-]+)(?:\((.*)\))?", re.DOTALL)
_MAX_CHARS: Final = 1_000
_SUBJECTS: Final = ("command", "file_path", "notebook_path", "path", "url", "query", "pattern")
"""The arguments that a rule is about; the first that is there."""


def holds(rule: str | None, tool_name: str, arguments: Mapping[str, Any]) -> bool:
    """True if a tool call fits the rule. What is no rule that is known fits every call."""
    found = _RULE.fullmatch(rule[:_MAX_CHARS].strip()) if rule else None
    if found is None:
        return True
    if not Globs([found[1]]).fits(tool_name):
        return False
    wanted = found[2]
    if wanted is None or wanted in ("", "*"):
        return True
    subject = next((arguments[name] for name in _SUBJECTS if name in arguments), None)
    if not isinstance(subject, str):
        return True
    if tool_name == "Bash":
        parts = re.split(r"&&|\|\||[;|\n]", subject[:10_000])
        return any(_fits_command(wanted, part.strip()) for part in parts)
    globs = [wanted, f"*/{wanted.removeprefix('./').removeprefix('/')}"]
    return Globs([re.sub(r"\*+", "*", glob) for glob in globs]).fits(subject[:10_000])


def _fits_command(wanted: str, command: str) -> bool:
    if wanted.endswith(":*"):
        beginning = wanted[:-2]
        return command == beginning or command.startswith(f"{beginning} ")
    return Globs([wanted]).fits(command)
