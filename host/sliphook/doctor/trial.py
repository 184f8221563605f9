"""Every enabled plugin started, introduced and ended, side by side, as a host does it when it opens."""

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
    """A trace of which only one thing is kept: how long each plugin took to say its manifest."""

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
        """See `TraceSink`; nothing of the messages is kept."""


async def start_all(
    specs: Sequence[PluginSpec],
    *,
    timeout_cap_s: float | None,
    opened: Callable[[PluginHost], None],
) -> dict[str, Started]:
    """Start all of them and end them again.

    Takes at most the ten seconds of a start and the six of an end.

    Args:
        specs: the installed plugins, in order.
        timeout_cap_s: the user's cap for all plugins.
        opened: is given the host, for who is in a hurry.

    Returns:
        How it went, by the plugin's name.
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
    """The findings tell it."""


def _no_progress(_: Progress) -> None:
    """Nothing is under way."""
