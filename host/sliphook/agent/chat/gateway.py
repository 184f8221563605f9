"""Many conversations at once in one host: the agent part of a chat service.

```
def agent_for(channel):
    return Agent(channel.host, channel.session, model, display=channel.display)

gateway = Gateway(agent_for)
async with PluginHost(plugins, reserved_commands=COMMANDS) as host, gateway.open(host):
    pending = gateway.submit("hello", platform="irc", session_key="#oslo", user_id="ada")
    reply = await pending.wait()
```
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import trio

from sliphook.agent.ui.filling import Question
from sliphook.errors import HostError
from sliphook.session.arguments.plain import check_free, check_word
from sliphook.session.interrupt import exit_kind

from .channel import MAX_WAITING, Channel, NewMessage
from .commands import COMMANDS, RELOAD
from .replies import ChatReply, PendingMessage

if TYPE_CHECKING:
    from sliphook.agent.loop import Agent
    from sliphook.agent.models.choice import Models
    from sliphook.agent.ui.questions import Asked
    from sliphook.host.host import PluginHost
    from sliphook.session.host import ApprovalRequest, AskRequest
    from sliphook.session.session import EndReason, StartSource
    from sliphook.session.submission import Submission

_END: Final[dict[str, EndReason]] = {
    "none": "shutdown",
    "cancelled": "shutdown",
    "signal": "signal",
    "error": "error",
}
"""How the gateway's block is left, and the reason that `session_end` then gives to plugins."""


