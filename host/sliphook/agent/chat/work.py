"""The agent of one session in a conversation, and the messages that wait for it."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import trio

from sliphook.agent_log import agent_log
from sliphook.quoting import quote
from sliphook_sdk.protocol.limits import INITIALIZE_TIMEOUT_S

from .replies import ChatReply, PendingMessage, ReplyDisplay

if TYPE_CHECKING:
    from sliphook.agent.loop import Agent

_log = agent_log("sliphook.agent.channel")


class Work:
    """The agent and its messages from one `session_start` to the next."""

    def __init__(self) -> None:
        self.agent: Agent | None = None
        self.display = ReplyDisplay()
        self.waiting: deque[PendingMessage] = deque()
        self.under_way = False
        self.taken_up = trio.Event()
        self.taken_up.set()

    async def ready(self) -> None:
        """Wait for the plugins of the new session, as long as the host waits when it opens."""
        with trio.move_on_after(INITIALIZE_TIMEOUT_S):
            await self.taken_up.wait()
        # after a timeout too: only a session's first message waits for plugins
        self.taken_up.set()

    async def run(self) -> None:
        """Run the turns of one session's messages, one after the other."""
        assert self.agent is not None
        try:
            while self.waiting:
                message = self.waiting.popleft()
                try:
                    outcome = await self.agent.run(
                        message.submission or message.text,
                        source="queued" if message.queued else "user",
                        ready=self.ready,
                    )
                    message.settle(ChatReply(text=self.display.take(), outcome=outcome))
                except Exception as error:
                    # a bug of the agent ends this turn, but no other conversation
                    _log.exception("the agent failed")
                    said = f"error: the agent failed: {quote(str(error), 300)}"
                    message.settle(
                        ChatReply(text=f"{self.display.take()}\n{said}".strip(), outcome="failed")
                    )
                finally:
                    # counts only if the task was cancelled: the first reply stands
                    message.settle(ChatReply(text=self.display.take(), outcome="interrupted"))
        finally:
            # no checkpoint since the queue was found empty, so no message is left behind
            self.under_way = False
