"""Variables that change what a command is or does."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase

_CHANGES_WHAT_RUNS = (
    *("PATH", "CDPATH", "IFS", "ENV", "BASH_*", "SHELLOPTS", "BASHOPTS", "PS4", "PROMPT_COMMAND"),
    *("LD_*", "DYLD_*", "*PAGER", "*EDITOR", "VISUAL", "BROWSER", "GIT_*", "PYTHON*", "PERL5*"),
    *("RUBY*", "NODE_*", "TAR_OPTIONS", "LESS*", "HOME", "PWD", "OLDPWD", "DIRSTACK"),
    *("MAKE*", "GNUMAKEFLAGS", "PYTEST_*", "RIPGREP_*", "RSYNC_*", "GCONV_PATH", "CARGO_*"),
    *("RUSTC*", "GOFLAGS", "LUA_INIT*", "AWKPATH", "AWKLIBPATH", "JAVA_TOOL_OPTIONS"),
)
_COMPARES = re.compile(r".* -(eq|ne|lt|le|gt|ge) ", re.DOTALL)
_EVALUATING_TEST = re.compile(r"\[\[.* -(eq|ne|lt|le|gt|ge) |.* -[vR] ", re.DOTALL)
_VALUE = re.compile(r"\$\{(\w+):?=")
_SLICE = re.compile(r"\$\{!?[\w@*]+(?:\[.*\])?:[^-=?+}][^}]*[A-Za-z_$`]|\$\{!?[\w@*]+:[A-Za-z_$`(]")


def changes_what_runs(name: str) -> bool:
    """Whether a variable of this name may change which program a command is."""
    return any(fnmatchcase(name, pattern) for pattern in _CHANGES_WHAT_RUNS)


def that_change(names: Iterable[str]) -> list[str]:
    return [name for name in names if changes_what_runs(name)]


def set_by_default(expansion: str) -> list[str]:
    """What `${NAME:=value}` sets."""
    return _VALUE.findall(expansion)


def evaluates(kind: str, text: str) -> bool:
    """Whether bash calculates in this node of the tree, and so runs the commands in an index."""
    return (
        kind in ("arithmetic_expansion", "subscript", "c_style_for_statement")
        or (kind == "compound_statement" and text.startswith("(("))
        or (kind == "test_command" and _EVALUATING_TEST.match(text) is not None)
        or (kind == "declaration_command" and re.search(r"\s-\w*i", text) is not None)
        or (kind == "expansion" and _SLICE.match(text) is not None)
    )


def calculates(kind: str, text: str) -> bool:
    """The same in any shell: zsh does so in `[` too."""
    compares = kind in ("compound_statement", "test_command", "binary_expression")
    return evaluates(kind, text) or (compares and _COMPARES.match(text) is not None)


def named_in_arithmetic(kind: str, text: str) -> list[str]:
    """What may be set there."""
    head = text.partition("))")[0]
    return re.findall(r"\w+", head) if re.match(r"\$?\(\(|for\s*\(\(", head) else []
