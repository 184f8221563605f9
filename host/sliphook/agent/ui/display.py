"""What the loop shows as it goes: the face, and a plain one for pipes, logs and tests."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Final, Protocol, TextIO, get_args

import msgspec

from sliphook.quoting import quote
from sliphook_sdk.protocol import AlertLevel, ToolCallRequest

MAX_SHOWN_CHARS = 200
MAX_NOTICE_CHARS = 600
"""A notice says at its end what to do about it."""

NO_CONTROLS: Final = {
    code: None for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\n\t"
}
"""For `str.translate`: text of a model (and of the plugins whose words it repeats) that goes to a terminal must not steer it."""

_NOTICES = frozenset(get_args(AlertLevel))


def cut(mark: str, text: str) -> str:
    """The text of a line with this mark, without control characters, as long as it may be."""
    return quote(text, MAX_NOTICE_CHARS if mark in _NOTICES else MAX_SHOWN_CHARS)


class Display(Protocol):
    """Where the loop shows things.

    Its methods are called on the loop and must not block it; they must not raise.
    """

    def text(self, delta: str) -> None:
        """Some more of the model's answer."""

    def text_end(self) -> None:
        """The answer's text is over, or was interrupted. Not called where there was none."""

    def text_abandoned(self) -> None:
        """In the place of `text_end`: the attempt failed, and what it had shown is no part of the conversation. A notice follows."""

    def tool_started(self, call: ToolCallRequest) -> None:
        """The model has called a tool."""

    def tool_ended(
        self, call: ToolCallRequest, status: str, result: str, duration_ms: float | None
    ) -> None:
        """A tool call is over: `status` as in `post_tool_call` but `denied`, `result` what the model reads."""

    def denied(self, what: str, reason: str) -> None:
        """A prompt, a model call or a tool call did not happen: a plugin or the user denied it."""

    def notice(self, level: AlertLevel, message: str) -> None:
        """A line for the user."""

    def child(self, number: int, goal: str) -> Display:
        """A child agent begins, while its parent waits in a tool call and perhaps beside other children: where it shows things.

        Args:
            number: counts the agent's children, whosesoever they are.
            goal: what it is told to do; a model's text.
        """
        ...


class LineDisplay(ABC):
    """All but the model's text as lines, marked by their first words; where a line goes is for a subclass to say."""

    @abstractmethod
    def text(self, delta: str) -> None:
        """See `Display`."""

    @abstractmethod
    def text_end(self) -> None:
        """See `Display`."""

    def text_abandoned(self) -> None:
        """See `Display`. What a stream has taken cannot be taken back."""
        self.text_end()
        self._line("abandoned", "the text above does not count: its answer broke off")

    def tool_started(self, call: ToolCallRequest) -> None:
        """See `Display`."""
        self._line("tool", f"{call.name} {msgspec.json.encode(call.arguments).decode()}")

    def tool_ended(
        self, call: ToolCallRequest, status: str, result: str, duration_ms: float | None
    ) -> None:
        """See `Display`."""
        took = "" if duration_ms is None else f" in {duration_ms:.0f} ms"
        what = "" if status == result == "cancelled" else f": {result}"
        self._line(
            status, quote(f"{call.name}{took}{what}", MAX_SHOWN_CHARS)
        )  # `error` is no notice here

    def denied(self, what: str, reason: str) -> None:
        """See `Display`."""
        self._line("denied", f"{what}: {reason}")

    def notice(self, level: AlertLevel, message: str) -> None:
        """See `Display`."""
        self._line(level, message)

    def child(self, number: int, goal: str) -> Display:
        """See `Display`."""
        self._line(f"child {number}", goal)
        return ChildDisplay(number, self._line)

    @abstractmethod
    def _line(self, mark: str, text: str) -> None:
        """Show a line; `text` may hold anything."""


class PlainDisplay(LineDisplay):
    """The model's text goes to one stream as it comes, lines to another.

    Where that stream is a terminal, nothing in the text steers it.
    """

    def __init__(
        self, out: TextIO | None = None, err: TextIO | None = None, *, whole: bool = False
    ) -> None:
        """Take the streams; None is stdout and stderr.

        `whole` text is shown when it is over: what else is written would tear it.
        """
        self._out = out or sys.stdout
        self._err = err or sys.stderr
        self._on_terminal = self._out.isatty()
        self._whole = whole
        self._held = ""
        self._ends_line = True

    def text(self, delta: str) -> None:
        """See `Display`."""
        if self._whole:
            self._held += delta
        else:
            self._write(delta)

    def text_end(self) -> None:
        """See `Display`."""
        if self._held:
            held, self._held = self._held, ""
            self._write(held if held.endswith("\n") else f"{held}\n")
        elif not self._ends_line:
            self._write("\n")

    def progress(self, text: str) -> None:
        """How far a plugin has come, as a line; nothing in the middle of the model's text."""
        if self._ends_line and not self._held:
            self._line("progress", text)

    def _write(self, text: str) -> None:
        self._out.write(text.translate(NO_CONTROLS) if self._on_terminal else text)
        self._out.flush()
        self._ends_line = text.endswith("\n")

    def _line(self, mark: str, text: str) -> None:
        self._err.write(f"{mark}: {cut(mark, text)}\n")
        self._err.flush()


class ChildDisplay(LineDisplay):
    """A child agent as lines among its parent's, its text too: several agents may speak at the same time."""

    def __init__(self, number: int, line: Callable[[str, str], None]) -> None:
        """Take which child it is, and what shows a line of the parent's, given its mark and its text."""
        self._name = f"child {number}"
        self._show = line
        self._text = ""

    def text(self, delta: str) -> None:
        """See `Display`. A line is shown when it is whole."""
        *lines, self._text = (self._text + delta).split("\n")
        for line in lines:
            self._show(self._name, line)

    def text_end(self) -> None:
        """See `Display`."""
        if self._text:
            self._show(self._name, self._text)
        self._text = ""

    def _line(self, mark: str, text: str) -> None:
        self._show(f"{self._name} {mark}", text)
