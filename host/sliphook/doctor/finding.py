"""Pure: what was found, and what there is to look at."""

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

Area = Literal["plugins", "files", "settings", "system"]
Level = Literal["ok", "note", "problem"]
"""`note`: it works, and may not be what you wished for."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was looked at.

    Attributes:
        area: what it belongs to.
        level: how it is.
        about: a plugin, a file, or what was tried.
        what: what was found, one line.
        do: what to do about it, one line.
    """

    area: Area
    level: Level
    about: str
    what: str
    do: str | None = None


@dataclass(frozen=True)
class Started:
    """How the start of one plugin went.

    Attributes:
        status: as the host gave it before the plugin was ended.
        start_ms: from its process to its manifest; None where there was none.
    """

    status: PluginStatus
    start_ms: float | None = None


@dataclass(frozen=True, kw_only=True)
class Scene:
    """All that the pure rules look at.

    Attributes:
        plugins: the installed plugins that can be read, in order.
        broken: the others.
        settings: the user's.
        started: how the start of each enabled plugin went, by name.
        agent_tools: names of the tools that the agent itself has.
        environ: where granted variables are taken from.
    """

    plugins: tuple[Registered, ...] = ()
    broken: tuple[Broken, ...] = ()
    settings: Settings = field(default_factory=Settings)
    started: Mapping[str, Started] = field(default_factory=dict[str, Started])
    agent_tools: frozenset[str] = frozenset()
    environ: Mapping[str, str] = field(default_factory=dict[str, str])

    def enabled(self) -> Iterable[tuple[Registered, ReadManifest]]:
        """The enabled plugins with what they declare now, or declared when they were approved."""
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
                    continue  # it has not started, and that is told


Rule: TypeAlias = Callable[[Scene], Iterable[Finding]]
