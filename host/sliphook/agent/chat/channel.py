"""One conversation of a gateway: it takes messages at any time and never waits for a plugin."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Final, Literal

import trio

from sliphook.agent.ui.filling import Question
from sliphook.agent.ui.questions import Asked
from sliphook.agent_log import agent_log
from sliphook.errors import HostError

from .commands import Slash, parse_slash, run_slash
from .model_command import choose, models_text, taken_text
from .replies import ChatReply, PendingMessage, ReplyDisplay, and_dropped, stopped, too_many
from .work import Work

if TYPE_CHECKING:
    from sliphook.agent.loop import Agent
    from sliphook.agent.models.base import Model
    from sliphook.agent.models.choice import Models
    from sliphook.host.host import PluginHost
    from sliphook.session.interrupt import InterruptReason
    from sliphook.session.session import EndReason, Session
    from sliphook.session.submission import Submission

_log = agent_log("sliphook.agent.channel")

MAX_WAITING: Final = 16
"""Messages that may wait for their turn, and commands at once; more are refused."""

NewMessage = Literal["queue", "interrupt"]
"""What a message does to an open turn: it waits for the end, or interrupts the turn."""


class Channel:
    """One conversation: a session, its agent, and the messages that wait.

    `Gateway.channel` makes it. Its functions never wait. They must run in the loop; a thread calls
    them with `trio.from_thread.run_sync`.

    Attributes:
        platform: where its messages come from.
        session_key: which conversation of the platform it is.
        host: the plugins.
        session: the host's session; after `/new` the same object with another id.
        model: the model that its users have chosen by `/model`; None: its agent's own.
        person: asks the users if a plugin or the loop wants an answer; None if they cannot be
            asked.
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
        models: Models | None,
    ) -> None:
        self.platform = session.platform
        self.session_key = session.session_key
        self.host = host
        self.session = session
        self.person = Asked(lambda question: ask(self, question)) if ask is not None else None
        self.model: Model | None = None
        self._models = models
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

    # -- for the function that makes the agent

    @property
    def display(self) -> ReplyDisplay:
        """The display for a new agent; it collects the replies."""
        return self._work.display

    @property
    def busy(self) -> bool:
        """A turn or a command runs, or a message waits."""
        return bool(self._work.under_way or self._commands or self._early)

    @property
    def closed(self) -> bool:
        """The conversation is over; a new one may have its name."""
        return self._closed.is_set()

    # -- for the users, and for plugins

    def submit(self, text: str, *, answers: bool | None = None) -> PendingMessage:
        """Take a message: a slash command, the answer to a question, or a text for the model.

        `/stop`, `/new` and interrupts have had their effect when this returns. A message that
        cannot be accepted has its reply at once.

        Args:
            text: the message.
            answers: True: it answers a question, and is no message if that is over. False: it was
                written before the question that may be open was seen. None: it is an answer if a
                question is open.
        """
        message = PendingMessage(text)
        if self._closed.is_set():
            message.settle(ChatReply(text="this conversation is over", outcome="refused"))
        elif self._nursery is not None:
            self._take(message, answers=answers)
        elif len(self._early) < self._max_waiting:
            self._early.append(message)  # the session opens in a moment
        else:
            self._refuse(message, len(self._early))
        return message

    def submit_from_plugin(self, submission: Submission) -> PendingMessage:
        """Take a plugin's message: it waits like a user's, and is a text for the model alone.

        Raises:
            HostError: the conversation is not open, or too many messages wait.
        """
        if self._nursery is None or self._closed.is_set():
            raise HostError("this conversation is not open")
        if len(self._work.waiting) >= self._max_waiting:
            raise HostError(too_many(len(self._work.waiting)))
        message = PendingMessage(submission.text, submission)
        self._append(message, queues=True)
        return message

    def stop(
        self,
        reason: InterruptReason = "user_stop",
        invalidation_reason: str = "stop_command_handler",
    ) -> int | None:
        """Interrupt the turn, end the commands of plugins, and drop the messages that wait.

        Returns:
            How many messages were dropped; None if there was nothing to stop.
        """
        dropped = self._drop_waiting()
        commands = self._end_commands()
        interrupted = self.session.interrupt(reason, invalidation_reason)
        # behind the interrupt, which must not wait for it
        for submission in self.session.waiting:
            self.session.drop_submission(submission)
        return dropped if interrupted or commands or dropped else None

    def stop_command(self, dropped: int = 0) -> str:
        """The command `/stop`, for a program that has its own queue of messages.

        Args:
            dropped: how many messages of its own queue the program has dropped.

        Returns:
            The text for the user.
        """
        pending = dropped or self._early or self._work.waiting
        here = self.stop(invalidation_reason="stop_command_pending" if pending else "stop_command")
        return stopped(None if here is None and not dropped else dropped + (here or 0))

    def reset(self, cause: str = "new_command") -> int:
        """Interrupt the turn, end the session, and begin a new one with a new agent.

        Returns:
            How many waiting messages were dropped.
        """
        dropped = self._drop_waiting()
        self._end_commands()
        if self._nursery is not None and not self._closed.is_set():
            self.session.reset(cause)
            self._begin()
            self.take_up()
        return dropped

    def take_up(self) -> None:
        """Give the host other plugins now; the next turn waits for them."""
        if self._reload is not None and self._nursery is not None:
            # not in the task, which begins later: a message may come before
            self._work.taken_up = trio.Event()
            self._spawn(self._take_up, self._reload, self._work)

    def close(self, reason: EndReason = "exit", invalidation_reason: str | None = None) -> None:
        """End the conversation: interrupt the turn, fire `session_end`, drop what waits.

        Args:
            reason: the reason that `session_end` gives.
            invalidation_reason: why the open turn ends, if `reason` does not say it.
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

    # -- for the gateway

    async def live(self) -> None:
        """Open the session and hold it open until `close`."""
        if self._closed.is_set():
            return
        try:
            async with self.session, trio.open_nursery() as nursery:
                self._nursery = nursery
                # emptied first: a `/stop` among them drops those before it, not those behind it
                early, self._early = self._early, []
                for message in early:
                    self._take(message)
                await self._closed.wait()
                nursery.cancel_scope.cancel()
        finally:
            self._closed.set()
            self._drop_waiting()

    def _begin(self) -> None:
        # not reused: the old turn may still unwind, and must not take new messages
        self._work = Work()
        self._work.agent = self._agent_for(self)
        if self.model is not None:
            self._work.agent.model = self.model

    def _spawn(self, function: Callable[..., Awaitable[None]], *args: object) -> None:
        assert self._nursery is not None, "messages are taken when the session is open"
        self._nursery.start_soon(function, *args)

    def _take(self, message: PendingMessage, *, answers: bool | None = None) -> None:
        slash = parse_slash(message.text)
        # without an open turn, its question is void
        waits = self.person is not None and self.person.waits and self.session.open_turn is not None
        if slash is not None:
            self._command(slash, message)
        elif self.person is not None and waits and answers is not False:
            why = self.person.answer(message.text)
            outcome: Literal["answer", "refused"] = "answer" if why is None else "refused"
            message.settle(ChatReply(text=why or "", outcome=outcome))
        elif answers:
            message.settle(ChatReply(text="not taken: the question is over", outcome="refused"))
        elif not message.text.strip():
            message.settle(ChatReply(text="the message is empty", outcome="refused"))
        else:
            self._converse(message)

    def _command(self, slash: Slash, message: PendingMessage) -> None:
        said: str | None = None
        if slash.name == "stop":
            said = self.stop_command()
        elif slash.name in ("new", "reset"):
            said = f"a new session{and_dropped(self.reset())}"
        elif slash.name == "model":
            said = self._choose_model(slash.arguments)
        elif len(self._commands) >= self._max_waiting:
            self._refuse(message, len(self._commands))
        else:
            self._commands[message] = trio.CancelScope()
            self._spawn(self._run_command, slash, message)
        if said is not None:
            message.settle(ChatReply(text=said, outcome="command"))

    def _choose_model(self, name: str) -> str:
        agent = self._work.agent
        assert agent is not None
        if not name:
            return models_text(agent.model, self._models)
        chosen = choose(name, self._models)
        if isinstance(chosen, str):
            return chosen
        self.model = agent.model = chosen
        # for `session_start` of the next session, after `/new`
        self.session.model = chosen.name or None
        return taken_text(chosen)

    def _converse(self, message: PendingMessage) -> None:
        if self._new_message == "interrupt":
            self.session.interrupt("new_message", "new_message")
        waiting = len(self._work.waiting)
        if waiting >= self._max_waiting:
            self._refuse(message, waiting)
        else:
            self._append(message, queues=self._new_message == "queue")

    def _append(self, message: PendingMessage, *, queues: bool) -> None:
        work = self._work
        work.waiting.append(message)
        if work.under_way:
            message.queued = queues
        else:
            # not in the task, which begins later: a message before that would start another
            work.under_way = True
            self._spawn(work.run)

    def _refuse(self, message: PendingMessage, waiting: int) -> None:
        message.settle(ChatReply(text=f"not taken: {too_many(waiting)}", outcome="refused"))

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

    # -- tasks of their own, for what takes time

    async def _take_up(self, reload: Callable[[], Awaitable[object]], work: Work) -> None:
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
