"""`run --json`: what happens in the turn, one JSON object a line. docs/agent.md has the shape."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from sliphook.agent.ui.display import PlainDisplay
from sliphook.quoting import visible_json
from sliphook_sdk.protocol import AlertLevel, ToolCallRequest

__all__ = ["JsonDisplay"]


class JsonDisplay(PlainDisplay):
    """A `Display` that writes objects to stdout.

    Args:
        child: the number of the child agent that it shows; None for the user's agent.
    """

    def __init__(self, child: int | None = None) -> None:
        super().__init__()
        self._child = child
        self._text = ""

    def emit(self, kind: str, **fields: Any) -> None:
        """Write an object of that type.

        Raises:
            OSError: stdout does not take it.
        """
        child = {} if self._child is None else {"child": self._child}
        line = msgspec.json.encode({"type": kind, **child, **fields}).decode()
        click.echo(visible_json(line))

    def text(self, delta: str) -> None:
        """See `Display`. An answer is one object, at its end."""
        self._text += delta

    def text_end(self) -> None:
        """See `Display`."""
        text, self._text = self._text, ""
        if text:
            self.emit("text", text=text)

    def text_abandoned(self) -> None:
        """See `Display`. It is no part of the conversation, and not told."""
        self._text = ""

    def tool_started(self, call: ToolCallRequest) -> None:
        """See `Display`."""
        self.text_end()
        self.emit("call", call_id=call.call_id, name=call.name, arguments=call.arguments)

    def tool_ended(
        self, call: ToolCallRequest, status: str, result: str, duration_ms: float | None
    ) -> None:
        """See `Display`."""
        self.emit(
            "result",
            call_id=call.call_id,
            name=call.name,
            status=status,
            content=result,
            duration_ms=duration_ms,
        )

    def denied(self, what: str, reason: str) -> None:
        """See `Display`."""
        self.emit("denied", what=what, reason=reason)

    def notice(self, level: AlertLevel, message: str) -> None:
        """See `Display`."""
        self.emit("notice", level=level, message=message)

    def progress(self, text: str) -> None:
        """A plugin's progress."""
        self.emit("progress", message=text)

    def child(self, number: int, goal: str) -> JsonDisplay:
        """See `Display`."""
        self.emit("child", number=number, goal=goal)
        return JsonDisplay(number)
