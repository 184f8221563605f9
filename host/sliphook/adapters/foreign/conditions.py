"""Claude Code's `if`, one permission rule such as `Bash(git commit:*)` or `Edit(*.py)`.

Its hook is left out only where it is certain that the rule is not for the call.
"""

from __future__ import annotations

import os.path
import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any, Final

from sliphook.adapters.dialects.server_tools import ServerTool
from sliphook_sdk.protocol import Globs
from sliphook_sdk.protocol.limits import MAX_MATCHED_CHARS

from .shell_rules import may_run

_RULE: Final = re.compile(r"([A-Za-z0-9_*-]+)(?:\((.*)\))?", re.DOTALL)
_MAX_CHARS: Final = 1_000
_PATHS: Final = re.compile(r"[\w@%+=,./~*? -]+")
_ALSO: Final[Mapping[str, tuple[str, ...]]] = {
    "Edit": ("Edit", "Write", "MultiEdit", "NotebookEdit"),
    "Read": ("Read", "Grep", "Glob", "LS"),
    "Agent": ("Agent", "Task"),
    "Task": ("Agent", "Task"),
}
"""The tools that a rule of this name is for."""
_FILES: Final[Mapping[str, str]] = {
    "Read": "file_path",
    "Edit": "file_path",
    "Write": "file_path",
    "MultiEdit": "file_path",
    "NotebookEdit": "notebook_path",
}
_CONTENT: Final = frozenset(
    {"description", "prompt", "content", "old_string", "new_string", "new_source", "edits"}
)
"""Arguments that no rule is about."""
_DOMAIN: Final = "domain:"
_HOST: Final = re.compile(r"https?://([A-Za-z0-9.-]+\.[A-Za-z]{2,}\.?)(?::\d*)?(?:[/?#][!-~]*)?")
"""The address of a host with a plain name."""


def holds(
    rule: str | None,
    tool_name: str,
    arguments: Mapping[str, Any],
    cwd: str | None = None,
    *,
    server_tool: ServerTool | None = None,
) -> bool:
    """True if a tool call may fit the rule. What is no rule that is known fits every call.

    Args:
        rule: None: there is none.
        tool_name: Claude Code's name of the tool.
        arguments: by its names.
        cwd: the folder that paths are taken from; None if it is not known.
        server_tool: the tool, if it may have other names there.
    """
    found = _RULE.fullmatch(rule.strip()) if rule and len(rule) <= _MAX_CHARS else None
    if found is None:
        return True
    name, wanted = found[1], (found[2] or "").strip()
    of_server = name.startswith("mcp__") and tool_name.startswith(f"{name}__")
    if not of_server and server_tool is not None:
        of_server = server_tool.may_be(name) or server_tool.may_be(f"{name}__*")
    if not of_server and not Globs(_ALSO.get(name, (name,))).fits(tool_name):
        return False
    if wanted in ("", "*", ":*"):
        return True
    match tool_name:
        case "Bash":
            return _any_text(arguments, "command", lambda text: may_run(wanted, text))
        case "WebFetch":
            return _any_text(arguments, "url", lambda text: _is_of_domain(wanted, text))
        case _ if tool_name in _FILES:
            names = _FILES[tool_name]
            return _any_text(arguments, names, lambda text: _is_at(wanted, text, cwd))
        case _:
            return True


def _any_text(arguments: Mapping[str, Any], name: str, fits: Callable[[str], bool]) -> bool:
    """Whether an argument fits that the tool may take: our tool's may have another name."""
    if not isinstance(arguments.get(name), str):
        return True
    texts = texts_of(arguments)
    return texts is None or any(map(fits, texts))


def texts_of(arguments: Mapping[str, Any]) -> list[str] | None:
    """The arguments that a command or a path may be in, whatever our tool calls it.

    None: one is a list or an object, which may have it in any form.
    """
    values = [value for name, value in arguments.items() if name not in _CONTENT]
    if any(isinstance(value, (list, dict)) for value in values):
        return None
    return [value for value in values if isinstance(value, str)]


def _is_of_domain(wanted: str, url: str) -> bool:
    found = _HOST.fullmatch(url) if wanted.startswith(_DOMAIN) else None
    if found is None:
        return True
    host = found[1].removesuffix(".").casefold()
    domain = wanted.removeprefix(_DOMAIN).strip().casefold()
    return Globs([domain, f"*.{domain}"]).fits(host)


def _is_at(wanted: str, path: str, cwd: str | None) -> bool:
    """Whether a path may be one of a rule's, from whatever folder the rule starts."""
    if not _PATHS.fullmatch(wanted) or path.startswith("~"):
        return True
    parts = [part for part in wanted.split("/") if part not in ("", ".")]
    while parts and (parts[0] == ".." or parts[0].startswith("~")):
        del parts[0]
    if not parts or ".." in parts:
        return True
    tail = _plain(re.sub(r"\*+", "*", "/".join(parts).replace("**/", "*")))
    whole = os.path.join(cwd or "", path)
    # below /proc a path leads another process elsewhere
    if len(whole) > MAX_MATCHED_CHARS or not os.path.isabs(whole) or "/proc/" in whole:
        return True
    try:
        ends = os.path.normpath(whole), os.path.realpath(whole)
    except ValueError:  # no file has such a name
        return True
    globs = Globs([f"*/{tail}", f"*/{tail}/*"])
    return any(globs.fits(_plain(one)) for one in ends)


def _plain(path: str) -> str:
    """The same for names that some file systems take for the same."""
    return unicodedata.normalize("NFC", path).casefold()
