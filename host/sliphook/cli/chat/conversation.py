"""The async part of `sliphook chat`: a host, a gateway with one channel, and every way out."""

from __future__ import annotations

import signal
import threading
from collections import Counter
from collections.abc import Mapping
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

import trio

from sliphook.agent.chat.channel import Channel
from sliphook.agent.chat.commands import COMMANDS, LEAVING, parse_slash
from sliphook.agent.chat.gateway import Gateway
from sliphook.agent.chat.replies import PendingMessage, stopped
from sliphook.agent.loop import Agent
from sliphook.agent.models.choice import Models, full_name
from sliphook.agent.ui.filling import Question
from sliphook.cli.chosen_plugins import look_who_is_there, take_up
from sliphook.cli.common import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK
from sliphook.cli.run.memory import Memory
from sliphook.cli.run.setup import PLATFORM, Setup, Told, here
from sliphook.cli.running import Interruptible
from sliphook.cli.watching import editions, names_of, wait_for_change
from sliphook.errors import HostError
from sliphook.quoting import quote

from .frontend import ChatFrontend

if TYPE_CHECKING:
    from sliphook import PluginHost
    from sliphook.session.session import EndReason
    from sliphook.session.submission import Submission
    from sliphook.trace.record import TraceSink

__all__ = ["chat"]

EXIT_GONE: Final = 128 + signal.SIGHUP
AGAIN_S: Final = 2.0
"""A second Ctrl+C within this time leaves the chat."""
_OFFER_CHARS: Final = 100
HURRY_S: Final = 0.25
"""The time that plugins get to end if the user is in a hurry."""


async def chat(
    setup: Setup, frontend: ChatFrontend, memory: Memory, trace: TraceSink | None
) -> int:
    """Talk until the user leaves.

    Returns:
        The exit status: 0 the user left, 130 by Ctrl+C, 128 plus the signal's number after another
            signal.

    Raises:
        ModelError: the model cannot be used.
        ScriptError: the script cannot be used.
        Failed: a plugin did not start.
    """
    async with aclosing(setup.models()) as models:
        conversation = _Chat(setup, models, frontend, memory)
        return await conversation.run(lambda: conversation.talk(trace))


