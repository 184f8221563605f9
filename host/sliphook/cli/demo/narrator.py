"""Tells the demo as it happens: the display of its agent loop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import click
import msgspec

from sliphook.quoting import quote
from sliphook_sdk.protocol import AlertLevel, ToolCallRequest

__all__ = ["Narrator"]

_TEXT_CHARS: Final = 100


class Narrator:
    """A `Display` that says in front of each line who speaks.

    Attributes:
        tools: How long each tool took that answered well, in ms, by its name.
    """

    def __init__(self) -> None:
        self.tools: dict[str, float] = {}
        self._speaking = False

    def opening(self, plugins: Sequence[str]) -> None:
        """The plugins are there."""
        self.says(f"an agent with {len(plugins)} plugins, each a process of its own: {', '.join(plugins)}")

    def user(self, text: str) -> None:
        """The user says something."""
        click.echo()
        self._line("you", text)

    def says(self, text: str) -> None:
        """The demo says something."""
        self._line("", text)

    def text(self, delta: str) -> None:
        """See `Display`."""
        if not self._speaking:
            click.echo(_who("model"), nl=False)
            self._speaking = True
        click.echo(delta, nl=False)

    def text_end(self) -> None:
        """See `Display`."""
        self._speaking = False
        click.echo()

    def tool_started(self, call: ToolCallRequest) -> None:
        """See `Display`."""
        self._line("", f"calls {call.name} {msgspec.json.encode(call.arguments).decode()}")

    def tool_ended(self, call: ToolCallRequest, status: str, result: str, duration_ms: float | None) -> None:
        """See `Display`."""
        if status == "ok" and duration_ms is not None:
            self.tools[call.name] = duration_ms
        self._line(call.name, f"{result}{'' if duration_ms is None else f'  ({status} in {duration_ms:.1f} ms)'}")

    def denied(self, what: str, reason: str) -> None:
        """See `Display`."""
        self._line("denied", f"{what}: {reason}")

    def notice(self, level: AlertLevel, message: str) -> None:
        """See `Display`."""
        self._line(level, message)

    def _line(self, who: str, text: str) -> None:
        click.echo(f"{_who(who)}{quote(text, _TEXT_CHARS)}")


def _who(name: str) -> str:
    return f"  {click.style(f'{name:<8}', bold=True)} "
