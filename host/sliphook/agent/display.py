"""What the loop shows as it goes: the face, and a plain one for pipes, logs and tests."""

from __future__ import annotations

import sys
from typing import Protocol, TextIO

import msgspec

from sliphook.quoting import quote
from sliphook_sdk.protocol import AlertLevel, ToolCallRequest

MAX_SHOWN_CHARS = 200


class Display(Protocol):
    """Where the loop shows things. Its methods are called on the loop and must not block it; they must not raise."""

    def text(self, delta: str) -> None:
        """Some more of the model's answer."""

    def text_end(self) -> None:
        """The answer's text is over, or broke off. Not called where there was none."""

    def tool_started(self, call: ToolCallRequest) -> None:
        """The model has called a tool."""

    def tool_ended(self, call: ToolCallRequest, status: str, result: str, duration_ms: float | None) -> None:
        """A tool call is over: `status` as in `post_tool_call` but `denied`, `result` what the model reads."""

    def denied(self, what: str, reason: str) -> None:
        """A prompt, a model call or a tool call did not happen: a plugin or the user denied it."""

    def notice(self, level: AlertLevel, message: str) -> None:
        """A line for the user."""


class PlainDisplay:
    """Text goes to one stream as it comes, everything else as lines to another, marked by their first word."""

    def __init__(self, out: TextIO | None = None, err: TextIO | None = None) -> None:
        """Take the streams; None is stdout and stderr."""
        self._out = out or sys.stdout
        self._err = err or sys.stderr
        self._ends_line = True

    def text(self, delta: str) -> None:
        """See `Display`."""
        self._out.write(delta)
        self._out.flush()
        self._ends_line = delta.endswith("\n")

    def text_end(self) -> None:
        """See `Display`."""
        if not self._ends_line:
            self.text("\n")

    def tool_started(self, call: ToolCallRequest) -> None:
        """See `Display`."""
        self._line("tool", f"{call.name} {msgspec.json.encode(call.arguments).decode()}")

    def tool_ended(self, call: ToolCallRequest, status: str, result: str, duration_ms: float | None) -> None:
        """See `Display`."""
        took = "" if duration_ms is None else f" in {duration_ms:.0f} ms"
        self._line(status, f"{call.name}{took}: {result}")

    def denied(self, what: str, reason: str) -> None:
        """See `Display`."""
        self._line("denied", f"{what}: {reason}")

    def notice(self, level: AlertLevel, message: str) -> None:
        """See `Display`."""
        self._line(level, message)

    def _line(self, mark: str, text: str) -> None:
        self._err.write(f"{mark}: {quote(text, MAX_SHOWN_CHARS)}\n")
        self._err.flush()
