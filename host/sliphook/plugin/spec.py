"""What the host is told of a plugin, and what the host tells of it."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec

from sliphook.process.limits import NO_LIMITS, Limits
from sliphook.quoting import quote
from sliphook_sdk.protocol import RESERVED_PLUGINS, Manifest, OnFailure
from sliphook_sdk.protocol.describe import doc

if TYPE_CHECKING:
    from sliphook.process.child import Process


class Override(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What the user has decided about a plugin's subscriptions to one hook or event.

    The same keys stand in the plugin's file and in `config.toml`. A default leaves what the plugin
    declared. The user may weaken a guard by `on_failure`; an update of the plugin may not.
    """

    priority: Annotated[int | None, doc("high is asked first", 10)] = None
    on_failure: Annotated[
        OnFailure | None,
        doc("what a failed answer counts as: `closed` denies, `open` abstains", "open"),
    ] = None
    off: Annotated[bool, doc("true: the plugin is neither asked nor told", True)] = False


@dataclass(frozen=True)
class MadeBy:
    """How an adapter makes a plugin of something else; the spec's `path` is what runs the adapter.

    Attributes:
        name: what the plugin is called before it has said its name.
        arguments: they follow the path.
        files: the files that the user approved, each with the hash of its bytes. At every start the
            plugin is refused if one has changed, or if another user could change it.
        origin: what guards read as the owner of its tools.
    """

    name: str
    arguments: tuple[str, ...]
    files: Mapping[Path, str]
    origin: str


@dataclass(frozen=True)
class PluginSpec:
    """A plugin to start.

    Attributes:
        path: its executable.
        name: the name that it is installed under; None for a plugin that is only tried, which is
            called by the name in its manifest.
        config: the user's settings for it.
        env: the environment variables that the user granted, with their values.
        grants: what it may ask of the host; None: everything that its manifest lists.
        servers: those that it may have model calls sent to, `HOST` or `HOST:PORT`, beside the
            agent's providers; None: those that its manifest lists.
        timeout_cap_s: the most seconds that one of its answers may take, whatever its subscriptions
            ask for; None: no cap.
        overrides: what the user has decided about a hook or event, by its name.
        recorded: the manifest that the user approved. While the plugin is not ready (starting,
            failed, refused, self-disabled), the closed subscriptions in it are asked and fail, and
            its names are taken. None: nothing is known of the plugin before it has started.
        sandbox: run it without network, and with a file system that it can only read, except for
            its data folder. If that is not possible, it is refused.
        limits: how much of the machine each of its processes may use.
        sha256: the hash of the executable that the user approved. At every start, another file
            under its path is refused, and so is one that another user could change. None: any file
            is started.
        interpreter: a script that looks for its interpreter on PATH (`#!/usr/bin/env python3`) runs
            in this one; without it, it is refused. None: the first one on PATH.
        made: the plugin is no executable of its own, but made by an adapter; None: it is one.
        edition: which state of its files this is, in any words; `PluginHost.update` starts a plugin
            of another edition anew. None: that is not told.
        start: starts the plugin in another way than as an executable, for tests: see
            `sliphook.testing`.
    """

    path: Path
    name: str | None = None
    config: Mapping[str, object] = field(default_factory=dict[str, object])
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    grants: frozenset[str] | None = None
    servers: tuple[str, ...] | None = None
    timeout_cap_s: float | None = None
    overrides: Mapping[str, Override] = field(default_factory=dict[str, Override])
    recorded: Manifest | None = None
    sandbox: bool = False
    limits: Limits = NO_LIMITS
    sha256: str | None = None
    interpreter: str | None = None
    made: MadeBy | None = None
    edition: str | None = None
    start: Callable[[], Awaitable[Process]] | None = None

    @property
    def source(self) -> tuple[str, ...]:
        """What two specs have in common that start the same: the executable and its arguments."""
        try:
            path = os.path.realpath(self.path)
        except ValueError:  # a null byte: its start says that there is no such file
            path = str(self.path)
        return (path, *(self.made.arguments if self.made else ()))

    @property
    def stem(self) -> str:
        """What a plugin that is only tried is known by: its file, or what it is made of."""
        return self.made.name if self.made is not None else self.path.stem


def name_before_it_is_said(spec: PluginSpec) -> str:
    """What a plugin is called before it has said its name."""
    name = quote(spec.stem, 64)
    return f"{name}-plugin" if name in RESERVED_PLUGINS else name


@dataclass(frozen=True)
class PluginStatus:
    """The state of a plugin at one moment.

    Attributes:
        name: its name.
        path: its executable.
        state: stopped, starting, ready, stopping, restarting, failed, refused, self_disabled or
            disabled.
        why: what led to the state, in one line, or None.
        pid: the id of its living process, or None.
        restarts: how often it was started again.
        since: `trio.current_time()` of the last change of state.
        stderr_tail: the last lines of its stderr, escaped.
        manifest: what it declared; before that, what was recorded; None if there is neither.
        log: the name of its log, for `sliphook logs`; "" if it has none.
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
    log: str = ""
