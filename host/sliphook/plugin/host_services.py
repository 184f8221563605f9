"""What a plugin needs of its host."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    import msgspec

    from sliphook.process.reaper import OrphanReaper
    from sliphook.trace.record import TraceSink
    from sliphook.trace.redact import Redactor
    from sliphook.transport.deadlines import Deadlines
    from sliphook.transport.pace import Pace
    from sliphook.wire.rpc import Handlers

    from .manifest import ReadManifest

P = TypeVar("P", contravariant=True)


@dataclass(frozen=True)
class HostServices:
    """The objects and settings that all plugins of one host share.

    Attributes:
        deadlines: the timeouts of all requests.
        pace: how many plugins start, are read or cleaned up in one pass of the loop.
        reaper: kills the plugins' process groups if the host dies.
        redactor: hides secrets in logs and on stderr.
        trace: takes the records of messages, or None.
        timeout_cap_s: the most seconds that an answer of any plugin may take, or None.
    """

    deadlines: Deadlines
    pace: Pace
    reaper: OrphanReaper
    redactor: Redactor
    trace: TraceSink | None
    timeout_cap_s: float | None


class Supervisor(Protocol[P]):
    """The host, as its plugins see it; `P` is the plugin. None of the methods may raise."""

    services: HostServices

    def initialize_params(self, plugin: P) -> msgspec.Raw:
        """The params of `initialize`."""
        ...

    def handlers(self, plugin: P) -> Handlers:
        """What the plugin may call, by method."""
        ...

    def admit(self, plugin: P, manifest: ReadManifest) -> str | None:
        """Register the name, hooks, tools and commands of a manifest; returns why not, or None."""
        ...

    def data_dir(self, plugin: P) -> Path:
        """The plugin's working directory."""
        ...

    def state_changed(self, plugin: P) -> None:
        """`plugin.state` has changed, or the state that it is to reach."""
        ...

    def problem(self, plugin: P, message: str) -> None:
        """Report a problem to the user, in one line."""
        ...

    def hide(self, secrets: Sequence[str]) -> None:
        """Hide these values in traces and logs from now on."""
        ...

    def log_line(self, plugin: P, level: str, message: str, *, by_host: bool = False) -> None:
        """Write a line to the plugin's log; `by_host` if it is not the plugin's own."""
        ...
