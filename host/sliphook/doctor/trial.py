"""One start and end of every enabled plugin, side by side, as in a host that opens."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from sliphook.host.host import PluginHost

from .finding import Started

if TYPE_CHECKING:
    from sliphook.plugin.spec import PluginSpec
    from sliphook.session.reports import Progress
    from sliphook.trace.record import TraceRecord


class _StartTimes:
    """A trace sink that keeps only the time of each plugin's manifest."""

    def __init__(self) -> None:
        self.by_plugin: dict[str, float] = {}

    def record(self, record: TraceRecord) -> None:
        """See `TraceSink`."""
        if (
            record.method == "initialize"
            and record.direction == "from_plugin"
            and record.elapsed_ms is not None
        ):
            self.by_plugin[record.plugin] = record.elapsed_ms

    def hide(self, secrets: Iterable[str]) -> None:
        """See `TraceSink`; no text of a message is kept."""


async def start_all(
    specs: Sequence[PluginSpec],
    *,
    timeout_cap_s: float | None,
    opened: Callable[[PluginHost], None],
) -> dict[str, Started]:
    """Start the plugins and end them again.

    Takes at most ten seconds for the starts and six for the ends.

    Args:
        specs: the enabled plugins, in their order.
        timeout_cap_s: the user's cap for all plugins, in seconds.
        opened: called with the host, so that the caller can kill the plugins early.

    Returns:
        The start of each plugin, by its name.
    """
    times = _StartTimes()
    host = PluginHost(
        specs,
        on_log=_quiet,
        on_problem=_quiet,
        on_notify=_quiet,
        on_progress=_no_progress,
        timeout_cap_s=timeout_cap_s,
        trace=times,
    )
    opened(host)
    async with host:
        statuses = host.plugins
    return {status.name: Started(status, times.by_plugin.get(status.name)) for status in statuses}


def _quiet(*_: str) -> None:
    """Drop what the host reports: the findings show it."""


def _no_progress(_: Progress) -> None:
    """Drop progress: no request is open."""
