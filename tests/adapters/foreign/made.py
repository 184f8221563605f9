"""Configurations of our own, and the plugin that runs them under the real host."""

from __future__ import annotations

import json
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sliphook import PluginSpec
from sliphook.adapters.foreign.approval import approved_words, scripts
from sliphook.adapters.foreign.sources import read_source
from sliphook.registry.made import Made, approve
from sliphook.settings import FOREIGN


def script(path: Path, text: str) -> Path:
    """An executable script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def settings_json(project: Path, hooks: Mapping[str, Any], **more: Any) -> Path:
    """A `settings.json` of Claude Code in a project."""
    path = project / ".claude" / "settings.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"hooks": hooks, **more}))
    return path


def command(text: str, **more: Any) -> dict[str, Any]:
    """One group with one command of Claude Code's shape; `matcher` goes to the group."""
    matcher = more.pop("matcher", None)
    group: dict[str, Any] = {} if matcher is None else {"matcher": matcher}
    return group | {"hooks": [{"type": "command", "command": text, **more}]}


def spec(path: Path, settings: Mapping[str, Any] | None = None) -> PluginSpec:
    """The plugin of a configuration, as the command line makes it."""
    source = read_source(str(path))
    made = Made(kind="hooks", words=list(approved_words(source)), files=approve(scripts(source)))
    env = {FOREIGN: json.dumps(settings or {})}
    return PluginSpec(made.program, made=made.by("theirs"), env=env)
