"""How plugins did and what they said, on a line for people: what all commands that show plugins share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from sliphook.quoting import quote

if TYPE_CHECKING:
    from sliphook.plugin.spec import PluginStatus

__all__ = [
    "AS_IT_SHOULD",
    "FAILED_TO_START",
    "in_the_report",
    "log_to_stderr",
    "says",
    "why_not_started",
]

AS_IT_SHOULD: Final = frozenset({"answered", "told", "not_subscribed"})
"""How a plugin's part may end without a failure."""

FAILED_TO_START: Final = "failed_to_start"

_TEXT_CHARS: Final = 400


def says(text: str) -> str:
    """A plugin's own text, on one line and without control characters."""
    return quote(text, _TEXT_CHARS)


def log_to_stderr(plugin: str, level: str, message: str) -> None:
    """Show a line of a plugin's log or stderr: whoever tries a plugin wants to see what it has to say."""
    click.echo(f"{says(plugin)}: {level}: {says(message)}", err=True)


def in_the_report(_plugin: str, _message: str) -> None:
    """Show nothing of a plugin's failure: the report tells it."""


def why_not_started(status: PluginStatus) -> str | None:
    """Why the plugin is not there, in a line; None where it is ready."""
    if status.state in ("ready", "stopping", "stopped", "restarting"):
        return None
    return status.why or f"it is {status.state}"
