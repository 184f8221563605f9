"""Parts of a chat's screen: keyboard, history, completion, and the care of the terminal."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import termios
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import trio
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import FileHistory
from prompt_toolkit.input.vt100 import Vt100Input

from sliphook.files.private import make_private_folder, open_private

from .screen_display import on_screen

__all__ = ["Above", "CommandCompleter", "History", "Keyboard", "TerminalKept"]


class Keyboard(Vt100Input):
    """Stdin. If its terminal was closed, it ends, instead of being readable without any data."""

    def read_keys(self) -> Any:
        """See `Input` of prompt_toolkit."""
        keys = super().read_keys()
        if not keys and not os.isatty(self.fileno()):
            self.stdin_reader.closed = True
        return keys


class History(FileHistory):
    """The typed lines, in a file that only the user can read. A file error disables the history."""

    def __init__(self, path: Path) -> None:
        try:
            make_private_folder(path.parent)
            # made here for the mode: prompt_toolkit would let other users read it
            os.close(open_private(path, os.O_RDONLY))
        except OSError:
            path = Path(os.devnull)
        super().__init__(str(path))

    def load_history_strings(self) -> Iterable[str]:
        """See `History` of prompt_toolkit."""
        try:
            return list(super().load_history_strings())
        except OSError:
            return []

    def store_string(self, string: str) -> None:
        """See `History` of prompt_toolkit."""
        with contextlib.suppress(OSError):
            super().store_string(string)


class CommandCompleter(Completer):
    """Completes the names of slash commands."""

    def __init__(self, commands: Callable[[], Mapping[str, str]]) -> None:
        self._commands = commands

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        """See `Completer` of prompt_toolkit."""
        typed = document.text_before_cursor
        if typed.startswith("/") and " " not in typed:
            for name, does in self._commands().items():
                if name.startswith(typed[1:]):
                    yield Completion(f"/{name}", start_position=-len(typed), display_meta=does)


class Above(io.StringIO):
    """Replaces stderr, so that what libraries write there appears above the prompt."""

    def __init__(self, above: Callable[[StyleAndTextTuples], None]) -> None:
        super().__init__()
        self._above = above
        self._begun = ""

    def write(self, text: str) -> int:
        """Show whole lines; keep the rest."""
        whole, newline, self._begun = (self._begun + text).rpartition("\n")
        if newline:
            self._above([("class:log", on_screen(whole) + "\n")])
        return len(text)


class TerminalKept:
    """Restores the terminal of stdin and stdout at the end of the block, even if a thread draws.

    If the terminal was closed, or takes nothing more, the rest of the output is dropped: nothing
    may wait for it.
    """

    def __init__(self) -> None:
        self._outputs = [output.fileno() for output in (sys.stdout, sys.stderr) if output.isatty()]
        self._modes: list[Any] = []
        self._given_up: list[int] = []

    def __enter__(self) -> TerminalKept:
        with contextlib.suppress(termios.error):  # just closed: the thread notices
            self._modes = termios.tcgetattr(sys.stdin.fileno())
        return self

    async def write(self, text: str) -> None:
        """Write to stdout without a blocking call; do nothing after `give_up`."""
        if self._given_up:
            return
        output = sys.stdout.fileno()
        left = memoryview(text.encode(sys.stdout.encoding, "backslashreplace"))
        # a blocking write to a stopped terminal (Ctrl+S) would stop trio's loop
        os.set_blocking(output, False)
        try:
            with contextlib.suppress(OSError):  # it was closed
                while left:
                    try:
                        left = left[os.write(output, left) :]
                    except BlockingIOError:
                        await trio.lowlevel.wait_writable(output)
        finally:
            os.set_blocking(output, True)

    def give_up(self) -> None:
        """The terminal takes nothing more: drop later output, and fail a write that waits."""
        if self._given_up:
            return
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for output in self._outputs:
            terminal = os.dup(output)
            # first of all: the drawing thread makes its output blocking before each write
            os.dup2(nowhere, output)
            with contextlib.suppress(OSError, termios.error):  # it was closed
                os.set_blocking(terminal, False)
                termios.tcflush(terminal, termios.TCOFLUSH)
                # this wakes a thread that waits in a write; free room alone does not
                for flow in (termios.TCOOFF, termios.TCOON):
                    termios.tcflow(terminal, flow)
            self._given_up.append(terminal)
        os.close(nowhere)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if self._modes:
                termios.tcsetattr(sys.stdin.fileno(), termios.TCSANOW, self._modes)
        except termios.error:
            self.give_up()  # it was closed
        for terminal in self._given_up:
            with contextlib.suppress(OSError):
                os.set_blocking(terminal, True)  # other programs share it
            os.close(terminal)
