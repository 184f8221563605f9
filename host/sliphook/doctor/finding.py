"""Pure: a finding, and the scene that the rules look at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import msgspec

from sliphook.plugin.checks import ManifestError
from sliphook.plugin.manifest import ReadManifest, read_manifest
from sliphook.plugin.spec import PluginStatus
from sliphook.registry import Broken, Registered
from sliphook.settings import Settings

Area = Literal["plugins", "files", "settings", "agents", "system"]
Level = Literal["ok", "note", "problem"]
"""`note`: it works, but may not be what the user wants."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one rule for one thing.

    Attributes:
        area: the part of the report that it belongs to.
        level: how bad it is.
        about: the plugin, the file, or what was tried.
        what: what was found, in one line.
        do: what to do about it, in one line, or None.
    """

    area: Area
    level: Level
    about: str
    what: str
    do: str | None = None


@dataclass(frozen=True)
class Started:
    """The start of one plugin.

    Attributes:
        status: its status before the host ended it.
        start_ms: the time from its process to its manifest; None if there was no manifest.
    """

    status: PluginStatus
    start_ms: float | None = None


@dataclass(frozen=True, kw_only=True)
class Scene:
    """Everything that the pure rules look at.

    Attributes:
        plugins: the installed plugins whose files can be read, in their order.
        broken: the other installed plugins.
        settings: the user's settings.
        started: the start of each enabled plugin, by its name.
        agent_tools: the names of the agent's own tools.
        other_agents: plugins run in other agents too, whose tools are not known.
        environ: has the values of granted variables.
    """

    plugins: tuple[Registered, ...] = ()
    broken: tuple[Broken, ...] = ()
    settings: Settings = field(default_factory=Settings)
    started: Mapping[str, Started] = field(default_factory=dict[str, Started])
    agent_tools: frozenset[str] = frozenset()
    other_agents: bool = False
    environ: Mapping[str, str] = field(default_factory=dict[str, str])

    def enabled(self) -> Iterable[tuple[Registered, ReadManifest]]:
        """The enabled plugins, each with its manifest: declared now, or else as approved."""
        for plugin in self.plugins:
            if plugin.enabled:
                started = self.started.get(plugin.name)
                declared = (
                    started.status.manifest
                    if started is not None and started.status.manifest is not None
                    else plugin.manifest
                )
                try:
                    yield plugin, read_manifest(msgspec.json.encode(declared))
                except ManifestError:
                    continue  # the plugin has not started, and another rule reports that


Rule: TypeAlias = Callable[[Scene], Iterable[Finding]]
