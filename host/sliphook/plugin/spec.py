"""What the host is told of a plugin, and what the host tells of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec

from sliphook_sdk.protocol import Manifest, OnFailure
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
class PluginSpec:
    """A plugin to start.

    Attributes:
        path: the executable.
        name: the name it is installed under; None for one that is only tried: its own name counts
            then.
        config: the user's settings for it.
        env: environment variables that the user granted, with their values.
        grants: what it may ask of the host; None: all that its manifest lists.
        timeout_cap_s: the longest that an answer of its may take, whatever its subscriptions ask
            for; None: no cap.
        overrides: by the name of a hook or event, what the user has decided about it.
        recorded: the manifest that was approved when it was installed. Whenever the plugin is not
            there (starting, failed, refused, self-disabled), the closed subscriptions in it count
            and fail, and its names are taken; None: nothing is known of the plugin before it has
            started.
        sandbox: no network, and a file system that it can only read but for its data directory;
            where that cannot be had it is refused.
        sha256: of the executable that was approved: another file under its path is refused at every
            start, and one that others than the user could change; None: whatever is there is
            started.
        start: starts it otherwise than as an executable; tests put an in-memory plugin there (see
            `sliphook.testing`).
    """

    path: Path
    name: str | None = None
    config: Mapping[str, object] = field(default_factory=dict[str, object])
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    grants: frozenset[str] | None = None
    timeout_cap_s: float | None = None
    overrides: Mapping[str, Override] = field(default_factory=dict[str, Override])
    recorded: Manifest | None = None
    sandbox: bool = False
    sha256: str | None = None
    start: Callable[[], Awaitable[Process]] | None = None


@dataclass(frozen=True)
class PluginStatus:
    """What there is to know of a plugin now.

    Attributes:
        name: its name.
        path: its executable.
        state: stopped, starting, ready, stopping, restarting, failed, refused, self_disabled or
            disabled.
        why: what led to the state, for people; None where nothing did.
        pid: the living process, or None.
        restarts: how often it was started again.
        since: `trio.current_time()` of the last change of state.
        stderr_tail: its last lines, escaped.
        manifest: what it declared, or before that what was recorded; None where neither is.
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
