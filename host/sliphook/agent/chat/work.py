"""The agent of one session in a conversation, and the messages that wait for it."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import trio

from sliphook_sdk.protocol.limits import INITIALIZE_TIMEOUT_S

from .replies import PendingMessage, ReplyDisplay

if TYPE_CHECKING:
    from sliphook.agent.loop import Agent


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
