"""What the loop shows as it works: the `Display` protocol, and displays that write plain lines."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Protocol, TextIO, get_args

import msgspec

from sliphook.quoting import quote, visible
from sliphook_sdk.protocol import AlertLevel, ToolCallRequest

MAX_SHOWN_CHARS = 200
MAX_NOTICE_CHARS = 600
"""A notice is longer than other lines: its end says what to do."""

TOLD_TO_STOP = "told to stop"
"""The status of a tool call that was interrupted and may still run."""

_MAX_LINES = 100
"""Lines of one piece of a child's text; a model may write thousands of empty ones."""

_NOTICES = frozenset(get_args(AlertLevel))


def cut(mark: str, text: str) -> str:
    """The text of a line with this mark, escaped and cut to what is shown."""
    return quote(text, MAX_NOTICE_CHARS if mark in _NOTICES else MAX_SHOWN_CHARS)


class Display(Protocol):
    """Where the loop shows things.

    The loop calls these methods in its own thread: they must neither block nor raise.
    """

    def text(self, delta: str) -> None:
        """The next piece of the model's answer."""

    def text_end(self) -> None:
        """The answer's text is over or was interrupted. Not called if there was no text."""

    def text_abandoned(self) -> None:
        """Called instead of `text_end` if the attempt failed; a notice follows.

        The text shown so far is no part of the conversation.
        """

    def tool_started(self, call: ToolCallRequest) -> None:
        """The model has called a tool."""

    def tool_ended(
        self, call: ToolCallRequest, status: str, result: str, duration_ms: float | None
    ) -> None:
        """A tool call is over.

        Args:
            call: the call.
            status: as in `post_tool_call`, but never `denied`; or `TOLD_TO_STOP`.
            result: what the model reads.
            duration_ms: how long the tool ran; None if it did not run.
        """

    def denied(self, what: str, reason: str) -> None:
        """A plugin or the user denied a prompt, a model call or a tool call."""

    def notice(self, level: AlertLevel, message: str) -> None:
        """A line for the user."""

    def child(self, number: int, goal: str) -> Display:
        """A display for a child agent that begins.

        Its parent waits in a tool call meanwhile; other children may work at the same time.

        Args:
            number: counts all children of the agent, also children of children.
            goal: the child's task, in the words of a model.
        """
        ...


class LineDisplay(ABC):
    """Shows all but the model's text as lines with a mark in front; a subclass writes the lines."""

    @abstractmethod
    def text(self, delta: str) -> None:
        """See `Display`."""

    @abstractmethod
    def text_end(self) -> None:
        """See `Display`."""

    def text_abandoned(self) -> None:
        """See `Display`. Written text cannot be removed, so a line says that it is void."""
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
        says_it = status == result and status in ("cancelled", TOLD_TO_STOP)
        what = "" if says_it else f": {result}"
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
        """Show a line; `text` is not trusted."""


class PlainDisplay(LineDisplay):
    """Writes the model's text to one stream as it comes, and lines to another.

    A line that cannot be written (a full disk, a reader that has left) is lost, and the next one
    that can be says how many were. Text that cannot be written raises an OSError: it is the answer.

    If the first stream is a terminal, what would steer it or is not seen is escaped in the text. A
    pipe or a file gets the model's text as it is: the program behind it may need every character.
    """

    def __init__(
        self, out: TextIO | None = None, err: TextIO | None = None, *, whole: bool = False
    ) -> None:
        """Take the streams.

        Args:
            out: takes the text; None is stdout.
            err: takes the lines; None is stderr.
            whole: write an answer's text only at its end, because another writer would split it.
        """
        self._out = out or sys.stdout
        self._err = err or sys.stderr
        self._on_terminal = self._out.isatty()
        self._whole = whole
        self._held: list[str] = []
        self._ends_line = True
        self._lost = 0

    def set_lines(self, err: TextIO) -> None:
        """Write lines to this stream from now on."""
        self._err = err

    def text(self, delta: str) -> None:
        """See `Display`."""
        if self._whole:
            self._held.append(delta)
        else:
            self._write(delta)

    def text_end(self) -> None:
        """See `Display`."""
        if self._held:
            held, self._held = self._held, []
            for delta in held:
                self._write(delta)
            if not self._ends_line:
                self._write("\n")
        elif not self._ends_line:
            self._write("\n")

    def progress(self, text: str) -> None:
        """A plugin's progress as a line; dropped if it would split the model's text."""
        if self._ends_line and not self._held:
            self._line("progress", text)

    def _write(self, text: str) -> None:
        try:
            self._out.write(visible(text) if self._on_terminal else text)
            self._out.flush()
        except OSError as error:
            why = f"the answer could not be written: {error.strerror}"
            raise type(error)(error.errno, why) from error
        self._ends_line = text.endswith("\n")

    def _line(self, mark: str, text: str) -> None:
        try:
            if self._lost:
                lines = "1 line" if self._lost == 1 else f"{self._lost} lines"
                self._comment("warning", f"{lines} before this could not be written")
                self._lost = 0
            self._comment(mark, cut(mark, text))
        except OSError:
            self._lost += 1

    def _comment(self, mark: str, text: str) -> None:
        """Write a line; `text` is escaped already."""
        self._err.write(f"{mark}: {text}\n")
        self._err.flush()


class ChildDisplay(LineDisplay):
    """Shows a child agent, its text too, as lines among its parent's; several may speak at once."""

    def __init__(self, number: int, line: Callable[[str, str], None]) -> None:
        """Show the child with this number.

        Args:
            number: the child's number, part of every mark.
            line: writes a line of the parent's display, given its mark and its text.
        """
        self._name = f"child {number}"
        self._show = line
        self._text = ""

    def text(self, delta: str) -> None:
        """See `Display`. Only whole lines are shown, and no more of each than is kept."""
        *lines, rest = delta.split("\n", _MAX_LINES)
        for line in lines:
            self._show(self._name, self._text + line)
            self._text = ""
        if more := rest.count("\n"):
            self._show(self._name, f"… and {more:,} more lines")
            rest = rest.rpartition("\n")[2]
        self._text += rest[: MAX_SHOWN_CHARS + 1 - len(self._text)]

    def text_end(self) -> None:
        """See `Display`."""
        if self._text:
            self._show(self._name, self._text)
        self._text = ""

    def _line(self, mark: str, text: str) -> None:
        self._show(f"{self._name} {mark}", text)
