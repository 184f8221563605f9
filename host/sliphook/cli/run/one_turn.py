"""The async part of `sliphook run`: a host, a session, one turn, and signals that interrupt it."""

from __future__ import annotations

import sys
from contextlib import aclosing
from typing import TYPE_CHECKING, Final, TextIO

import click

from sliphook import HostError, PluginHost, Session
from sliphook.agent.chat.commands import COMMANDS, parse_slash, run_slash
from sliphook.agent.chat.model_command import models_text
from sliphook.agent.loop import Agent
from sliphook.agent.models.base import Model
from sliphook.agent.models.choice import Models, full_name
from sliphook.agent.ui.display import PlainDisplay
from sliphook.cli.chosen_plugins import look_who_is_there
from sliphook.cli.common import EXIT_FAILED, EXIT_OK, Failed, person_at_terminal
from sliphook.cli.first_tools import wait_for_first_tools
from sliphook.cli.running import Interruptible
from sliphook.cli.tracing import stderr_of
from sliphook.trace.record import TraceSink

from .json_display import JsonDisplay
from .memory import Memory
from .setup import PLATFORM, Setup, Told, here

if TYPE_CHECKING:
    from sliphook.session.state import TurnOutcome

PROGRESS_S: Final = 1.0
PIPED_PROGRESS_S: Final = 10.0
"""How often the progress of one call is shown if stderr is no terminal: such lines stay."""


async def run_one_turn(
    prompt: str,
    setup: Setup,
    trace: TraceSink | None,
    shows_trace: bool = False,
    as_json: bool = False,
) -> int:
    """Run an agent on one prompt.

    Args:
        prompt: the user's message.
        setup: the options and the settings.
        trace: records the messages, or None.
        shows_trace: the trace is written to stderr as it comes.
        as_json: write what happens as JSON objects.

    Returns:
        The exit status: 0 the turn was completed, 1 it was not, 128 plus the signal's number after
            a signal.

    Raises:
        ModelError: the model cannot be used.
        ScriptError: the script cannot be used.
        Failed: a plugin did not start.
    """
    display: PlainDisplay = (
        JsonDisplay()
        if as_json
        else _display(stderr_of(trace), whole=shows_trace and sys.stdout.isatty())
    )
    with Memory(None, lambda line: display.notice("warning", line)) as memory:
        async with aclosing(setup.models()) as models:
            model = models.first(setup.model)
            run = _Run(models, model, display, memory, shows_progress=not shows_trace)
            return await run.run(lambda: run.turn(prompt, setup, trace))


class _Run(Interruptible):
    """One run of the command."""

    def __init__(
        self,
        models: Models,
        model: Model,
        display: PlainDisplay,
        memory: Memory,
        *,
        shows_progress: bool,
    ) -> None:
        super().__init__()
        self._models = models
        self._model = model
        self._display = display
        self._memory = memory
        self._signalled = False
        self._shows_progress = shows_progress
        self._person = person_at_terminal()
        self._session: Session | None = None

    def interrupt(self, reason: str) -> bool:
        """The first signal interrupts the turn; if none is open, it cancels the run."""
        self._signalled = True
        if self._session is not None and self._session.interrupt("signal", reason):
            # an interrupted turn ends its block in order: the session cannot see the signal
            self._session.end("signal")
            self._display.notice("warning", "interrupted; once more to leave at once")
        else:
            self._scope.cancel()
        return False

    def kill(self) -> None:
        """See `Interruptible`."""
        super().kill()
        if self.host is not None:
            self._display.notice("warning", "leaving at once")

    async def turn(self, prompt: str, setup: Setup, trace: TraceSink | None) -> int:
        """Open the host, run the turn, and close everything again."""
        told = Told(
            self._display,
            self._progress,
            progress_every_s=PROGRESS_S if sys.stderr.isatty() else PIPED_PROGRESS_S,
        )
        self.host = setup.host(
            told,
            person=self._person,
            commands=COMMANDS,
            trace=trace,
            providers=self._models.addresses(self._model),
        )
        async with self.host as host:
            look_who_is_there(host, setup.chosen, told.missing)
            told.from_now_on()
            await wait_for_first_tools(host, setup.chosen.specs, self._progress)
            async with host.session(
                platform=PLATFORM, cwd=here(), model=self._model.name or None
            ) as session:
                self._session = session
                if await self._command(host, session, prompt):
                    return EXIT_OK
                outcome = await self._agent_turn(host, session, prompt, setup)
        return EXIT_OK if outcome == "completed" else EXIT_FAILED

    async def _agent_turn(
        self, host: PluginHost, session: Session, prompt: str, setup: Setup
    ) -> TurnOutcome:
        agent = Agent(
            host,
            session,
            self._model,
            tools=setup.tools,
            display=self._display,
            conversation=self._memory.conversation(session, full_name(self._model)),
            max_model_calls=setup.max_model_calls,
            person=self._person,
            models=self._models,
        )
        reason = "error"
        try:
            outcome = await agent.run(prompt)
            reason = "exit"
        finally:
            self._memory.end(session.session_id, "signal" if self._signalled else reason)
        if isinstance(self._display, JsonDisplay):
            of = {"session_id": session.session_id, "model": full_name(self._model)}
            self._display.emit("outcome", outcome=outcome, **of, **session.totals())
        return outcome

    def _progress(self, line: str) -> None:
        # the trace shows progress already, and a question must stay the last line
        if self._shows_progress and not (self._person is not None and self._person.is_asking):
            self._display.progress(line)

    async def _command(self, host: PluginHost, session: Session, prompt: str) -> bool:
        """Run the prompt as a slash command; False if it is none."""
        slash = parse_slash(prompt)
        if slash is None:
            return False
        if slash.name == "model":
            if slash.arguments:
                raise Failed("/model NAME is for a chat; here the option --model NAME says it")
            self._reply(models_text(self._model, self._models))
            return True
        try:
            self._reply(await run_slash(host, session, slash))
        except HostError as error:
            raise Failed(str(error)) from None
        return True

    def _reply(self, text: str) -> None:
        if isinstance(self._display, JsonDisplay):
            self._display.emit("reply", text=text)
        else:
            click.echo(text)


def _display(err: TextIO, *, whole: bool) -> PlainDisplay:
    if not sys.stderr.isatty():
        return PlainDisplay(err=err)
    from sliphook.agent.ui.terminal import TerminalDisplay  # rich is needed for a terminal only

    return TerminalDisplay(err, whole=whole)
