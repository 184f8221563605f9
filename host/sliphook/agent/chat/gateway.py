"""Many conversations at once in one host: the agent's side of a chat service.

```
gateway = Gateway(lambda channel: Agent(channel.host, channel.session, model, display=channel.display))
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
from typing import TYPE_CHECKING, Final

import trio

from sliphook.agent.ui.questions import Question
from sliphook.errors import HostError
from sliphook.session.scope_exit import exit_kind

from .channel import MAX_WAITING, Channel, NewMessage
from .commands import COMMANDS, RELOAD
from .replies import ChatReply, PendingMessage

if TYPE_CHECKING:
    from sliphook.agent.loop import Agent
    from sliphook.host.host import PluginHost
    from sliphook.session.session import EndReason, StartSource
    from sliphook.session.tool_call import ApprovalRequest

_END: Final[dict[str, EndReason]] = {
    "none": "shutdown",
    "cancelled": "shutdown",
    "signal": "signal",
    "error": "error",
}
"""What leaves the gateway's block, and what the sessions' plugins are told."""


class Gateway:
    """Conversations by `(platform, session_key)`: each is a session with an agent of its own, opened by its first message.

    Args:
        agent_for: makes the agent of a channel, when its session begins and again after every
            `/new`. An agent that shows things on `channel.display` has them in the replies; with
            `person=channel.person` its questions are asked, too.
        ask: puts a question to the people of a channel, or takes it back (None); their next message
            is the answer. Give the host `approver=gateway.approve` then. None: nobody is asked, and
            what needs a person is denied.
        new_message: what a message does while a turn is open: it waits (`queue`), or interrupts it
            (`interrupt`).
        max_waiting: messages of a channel that wait; more are refused.
        reload: gives the host other plugins (see `PluginHost.update`), for `/plugins reload` and
            behind each `/new`; None: nothing does.
        more_commands: what `/help` lists besides, with what each does: commands that the program
            takes before it submits a message.
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
    ) -> None:
        self._agent_for = agent_for
        self._ask = ask
        self._new_message: NewMessage = new_message
        self._max_waiting = max_waiting
        self._reload = reload
        self._commands = {**COMMANDS, **(RELOAD if reload is not None else {}), **more_commands}
        self._channels: dict[tuple[str, str], Channel] = {}
        self._host: PluginHost | None = None
        self._nursery: trio.Nursery | None = None

    @asynccontextmanager
    async def open(self, host: PluginHost) -> AsyncGenerator[None]:
        """Take messages while the block is open.

        Leaving it ends every session, turns that are open first.

        Args:
            host: is open, and stays open longer.
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
                self._host = self._nursery = None

    @property
    def channels(self) -> Iterable[Channel]:
        """The conversations that are open."""
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
        """The conversation of that name; one that is not open is opened, with the other arguments as `PluginHost.session` takes them.

        Raises:
            HostError: the gateway is not open.
        """
        known = self._channels.get((platform, session_key))
        if known is not None and not known.closed:
            return known
        if self._host is None or self._nursery is None:
            raise HostError("the gateway is not open")
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
        )
        self._channels[platform, session_key] = channel
        self._nursery.start_soon(self._hold, channel)
        return channel

    def submit(
        self, text: str, *, platform: str, session_key: str, user_id: str | None = None
    ) -> PendingMessage:
        """Take one message of a conversation.

        Never waits: what `/stop` and `/new` do is done when it returns.

        Messages are taken in the order of the calls, so call it where they arrive, and wait for the
        replies elsewhere.

        Raises:
            HostError: the gateway is not open.
        """
        return self.channel(platform, session_key, user_id=user_id).submit(text)

    async def message(
        self, text: str, *, platform: str, session_key: str, user_id: str | None = None
    ) -> ChatReply:
        """`submit`, and wait for the reply.

        A caller that is cancelled leaves the message in its place.

        Raises:
            HostError: the gateway is not open.
        """
        return await self.submit(
            text, platform=platform, session_key=session_key, user_id=user_id
        ).wait()

    async def approve(self, request: ApprovalRequest) -> bool:
        """Asks the people of the session's channel; for `PluginHost(..., approver=...)`."""
        for channel in self.channels:
            if channel.session.session_id == request.session_id and channel.person is not None:
                return await channel.person.approve(request)
        return False

    def close(self, reason: EndReason = "shutdown", invalidation_reason: str | None = None) -> None:
        """End every conversation now, without waiting (see `Channel.close`)."""
        for channel in self.channels:
            channel.close(reason, invalidation_reason)

    async def _hold(self, channel: Channel) -> None:
        key = (channel.platform or "", channel.session_key or "")
        try:
            await channel.live()
        finally:
            if self._channels.get(key) is channel:
                del self._channels[key]
