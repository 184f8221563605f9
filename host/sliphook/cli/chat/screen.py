"""The screen of a chat: output scrolls above, the prompt stays below.

prompt_toolkit runs in a thread with an event loop of its own. A terminal that is slow, stopped or
closed blocks that thread, but never the agent.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import trio
from prompt_toolkit import PromptSession
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import ANSI, StyleAndTextTuples, to_formatted_text
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.renderer import print_formatted_text
from prompt_toolkit.styles import Style

from sliphook.agent.chat.commands import parse_slash
from sliphook.agent.ui.display import MAX_SHOWN_CHARS
from sliphook.agent.ui.filling import Question
from sliphook.cli.tracing import live_of
from sliphook.quoting import quote

from .frontend import Listener
from .pending_lines import PendingLines
from .screen_display import PROMPT, STYLES, ScreenDisplay, on_screen, typed_line, wrapped
from .terminal import Above, CommandCompleter, History, Keyboard, TerminalKept
from .typed import Typed

if TYPE_CHECKING:
    from sliphook.trace.live_sink import LiveTrace
    from sliphook.trace.record import TraceSink

__all__ = ["Screen"]

_CLOSE_S: Final = 1.0
"""How long the end of the chat waits for the terminal."""
_WORKING: Final = "/stop or Ctrl+C interrupts"


class Screen:
    """A `ChatFrontend` on the terminal of stdin and stdout."""

    asks = True

    def __init__(self, history: Path) -> None:
        """Prepare the screen; nothing is drawn yet.

        Args:
            history: the file for the typed lines.
        """
        self.display = ScreenDisplay(self._model_text, self._shown)
        self._pending = PendingLines()
        self._trace: LiveTrace | None = None
        self._busy = False
        self._progress = ""
        self._question: Question | None = None
        self._shown_question: Question | None = None
        self._typed = Typed()
        self._commands: Mapping[str, str] = {}
        self._listener: Listener | None = None
        self._token: trio.lowlevel.TrioToken | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._news = asyncio.Event()
        self._ended = trio.Event()
        self._style = Style.from_dict(STYLES)
        self._prompt: PromptSession[str] = PromptSession(
            self._below,
            completer=CommandCompleter(lambda: self._commands),
            complete_while_typing=True,
            reserve_space_for_menu=6,
            erase_when_done=True,
            history=History(history),
            key_bindings=self._keys(),
            input=Keyboard(sys.stdin),
            style=self._style,
        )
        self._prompt.default_buffer.accept_handler = self._accepted

    # -- ChatFrontend

    def write(self, text: str) -> None:
        """See `ChatFrontend`: the lines are coloured already."""
        self._put(to_formatted_text(ANSI(text)))

    def follow(self, trace: TraceSink | None) -> None:
        """See `ChatFrontend`."""
        self._trace = live_of(trace)

    def say(self, text: str) -> None:
        """See `ChatFrontend`."""
        self.above([("", on_screen(text) + "\n")])

    def ask(self, question: Question | None) -> None:
        """See `ChatFrontend`."""
        self._question = question
        self._in_order(lambda: self._put_question(question))

    def working(self, busy: bool) -> None:
        """See `ChatFrontend`."""
        self._busy = busy
        self._progress = ""
        self._wake()

    def progress(self, line: str) -> None:
        """See `ChatFrontend`."""
        self._progress = quote(line, MAX_SHOWN_CHARS)
        self._wake()

    def offer(self, commands: Mapping[str, str]) -> None:
        """See `ChatFrontend`."""
        self._commands = commands

    def forget_typed(self) -> None:
        """See `ChatFrontend`."""
        self._in_the_thread(self._prompt.default_buffer.reset)

    async def talk(self, listener: Listener) -> None:
        """See `ChatFrontend`."""
        self._listener = listener
        self._token = trio.lowlevel.current_trio_token()
        try:
            with TerminalKept() as terminal, contextlib.redirect_stderr(Above(self.above)):
                try:
                    await self._until_it_leaves(terminal)
                finally:
                    await self._show_the_rest(terminal)
        finally:
            self._token = None
            self._rest()

    def _take(self, question: Question | None, typed: str) -> None:
        """Pass the typed line on and show it, with a note on what becomes of it.

        Args:
            question: what it answers, or None.
            typed: the line.
        """
        assert self._listener is not None
        note = ""
        # its question may be over, and another one be open, before trio runs this
        if question is not None and question is not self._question and parse_slash(typed) is None:
            note = " (not taken: the question is over)"
        else:
            # first: only then is it known whether the message waits
            message = self._listener.line(typed, answers=question is not None)
            note = " (waits)" if message is not None and message.queued else ""
            if message is not None and message.reply and message.reply.outcome == "refused":
                self._in_the_thread(self._typed.refused)  # the question is still open
        self.above(typed_line(question, typed, note))

    # -- from any thread

    def above(self, text: StyleAndTextTuples) -> None:
        """Show whole lines above the prompt."""
        self._in_order(lambda: self._put(text))

    def _put(self, text: StyleAndTextTuples) -> None:
        self._pending.put(text)
        self._wake()

    def _put_question(self, question: Question | None) -> None:
        if question is not None:
            self._pending.put([("class:question", f"  {line}\n") for line in question.about()])
        # last: the other thread may draw at once
        self._shown_question = question
        self._wake()

    def _put_delta(self, delta: str) -> None:
        self._pending.put_delta(delta)
        self._wake()

    def _in_order(self, show: Callable[[], object]) -> None:
        """Show it behind what a live trace has still to show; at once if that takes no more."""
        if self._trace is None or not self._trace.behind(show):
            show()

    def _shown(self, text: StyleAndTextTuples) -> None:
        self._progress = ""
        self.above(text)

    def _model_text(self, delta: str | None) -> None:
        """Show the next piece of the model's text; None ends it.

        A line that is not whole yet is shown just above the prompt.
        """
        self._in_order(lambda: self._put_delta("\n" if delta is None else delta))

    def _wake(self) -> None:
        if self._loop is not None:
            self._in_the_thread(self._news.set)
        elif self._token is None:
            self._rest()

    def _in_the_thread(self, function: Callable[[], object]) -> None:
        loop = self._loop
        if loop is not None:
            with contextlib.suppress(RuntimeError):  # it has just ended
                loop.call_soon_threadsafe(function)

    def _tell(self, function: Callable[..., object], *args: object) -> None:
        """Call a function in trio's loop."""
        if self._token is not None:
            with contextlib.suppress(trio.RunFinishedError):  # the chat is over
                self._token.run_sync_soon(function, *args)

    # -- the end

    async def _until_it_leaves(self, terminal: TerminalKept) -> None:
        try:
            # a thread that hangs in a write to the terminal cannot be cancelled
            await trio.to_thread.run_sync(self._live, abandon_on_cancel=True)
        except trio.Cancelled:
            if not await self._leaves():
                # this wakes a thread that hangs in a write, so that it can hear the second call
                terminal.give_up()
                await self._leaves()
            raise

    async def _show_the_rest(self, terminal: TerminalKept) -> None:
        """Write what was not drawn, but do not wait for a terminal that takes nothing."""
        # shielded: a cancelled chat still shows its last words
        with trio.move_on_after(_CLOSE_S, shield=True) as waiting:
            await terminal.write(self._pending.take_text())
        if waiting.cancelled_caught:
            terminal.give_up()

    async def _leaves(self) -> bool:
        """Ask the thread to end; returns whether it did."""
        self._in_the_thread(self._exit)
        with trio.move_on_after(_CLOSE_S, shield=True):
            await self._ended.wait()
        return self._ended.is_set()

    def _exit(self) -> None:
        # `exit` raises before the prompt runs, and if it is called twice
        if self._prompt.app.is_running and not self._prompt.app.is_done:
            self._prompt.app.exit(result="")

    def _rest(self) -> None:
        """Without a prompt, write the lines to the terminal as they are."""
        with contextlib.suppress(OSError, ValueError):  # the terminal is gone, or stdout is closed
            sys.stdout.write(self._pending.take_text())
            sys.stdout.flush()

    # -- in prompt_toolkit's thread

    def _live(self) -> None:
        asyncio.run(self._converse())

    async def _converse(self) -> None:
        self._loop = asyncio.get_running_loop()
        # what was said before there was a loop to wake
        self._news.set()
        try:
            await self._prompt.prompt_async(
                # asyncio can handle signals in the main thread only, and that one is trio's
                handle_sigint=False,
                set_exception_handler=False,
                pre_run=self._begin_to_draw,
            )
        except (EOFError, OSError):
            assert self._listener is not None
            self._tell(self._listener.gone)
        finally:
            self._loop = None
            self._tell(self._ended.set)

    def _begin_to_draw(self) -> None:
        self._prompt.app.create_background_task(self._drawing())

    async def _drawing(self) -> None:
        """Draw whenever there is something new."""
        renderer = self._prompt.app.renderer
        while True:
            await self._news.wait()
            self._news.clear()
            # the cursor must not move while the terminal reports its position
            await renderer.wait_for_cpr_responses()
            self._draw()

    def _draw(self) -> None:
        app = self._prompt.app
        size = app.output.get_size()
        question = self._shown_question  # first: the lines that say what it is about are there
        above = self._pending.take(size.columns, size.rows // 2)
        if above:
            app.renderer.erase()
            for text in above:
                print_formatted_text(app.output, text, self._style, color_depth=app.color_depth)
            app.renderer.request_absolute_cursor_position()
        if question is not self._typed.question:
            buffer = self._prompt.default_buffer
            buffer.reset(Document(self._typed.turn_to(question, buffer.text)))
        app.invalidate()

    def _below(self) -> StyleAndTextTuples:
        """The part below: the line that is not whole, the status, the prompt."""
        text: StyleAndTextTuples = []
        columns = self._prompt.app.output.get_size().columns
        if begun := self._pending.begun:
            text.append(("", "\n".join(wrapped(begun, columns)) + "\n"))
        if self._typed.question is not None:
            return [*text, ("class:question", f"{self._typed.question.line()} ")]
        if self._busy:
            status = f"{self._progress + ' · ' if self._progress else '… '}{_WORKING}"
            text.append(("class:status", status[: columns - 1] + "\n"))
        return [*text, ("class:prompt", PROMPT)]

    def _accepted(self, buffer: Any) -> bool:
        """Take a typed line; returning False empties the prompt."""
        typed: str = buffer.text
        if typed.strip() or self._typed.question is not None:
            self._tell(self._take, self._typed.question, typed)
            self._typed.accepted(typed)
        return False

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()
        is_empty = Condition(lambda: not self._prompt.default_buffer.text)

        @keys.add("c-c")
        def _ctrl_c(event: KeyPressEvent) -> None:
            assert self._listener is not None
            listener, typed = self._listener, bool(event.current_buffer.text)
            self._tell(lambda: listener.ctrl_c(typed=typed))

        @keys.add("c-d", filter=is_empty)
        def _ctrl_d(event: KeyPressEvent) -> None:
            assert self._listener is not None
            self._tell(self._listener.end)

        @keys.add("escape", "enter")
        def _another_line(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text("\n")

        # the decorator has registered them
        assert _ctrl_c is not None
        assert _ctrl_d is not None
        assert _another_line is not None
        return keys
