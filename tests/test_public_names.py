"""The one public face: what an agent may import, from where; the documents use nothing else."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import click
import pytest

import sliphook
from sliphook.moved_paths import MOVED

ROOT: Final = Path(__file__).resolve().parents[1]
PUBLIC: Final[dict[str, frozenset[str]]] = {
    "sliphook": frozenset(
        [
            "ApprovalRequest",
            "Approver",
            "BegunTool",
            "AskRequest",
            "Asker",
            "CanAsk",
            "Verdict",
            "CommandOffer",
            "Context",
            "Form",
            "FormField",
            "HostError",
            "Interruption",
            "Limits",
            "LlmGate",
            "Outcome",
            "Override",
            "Part",
            "PluginHost",
            "PluginSpec",
            "PluginStatus",
            "Progress",
            "Prompt",
            "Reason",
            "Session",
            "SliphookError",
            "Submission",
            "ToolOffer",
            "ToolOutcome",
            "Turn",
            "TurnOpen",
        ]
    ),
    "sliphook.agent": frozenset(
        [
            "Agent",
            "AgentTool",
            "COMMANDS",
            "Gateway",
            "Models",
            "RESERVED_TOOLS",
            "ScriptedModel",
            "shell_tool",
        ]
    ),
    "sliphook.agent.loop": frozenset(
        ["Agent", "AgentTool", "MAX_DEPTH", "MAX_MODEL_CALLS", "RESERVED_TOOLS"]
    ),
    "sliphook.aio": frozenset(["BegunTool", "PluginHost", "Session", "Turn"]),
    "sliphook.bridges.hermes": frozenset(["register"]),
    "sliphook.blocking": frozenset(["BegunTool", "Interrupted", "PluginHost", "Session", "Turn"]),
    "sliphook.dumpable": frozenset(["forbid_dumps"]),
    "sliphook.installed": frozenset(["Installed", "read_installed"]),
    "sliphook.otel": frozenset(["OtelSpans"]),
    "sliphook.quoting": frozenset(["quote", "visible", "visible_json"]),
    "sliphook.registry": frozenset(["Broken", "Registered", "Registry", "RegistryError"]),
    "sliphook.settings": frozenset(
        [
            "MOST_MODEL_CALLS",
            "AgentSettings",
            "ForeignSettings",
            "PluginSettings",
            "Provider",
            "Settings",
            "SettingsError",
            "for_nobody",
            "read_settings",
            "settings_file",
            "with_settings",
        ]
    ),
    "sliphook.signals": frozenset(["SignalWatch"]),
    "sliphook.testing": frozenset(
        [
            "After",
            "CRASHES",
            "Fails",
            "FakePlugin",
            "HANGS",
            "HostRefused",
            "Raw",
            "Received",
            "Reply",
            "run",
        ]
    ),
    "sliphook.trace": frozenset(["FileTrace", "LiveTrace", "Tee", "TraceRecord", "TraceSink"]),
    "sliphook.trace.record": frozenset(
        ["KINDS", "Direction", "Kind", "Tee", "TraceRecord", "TraceSink"]
    ),
}
SAME_BY_DESIGN: Final = {"BegunTool", "PluginHost", "Session", "Turn"}
"""The three faces of the host have the same names."""


@pytest.mark.parametrize("module", PUBLIC)
def test_a_public_module_says_what_of_it_is_public(module: str) -> None:
    found = importlib.import_module(module)
    assert frozenset(found.__all__) == PUBLIC[module]
    for name in PUBLIC[module]:
        assert getattr(found, name) is not None


def imports_in(python: str) -> set[tuple[str, str]]:
    """Each name that a piece of Python takes from `sliphook`, with its module."""
    found: set[tuple[str, str]] = set()
    for node in ast.walk(ast.parse(python)):
        if isinstance(node, ast.Import):
            found |= {(alias.name, "") for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {(node.module, alias.name) for alias in node.names}
    return {(module, name) for module, name in found if re.match(r"sliphook(\.|$)", module)}


@pytest.mark.parametrize(
    "page",
    [
        path
        for path in ROOT.rglob("*.md")
        if not {".venv", ".venv-hermes", "node_modules"} & {*path.parts}
    ],
)
def test_the_documents_use_public_names_alone(page: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    wrong = {
        (module, name)
        for block in blocks
        for module, name in imports_in(block)
        if module not in PUBLIC or (name and name not in PUBLIC[module])
    }
    assert wrong == set()


def classes_by_name() -> dict[str, set[type]]:
    """Every public class that a module of the host defines; what starts with `_` is its own."""
    found: dict[str, set[type]] = {}
    for info in pkgutil.walk_packages(sliphook.__path__, "sliphook."):
        if ".demo.plugins" in info.name or info.name.endswith((".__main__", "reaper_main")):
            continue  # programs
        module = importlib.import_module(info.name)
        for name, value in vars(module).items():
            if inspect.isclass(value) and value.__module__ == info.name and name[0] != "_":
                found.setdefault(name, set()).add(value)
    return found


def test_two_classes_never_have_one_name() -> None:
    """But the three faces of the host, which have the same names by design."""
    doubled = {
        name: sorted(kind.__module__ for kind in kinds)
        for name, kinds in classes_by_name().items()
        if len(kinds) > 1 and name not in SAME_BY_DESIGN
    }
    assert doubled == {}


def test_every_exception_of_the_host_has_one_root() -> None:
    exceptions = {
        kind
        for kinds in classes_by_name().values()
        for kind in kinds
        if issubclass(kind, Exception)
        and not issubclass(kind, click.ClickException)
        and kind is not sliphook.SliphookError
    }
    assert len(exceptions) > 20
    assert {kind for kind in exceptions if not issubclass(kind, sliphook.SliphookError)} == set()


@pytest.mark.parametrize(("old", "new"), MOVED.items())
def test_what_has_moved_is_found_under_its_old_path(old: str, new: str) -> None:
    warned = f"{old} is now {new}"
    sys.modules.pop(old, None)
    with pytest.warns(DeprecationWarning, match=re.escape(warned)):
        module = importlib.import_module(old)
    for name in PUBLIC.get(new, ("TomlError",)):
        assert getattr(module, name) is getattr(importlib.import_module(new), name)
    assert not hasattr(module, "no_such_name")


def test_the_package_alone_loads_neither_trio_nor_typing() -> None:
    code = "import sys, sliphook; print(sorted({'trio', 'typing', 'msgspec'} & sys.modules.keys()))"
    said = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert said.stdout == "[]\n"