class _Chat(Interruptible):
    """One run of the command, and the `Listener` of its frontend."""

    def __init__(
        self, setup: Setup, models: Models, frontend: ChatFrontend, memory: Memory
    ) -> None:
        super().__init__()
        self._setup = setup
        self._models = models
        self._model = models.first(setup.model)
        self._frontend = frontend
        self._memory = memory
        self._told = Told(frontend.display, frontend.progress)
        self._channel: Channel | None = None
        self._nursery: trio.Nursery | None = None
        self._left = trio.Event()
        self._hurry = False
        self._pressed_s: float | None = None
        self._replied = trio.Event()

    async def talk(self, trace: TraceSink | None) -> int:
        """Open everything, talk, close everything, and return the exit status."""
        told = self._told
        gateway = Gateway(
            self._agent_for,
            ask=self._ask if self._frontend.asks else None,
            new_message=self._setup.settings.new_message,
            reload=self._reload,
            more_commands=LEAVING,
            models=self._models,
        )
        person = gateway if self._frontend.asks else None
        self.host = self._setup.host(
            told,
            person=person,
            commands=[*COMMANDS, *LEAVING],
            trace=trace,
            providers=self._models.addresses(self._model),
            on_submit=self._submitted,
        )
        async with self.host as host:
            look_who_is_there(host, self._setup.chosen, told.missing)
            told.from_now_on()
            cwd, resumed = here(), self._memory.resumed
            try:
                async with gateway.open(host), trio.open_nursery() as nursery:
                    self._nursery = nursery
                    self._channel = gateway.channel(
                        PLATFORM,
                        "main",
                        cwd=cwd,
                        model=self._model.name or None,
                        source="resume" if resumed else "startup",
                        session_id=resumed.session_id if resumed else None,
                    )
                    self._offer()
                    self._greet(host)
                    nursery.start_soon(self._frontend.talk, self)
                    if self._setup.watched:
                        nursery.start_soon(self._watch, self._setup.watched)
                    await self._left.wait()
                    nursery.cancel_scope.cancel()
            except BaseExceptionGroup as group:
                # the command catches errors by their classes, and a nursery wraps even a single one
                raise _one_of(group) from None
            if self._hurry:
                # else the host would give every plugin its full time to end
                await trio.sleep(HURRY_S)
                host.kill()
        return self.status

    def _greet(self, host: PluginHost) -> None:
        """Show a user the model and the plugins, and in any case a resumed conversation."""
        if self._frontend.asks:
            states = Counter(plugin.state.replace("_", " ") for plugin in host.plugins)
            plugins = (
                ", ".join(f"{count} {state}" for state, count in states.most_common()) or "none"
            )
            model = quote(full_name(self._model), 64)
            self._frontend.say(f"model: {model}; plugins: {plugins}; /help lists the commands")
        resumed = self._memory.resumed
        if resumed is None:
            return
        began = quote(resumed.prompt, 100)
        self._frontend.say(f"going on after {resumed.messages} messages; it began with: {began}")
        if self._frontend.asks:
            user, answer = self._memory.last_exchange()
            self._frontend.say("\n".join(filter(None, (f"› {user}", answer))))

    # -- Listener

    def line(self, text: str, *, answers: bool | None = None) -> PendingMessage | None:
        """See `Listener`."""
        slash = parse_slash(text)
        if slash is not None and slash.name in LEAVING:
            self._leave("exit", EXIT_OK)
        if self._channel is None or self._nursery is None or self._left.is_set():
            return None
        message = self._channel.submit(text, answers=answers)
        self._nursery.start_soon(self._reply, message)
        self._frontend.working(self._channel.busy)
        return message

    def _submitted(self, submission: Submission) -> None:
        """A plugin submits a message; the agent shows it when its turn begins."""
        if self._channel is None or self._nursery is None or self._left.is_set():
            raise HostError("the chat is not open")
        message = self._channel.submit_from_plugin(submission)
        self._nursery.start_soon(self._reply, message)
        self._frontend.working(self._channel.busy)

    def stop(self, dropped: int) -> None:
        """See `Listener`."""
        if self._channel is not None and not self._left.is_set():
            self._frontend.say(self._channel.stop_command(dropped))
            self._frontend.working(self._channel.busy)

    def ctrl_c(self, *, typed: bool) -> None:
        """See `Listener`."""
        if self._left.is_set():
            self.kill()
            return
        again = self._pressed_s is not None and trio.current_time() - self._pressed_s < AGAIN_S
        dropped = (
            self._channel.stop("signal", "sigint")
            if self._channel is not None and not again
            else None
        )
        if dropped is not None:
            self._pressed_s = trio.current_time()
            self._frontend.say(f"{stopped(dropped)}; Ctrl+C once more leaves at once")
        elif not again and typed:
            self._frontend.forget_typed()
        else:
            self._hurry = again
            self._leave("signal", EXIT_INTERRUPTED, "sigint")

    def end(self) -> None:
        """See `Listener`."""
        self._leave("exit", EXIT_OK)

    def gone(self) -> None:
        """See `Listener`."""
        self._leave("signal", EXIT_GONE, "sighup")

    # -- signals

    def interrupt(self, reason: str) -> bool:
        """The first signal: SIGINT is a Ctrl+C, any other one leaves the chat."""
        if self._channel is None:
            self._scope.cancel()
        elif reason == "sigint":
            self.ctrl_c(typed=False)
            return not self._left.is_set()
        else:
            self._leave("signal", EXIT_FAILED, reason)
        return False

    def _leave(
        self, reason: EndReason, status: int, invalidation_reason: str | None = None
    ) -> None:
        if self._left.is_set():
            return
        # the first way out counts; later ones return above
        self.status = status
        if self._channel is not None:
            self._channel.close(reason, invalidation_reason)
            self._memory.end(self._channel.session.session_id, reason)
        self._left.set()

    # -- for the agent

    def _agent_for(self, channel: Channel) -> Agent:
        model = channel.model or self._model
        conversation = self._memory.conversation(channel.session, full_name(model))
        return Agent(
            channel.host,
            channel.session,
            model,
            tools=self._setup.tools,
            display=self._frontend.display,
            conversation=conversation,
            max_model_calls=self._setup.max_model_calls,
            person=channel.person,
            models=self._models,
        )

    async def _reload(self) -> bool:
        assert self.host is not None
        lines = await take_up(self.host, self._setup.chosen, self._told.missing)
        for line in lines:
            self._frontend.display.notice("info", line)
        self._offer()
        return bool(lines)

    async def _watch(self, before: Mapping[Path, str | None]) -> None:
        """Take up the plugins of `--plugin` whose files have changed, between two turns."""
        stop = threading.Event()
        try:
            while changed := await trio.to_thread.run_sync(
                wait_for_change, before, stop, abandon_on_cancel=True
            ):
                before = editions(before)
                assert self._channel is not None
                while self._channel.busy:
                    self._replied = trio.Event()
                    await self._replied.wait()
                self._frontend.display.notice("info", f"--watch: {names_of(changed)} has changed")
                self._channel.take_up()
        finally:
            stop.set()

    def _ask(self, _channel: Channel, question: Question | None) -> None:
        self._frontend.ask(question)

    async def _reply(self, message: PendingMessage) -> None:
        reply = await message.wait()
        self._replied.set()
        if reply.text:
            self._frontend.say(reply.text)
        assert self._channel is not None
        self._frontend.working(self._channel.busy)
        self._offer()

    def _offer(self) -> None:
        assert self.host is not None
        plugins = {
            offer.name: quote(offer.description, _OFFER_CHARS) or f"of {offer.plugin}"
            for offer in self.host.commands()
        }
        self._frontend.offer({**COMMANDS, **LEAVING, **plugins})


def _one_of(error: BaseException) -> BaseException:
    """The error inside the groups of the nurseries; the first of several."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    return _one_of(cast("BaseExceptionGroup[BaseException]", error).exceptions[0])
