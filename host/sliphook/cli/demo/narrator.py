"""The display of the demo's agent: it tells what happens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import click
import msgspec

from sliphook.agent.ui.display import LineDisplay
from sliphook.quoting import quote
from sliphook.trace.render import duration
from sliphook_sdk.protocol import AlertLevel, ToolCallRequest

__all__ = ["Narrator"]

_TEXT_CHARS: Final = 100


class Narrator(LineDisplay):
    """A `Display` with the speaker in front of each line.

    Args:
        whole: show an answer's text only at its end, because another writer would split it.
    """

    def __init__(self, *, whole: bool = False) -> None:
        self._speaking = False
        self._whole = whole
        self._held = ""

    def opening(self, plugins: Sequence[str]) -> None:
        """Show that these plugins have started."""
        names = ", ".join(plugins)
        click.echo(f"An agent with {len(plugins)} plugins, each in its own process: {names}.")

    def leaving(self) -> None:
        """Show that the demo is over and the plugins have to end."""
        click.echo()
        self.says("leaving; a plugin that does not end is killed, which takes a few seconds")

    def user(self, text: str) -> None:
        """Show words of the user."""
        click.echo()
        self._line("you", text)

    def says(self, text: str) -> None:
        """Show words of the demo itself."""
        self._line("", text)

    def log(self, plugin: str, level: str, message: str) -> None:
        """Show a line of a plugin's log, or of the host about the plugin."""
        by_host = level == "host"
        self._line(
            "host" if by_host else quote(plugin, 8), f"{plugin}: {message}" if by_host else message
        )

    def problem(self, _plugin: str, message: str) -> None:
        """Show a problem with a plugin."""
        self._line("host", message)

    def text(self, delta: str) -> None:
        """See `Display`."""
        if self._whole:
            self._held += delta
            return
        if not self._speaking:
            click.echo(_who("model"), nl=False)
            self._speaking = True
        click.echo(delta, nl=False)

    def text_end(self) -> None:
        """See `Display`."""
        self._speaking = False
        held, self._held = self._held, ""
        click.echo(f"{_who('model')}{held}" if self._whole else "")

    def tool_started(self, call: ToolCallRequest) -> None:
        """See `Display`."""
        self._line("", f"calls {call.name} {msgspec.json.encode(call.arguments).decode()}")

    def tool_ended(
        self, call: ToolCallRequest, status: str, result: str, duration_ms: float | None
    ) -> None:
        """See `Display`."""
        self._line(
            call.name,
            f"{result}{'' if duration_ms is None else f'  ({status} in {duration(duration_ms)})'}",
        )

    def denied(self, what: str, reason: str) -> None:
        """See `Display`."""
        self._line("denied", f"{what}: {reason}")

    def notice(self, level: AlertLevel, message: str) -> None:
        """See `Display`."""
        self._line(level, message)

    def _line(self, mark: str, text: str) -> None:
        click.echo(f"{_who(mark)}{quote(text, _TEXT_CHARS)}")


def _who(name: str) -> str:
    return f"  {click.style(f'{name:<8}', bold=True)} "
