"""What a plugin needs of the host that supervises it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import msgspec

    from sliphook.process.reaper import OrphanReaper
    from sliphook.trace.record import TraceSink
    from sliphook.trace.redact import Redactor
    from sliphook.transport.deadlines import Deadlines
    from sliphook.wire.rpc import Handler

    from .manifest import ReadManifest
    from .supervision import Plugin


class Supervisor(Protocol):
    """What a plugin needs of the host; none of these may raise."""

    deadlines: Deadlines
    trace: TraceSink | None
    secrets: Redactor
    reaper: OrphanReaper
    timeout_cap_s: float | None

    def initialize_params(self, plugin: Plugin) -> msgspec.Raw:
        """The params of `initialize`."""
        ...

    def handlers(self, plugin: Plugin) -> Mapping[str, Handler]:
        """What the plugin may call."""
        ...

    def admit(self, plugin: Plugin, manifest: ReadManifest) -> str | None:
        """The manifest is good in itself; returns why the host refuses it all the same, or None: its hooks count from now on."""
        ...

    def data_dir(self, plugin: Plugin) -> Path:
        """A folder that is the plugin's own."""
        ...

    def state_changed(self, plugin: Plugin) -> None:
        """`plugin.state` is another."""
        ...

    def problem(self, plugin: Plugin, message: str) -> None:
        """Something that the user should read, one line."""
        ...

    def hide(self, secrets: Sequence[str]) -> None:
        """From now on traces and logs may not show these."""
        ...

    def log_line(self, plugin: Plugin, level: str, message: str) -> None:
        """A line for the plugin's log."""
        ...
