"""What the host is told of a plugin, and what it tells of one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sliphook_sdk.protocol import Manifest


@dataclass(frozen=True)
class PluginSpec:
    """A plugin to start.

    Attributes:
        path: the executable.
        name: the name it is installed under; None for one that is only tried: its own name counts then.
        config: the user's settings for it.
        env: environment variables that the user granted, with their values.
        grants: what it may ask of the host; None: all that its manifest lists.
    """

    path: Path
    name: str | None = None
    config: Mapping[str, object] = field(default_factory=dict[str, object])
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    grants: frozenset[str] | None = None


@dataclass(frozen=True)
class PluginStatus:
    """What there is to know of a plugin now.

    Attributes:
        name: its name.
        path: its executable.
        state: stopped, starting, ready, stopping, restarting, failed, refused, self_disabled or disabled.
        why: what led to the state, for people; None where nothing did.
        pid: the living process, or None.
        restarts: how often it was started again.
        since: `trio.current_time()` of the last change of state.
        stderr_tail: its last lines, escaped.
        manifest: what it declared, or None.
    """

    name: str
    path: Path
    state: str
    why: str | None
    pid: int | None
    restarts: int
    since: float
    stderr_tail: tuple[str, ...]
    manifest: Manifest | None