class Gateway:
    """Conversations by `(platform, session_key)`.

    Each is a session with a separate agent, opened by the first message.

    Args:
        agent_for: makes the agent of a channel, when its session begins and again after every
            `/new`. Replies hold what the agent shows on `channel.display`. With
            `person=channel.person`, the agent's questions are asked in the channel.
        ask: shows a question to the users of a channel, or removes it (None); their next message is
            the answer. The host then needs `approver=gateway.approve`, `asker=gateway.ask` and
            `can_ask=gateway.can_ask`. If `ask` is None, nothing is asked, and every call that needs
            approval is denied.
        new_message: what a message does while a turn is open: `queue` waits, `interrupt` interrupts
            the turn.
        max_waiting: the messages of a channel that may wait; more are refused.
        reload: gives the host other plugins (see `PluginHost.update`), for `/plugins reload` and
            after each `/new`; it may return False if none has changed. None if the plugins do not
            change.
        more_commands: more commands for `/help`, each with what it does: those that the program
            handles before it submits a message.
        models: those that users may take by `/model`, each for its channel, also after `/new`. None
            leaves the channels the models of their agents.
    """

    def __init__(
        self,
        agent_for: Callable[[Channel], Agent],
        *,
        ask: Callable[[Channel, Question | None], None] | None = None,
        new_message: NewMessage = "queue",
        max_waiting: int = MAX_WAITING,
        reload: Callable[[], Awaitable[object]] | None = None,
        more_commands: Mapping[str, str] = MappingProxyType({}),
        models: Models | None = None,
    ) -> None:
        self._agent_for = agent_for
        self._ask = ask
        check_word("new_message", new_message, NewMessage)
        self._new_message: NewMessage = new_message
        self._max_waiting = max_waiting
        self._reload = reload
        self._models = models
        self._commands = {**COMMANDS, **(RELOAD if reload is not None else {}), **more_commands}
        self._channels: dict[tuple[str, str], Channel] = {}
        self._host: PluginHost | None = None
        self._nursery: trio.Nursery | None = None

    @asynccontextmanager
    async def open(self, host: PluginHost) -> AsyncGenerator[None]:
        """Accept messages while the block is open.

        Leaving the block ends every session, open turns first.

        Args:
            host: an open host, which must stay open longer than the block.
        """
        async with trio.open_nursery() as nursery:
            self._host, self._nursery = host, nursery
            try:
                yield
            except BaseException as error:
                self.close(_END[exit_kind(error)])
                raise
            else:
                self.close()
            finally:
                # the nursery waits for the sessions next; none may begin meanwhile
                self._host = self._nursery = None

    @property
    def channels(self) -> Iterable[Channel]:
        """The open conversations."""
        return list(self._channels.values())

    def channel(
        self,
        platform: str,
        session_key: str,
        *,
        user_id: str | None = None,
        cwd: str | os.PathLike[str] | None = None,
        model: str | None = None,
        source: StartSource = "startup",
        session_id: str | None = None,
    ) -> Channel:
        """The conversation of that name; it is opened if it is not open.

        Args:
            platform: where its messages come from.
            session_key: which conversation of the platform it is.
            user_id: see `PluginHost.session`; the others too. They count for a new session only.
            cwd: see there.
            model: see there.
            source: see there.
            session_id: see there.

        Raises:
            HostError: the gateway is not open.
            ValueError: another open conversation has that `session_id`.
        """
        known = self._channels.get((platform, session_key))
        if known is not None and not known.closed:
            return known
        if self._host is None or self._nursery is None:
            raise HostError("the gateway is not open")
        # here: when the session opens, it would end all conversations
        check_free(session_id, {one.session.session_id for one in self.channels if not one.closed})
        session = self._host.session(
            session_key=session_key,
            platform=platform,
            user_id=user_id,
            cwd=cwd,
            model=model,
            source=source,
            session_id=session_id,
        )
        channel = Channel(
            self._host,
            session,
            self._agent_for,
            ask=self._ask,
            new_message=self._new_message,
            max_waiting=self._max_waiting,
            commands=self._commands,
            reload=self._reload,
            models=self._models,
        )
        self._channels[platform, session_key] = channel
        self._nursery.start_soon(self._hold, channel)
        return channel

    def submit(
        self, text: str, *, platform: str, session_key: str, user_id: str | None = None
    ) -> PendingMessage:
        """Take one message of a conversation, without waiting.

        `/stop` and `/new` have had their effect when this returns. Messages are taken in the order
        of the calls: call this where messages arrive, and wait for the replies elsewhere.

        Raises:
            HostError: the gateway is not open.
        """
        return self.channel(platform, session_key, user_id=user_id).submit(text)

    def submit_from_plugin(self, submission: Submission) -> PendingMessage:
        """Take a message of a plugin, for `PluginHost(..., on_submit=...)`.

        The reply is the channel's, as for a user's message: show it to the users of the channel.

        Raises:
            HostError: no open channel has the session, or it takes no more messages.
        """
        for channel in self.channels:
            if channel.session.session_id == submission.session_id:
                return channel.submit_from_plugin(submission)
        raise HostError("the agent takes no messages of plugins for this conversation")

    async def message(
        self, text: str, *, platform: str, session_key: str, user_id: str | None = None
    ) -> ChatReply:
        """`submit`, then wait for the reply. A cancel of the caller does not drop the message.

        Raises:
            HostError: the gateway is not open.
        """
        return await self.submit(
            text, platform=platform, session_key=session_key, user_id=user_id
        ).wait()

    async def approve(self, request: ApprovalRequest) -> bool:
        """Ask the users of the session's channel; for `PluginHost(..., approver=...)`."""
        person = self._person(request.session_id)
        # no users to ask: the session is not a channel's, or `/new` has ended it
        return person is not None and await person.approve(request)

    async def ask(self, request: AskRequest) -> Any:
        """Ask the users of the session's channel; for `PluginHost(..., asker=...)`.

        Raises:
            HostError: it has no users who can be asked.
        """
        person = self._person(request.session_id)
        if person is None:
            raise HostError("the session has no users who can be asked")
        return await person.ask(request)

    def can_ask(self, request: AskRequest) -> bool:
        """Whether the session's channel has users; for `PluginHost(..., can_ask=...)`."""
        return self._person(request.session_id) is not None

    def close(self, reason: EndReason = "shutdown", invalidation_reason: str | None = None) -> None:
        """End every conversation now, without waiting (see `Channel.close`)."""
        for channel in self.channels:
            channel.close(reason, invalidation_reason)

    def _person(self, session_id: str) -> Asked | None:
        """The users of the session's channel; None if there are none to ask."""
        found = (one for one in self.channels if one.session.session_id == session_id)
        return next((one.person for one in found if one.person is not None), None)

    async def _hold(self, channel: Channel) -> None:
        key = (channel.platform or "", channel.session_key or "")
        try:
            await channel.live()
        finally:
            # a closed channel may have a successor of the same name already
            if self._channels.get(key) is channel:
                del self._channels[key]
