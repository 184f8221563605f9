"""One conversation of a gateway: messages come in at any time, and nothing that they ask for waits for a plugin."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Final, Literal

import trio

from sliphook.agent.ui.questions import HOW_TO_ANSWER, Asked, Question
from sliphook.errors import HostError
from sliphook.quoting import quote
from sliphook_sdk.protocol.limits import INITIALIZE_TIMEOUT_S

from .commands import Slash, parse_slash, run_slash
from .replies import ChatReply, PendingMessage, ReplyDisplay

if TYPE_CHECKING:
    from sliphook.agent.loop import Agent
    from sliphook.host.host import PluginHost
    from sliphook.session.session import EndReason, InterruptReason, Session

_log = logging.getLogger("sliphook.agent.channel")

MAX_WAITING: Final = 16
"""Messages that wait for their turn, and as many commands at once; what comes beyond that is refused."""

NewMessage = Literal["queue", "interrupt"]
"""What a message does to the turn that is open when it comes: wait for its end, or end it."""


class _Work:
    """What an agent has to do, from one `session_start` to the next."""

    def __init__(self) -> None:
        self.agent: Agent | None = None
        self.display = ReplyDisplay()
        self.waiting: deque[PendingMessage] = deque()
        self.under_way = False
        self.taken_up = trio.Event()
        self.taken_up.set()

    async def ready(self) -> None:
        """Wait until the plugins that it begins with are there, as at the opening of the host."""
        with trio.move_on_after(INITIALIZE_TIMEOUT_S):
            await self.taken_up.wait()
        self.taken_up.set()


class Channel:
    """One conversation: a session, its agent, and the messages that wait.

    Made by `Gateway.channel`. Its functions never wait, and are called in the loop; from a thread
    use `trio.from_thread.run_sync`.

    Attributes:
        platform: where its messages come from.
        session_key: which of the conversations there it is.
        host: the plugins.
        session: the host's session; the same object after `/new`, under another id.
        person: who is asked where a plugin or the loop wants a person to decide; None where nobody
            can be.
    """

    def __init__(
        self,
        host: PluginHost,
        session: Session,
        agent_for: Callable[[Channel], Agent],
        *,
        ask: Callable[[Channel, Question | None], None] | None,
        new_message: NewMessage,
        max_waiting: int,
        commands: Mapping[str, str],
        reload: Callable[[], Awaitable[object]] | None,
    ) -> None:
        self.platform = session.platform
        self.session_key = session.session_key
        self.host = host
        self.session = session
        self.person = Asked(lambda question: ask(self, question)) if ask is not None else None
        self._agent_for = agent_for
        self._new_message = new_message
        self._max_waiting = max_waiting
        self._own = commands
        self._reload = reload
        self._early: list[PendingMessage] = []
        self._commands: dict[PendingMessage, trio.CancelScope] = {}
        self._nursery: trio.Nursery | None = None
        self._closed = trio.Event()
        self._begin()

    # -- what the agent's maker needs
    # ----------------------------------------------------------------------------------

    @property
    def display(self) -> ReplyDisplay:
        """A display for the agent that is being made: what it collects are the replies."""
        return self._work.display

    @property
    def busy(self) -> bool:
        """A turn or a command is under way, or waits."""
        return bool(self._work.under_way or self._commands or self._early)

    @property
    def closed(self) -> bool:
        """It is over; another one may have its name."""
        return self._closed.is_set()

    # -- what users want
    # -----------------------------------------------------------------------------------------------

    def submit(self, text: str) -> PendingMessage:
        """Take a message: a slash command, the answer to a question, or what the model is to read.

        Commands and interrupts are done when this returns. A message that cannot be taken has its
        reply at once.
        """
        message = PendingMessage(text)
        if self._closed.is_set():
            message.settle(ChatReply(text="this conversation is over", outcome="refused"))
        elif self._nursery is not None:
            self._take(message)
        elif len(self._early) < self._max_waiting:
            self._early.append(message)  # the session opens in a moment
        else:
            self._refuse(message, len(self._early))
        return message

    def stop(
        self,
        reason: InterruptReason = "user_stop",
        invalidation_reason: str = "stop_command_handler",
    ) -> int | None:
        """Interrupt the turn, end the commands of plugins, drop what waits; for a button, a key, a signal.

        Returns:
            How many waiting messages were dropped; None where there was nothing to stop.
        """
        dropped = self._drop_waiting()
        commands = self._end_commands()
        interrupted = self.session.interrupt(reason, invalidation_reason)
        return dropped if interrupted or commands or dropped else None

    def stop_command(self, dropped: int = 0) -> str:
        """Do what `/stop` does; for a program that keeps messages back itself.

        Args:
            dropped: how many of those it has dropped.

        Returns:
            What the user reads.
        """
        pending = dropped or self._early or self._work.waiting
        here = self.stop(invalidation_reason="stop_command_pending" if pending else "stop_command")
        return stopped(None if here is None and not dropped else dropped + (here or 0))

    def reset(self, cause: str = "new_command") -> int:
        """Begin anew: interrupt the turn, end the session and begin another, with an agent of its own.

        Returns:
            How many waiting messages were dropped.
        """
        dropped = self._drop_waiting()
        self._end_commands()
        if self._nursery is not None and not self._closed.is_set():
            self.session.reset(cause)
            self._begin()
            if self._reload is not None:
                self._work.taken_up = trio.Event()
                self._spawn(self._take_up, self._reload, self._work)
        return dropped

    def close(self, reason: EndReason = "exit", invalidation_reason: str | None = None) -> None:
        """End the conversation: the turn is interrupted, `session_end` is told, what waits is dropped.

        Args:
            reason: of `session_end`.
            invalidation_reason: of the turn that is open, where the reason alone does not say it.
        """
        if self._closed.is_set():
            return
        self._drop_waiting()
        self._end_commands()
        if self._nursery is not None:
            if invalidation_reason is not None:
                self.session.interrupt(
                    "signal" if reason == "signal" else "shutdown", invalidation_reason
                )
            self.session.close(reason)
        self._closed.set()

    # -- its life
    # ------------------------------------------------------------------------------------------------------

    async def live(self) -> None:
        """Open the session and hold it open until `close`. For the gateway."""
        if self._closed.is_set():
            return
        try:
            async with self.session, trio.open_nursery() as nursery:
                self._nursery = nursery
                early, self._early = self._early, []
                for message in early:
                    self._take(message)
                await self._closed.wait()
                nursery.cancel_scope.cancel()
        finally:
            self._closed.set()
            self._drop_waiting()

    def _begin(self) -> None:
        self._work = _Work()
        self._work.agent = self._agent_for(self)

    def _spawn(self, function: Callable[..., Awaitable[None]], *args: object) -> None:
        assert self._nursery is not None, "messages are taken when the session is open"
        self._nursery.start_soon(function, *args)

    def _take(self, message: PendingMessage) -> None:
        slash = parse_slash(message.text)
        if slash is not None:
            self._command(slash, message)
        elif (
            self.person is not None and self.person.waits and self.session.open_turn is not None
        ):  # else the question went with its turn
            taken = self.person.answer(message.text)
            message.settle(
                ChatReply(
                    text="" if taken else HOW_TO_ANSWER, outcome="answer" if taken else "refused"
                )
            )
        elif not message.text.strip():
            message.settle(ChatReply(text="the message is empty", outcome="refused"))
        else:
            self._converse(message)

    def _command(self, slash: Slash, message: PendingMessage) -> None:
        said: str | None = None
        if slash.name == "stop":
            said = self.stop_command()
        elif slash.name in ("new", "reset"):
            said = f"a new session{_and_dropped(self.reset())}"
        elif len(self._commands) >= self._max_waiting:
            self._refuse(message, len(self._commands))
        else:
            self._commands[message] = trio.CancelScope()
            self._spawn(self._run_command, slash, message)
        if said is not None:
            message.settle(ChatReply(text=said, outcome="command"))

    def _converse(self, message: PendingMessage) -> None:
        work = self._work
        if self._new_message == "interrupt":
            self.session.interrupt("new_message", "new_message")
        if len(work.waiting) >= self._max_waiting:
            self._refuse(message, len(work.waiting))
            return
        work.waiting.append(message)
        if work.under_way:
            message.queued = self._new_message == "queue"
        else:
            work.under_way = True
            self._spawn(self._do, work)

    def _refuse(self, message: PendingMessage, waiting: int) -> None:
        message.settle(
            ChatReply(
                text=f"not taken: {waiting} wait already; /stop drops them", outcome="refused"
            )
        )

    def _drop_waiting(self) -> int:
        dropped = [*self._early, *self._work.waiting]
        self._early.clear()
        self._work.waiting.clear()
        for message in dropped:
            message.settle(ChatReply(text="", outcome="dropped"))
        return len(dropped)

    def _end_commands(self) -> bool:
        ended = bool(self._commands)
        for scope in self._commands.values():
            scope.cancel()
        return ended

    # -- what takes time, each in a task of its own
    # ----------------------------------------------------------------------

    async def _do(self, work: _Work) -> None:
        """Take the messages of one session to their ends, one after the other."""
        assert work.agent is not None
        try:
            while work.waiting:
                message = work.waiting.popleft()
                try:
                    outcome = await work.agent.run(
                        message.text,
                        source="queued" if message.queued else "user",
                        ready=work.ready,
                    )
                    message.settle(ChatReply(text=work.display.take(), outcome=outcome))
                except Exception as error:
                    # the agent's own fault: it ends this turn, and not the conversations of others
                    _log.exception("the agent failed")
                    said = f"error: the agent failed: {quote(str(error), 300)}"
                    message.settle(
                        ChatReply(text=f"{work.display.take()}\n{said}".strip(), outcome="failed")
                    )
                finally:
                    message.settle(ChatReply(text=work.display.take(), outcome="interrupted"))
        finally:
            work.under_way = False

    async def _take_up(self, reload: Callable[[], Awaitable[object]], work: _Work) -> None:
        try:
            await reload()
        except HostError as error:  # the session goes on with the plugins that it has
            _log.warning("other plugins cannot be taken up: %s", error)
        finally:
            work.taken_up.set()

    async def _run_command(self, slash: Slash, message: PendingMessage) -> None:
        try:
            with self._commands[message]:
                said = await run_slash(self.host, self.session, slash, self._own, self._reload)
                message.settle(ChatReply(text=said, outcome="command"))
        except HostError as error:
            message.settle(ChatReply(text=str(error), outcome="command"))
        finally:
            message.settle(ChatReply(text=f"/{slash.name} was stopped", outcome="dropped"))
            del self._commands[message]


def stopped(dropped: int | None) -> str:
    """What the user reads of a `Channel.stop` that returned `dropped`."""
    return "there is nothing to stop" if dropped is None else f"stopped{_and_dropped(dropped)}"


def _and_dropped(messages: int) -> str:
    return (
        f"; {messages} message{'s' if messages != 1 else ''} that waited {'were' if messages != 1 else 'was'} dropped"
        if messages
        else ""
    )
