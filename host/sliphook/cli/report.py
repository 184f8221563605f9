"""Lines about plugins: their state, their log, and their own words made safe for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sliphook.quoting import quote

if TYPE_CHECKING:
    from sliphook.plugin.spec import PluginStatus

__all__ = [
    "AS_IT_SHOULD",
    "FAILED_TO_START",
    "says",
    "says_json",
    "see_log",
    "why_not_started",
]

AS_IT_SHOULD: Final = frozenset({"answered", "told", "not_subscribed"})
"""The statuses of a plugin's part that are no failure."""

FAILED_TO_START: Final = "failed_to_start"

_TEXT_CHARS: Final = 400


def says(text: str) -> str:
    """A plugin's own text in one line, without control characters."""
    return quote(text, _TEXT_CHARS)


def says_json(value: Any) -> str:
    """A plugin's own value as JSON in one line, without control characters."""
    import msgspec

    return says(msgspec.json.encode(value).decode())


def see_log(status: PluginStatus) -> str:
    """Where to read on about a plugin that failed, to be put behind why it did."""
    return f"; its log: sliphook logs {status.log}" if status.log else ""


def why_not_started(status: PluginStatus) -> str | None:
    """Why the plugin does not run, in a line; None if it is ready or ends in order."""
    if status.state in ("ready", "stopping", "stopped", "restarting"):
        return None
    return status.why or f"it is {status.state}"
