"""One session of the agent in a daemon: its room, and what ends it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

import trio

from sliphook.adapters.dialects.answer import HookAnswer
from sliphook.adapters.dialects.dialect import Dialect
from sliphook.adapters.dialects.told import Happening, SessionEnded
from sliphook.adapters.relayed.messages import Asked
from sliphook.adapters.relayed.peer import Peer
from sliphook.adapters.relayed.served import SharedOffers
from sliphook.agent_log import agent_log
from sliphook.settings import AgentSettings

from .gaps import gone, watch_transcript
from .rendezvous import RESET_S, offer_next, withdraw_offer
from .rooms import Room

_log = agent_log(__name__)

EndReason = Literal["exit", "reset", "signal", "shutdown"]


class AgentSession:
    """One session.

    Args:
        dialect: the agent's.
        settings: for this agent.
        agent_pid: the agent's process; None if it is not known.
        socket: where the daemon listens.
        ends: of all sessions of the daemon, of which hundreds may be over at once: each takes it
            and gives it back before its end, which so has a pass of the loop to itself.
        over: called when it takes no more, before its end is told to plugins.
    """

    room: Room

    def __init__(
        self,
        dialect: Dialect,
        settings: AgentSettings,
        agent_pid: int | None,
        socket: Path,
        ends: trio.Lock,
        over: Callable[[AgentSession], None],
    ) -> None:
        self.agent_pid = agent_pid
        self._dialect = dialect
        self._settings = settings
        self._socket = socket
        self._ends = ends
        self._when_over = over
        self._over = trio.Event()
        self._reason: EndReason = "exit"
        self._reset_until_s: float | None = None
        self._last_s = trio.current_time()

    async def run(self, offered: SharedOffers, task_status: trio.TaskStatus[None]) -> None:
        """Keep the session until it is over, and tell its end."""
        async with trio.open_nursery() as nursery:
            self.room = Room(self._dialect, offered, nursery)
            nursery.start_soon(self._watch_idle)
            if self.agent_pid is not None:
                nursery.start_soon(self._watch_agent, self.agent_pid)
            transcript = self._dialect.transcript
            if self._settings.watch_transcript_s and transcript is not None:
                nursery.start_soon(
                    watch_transcript,
                    transcript,
                    self._settings.watch_transcript_s,
                    self._transcript,
                    self._interrupted,
                )
            task_status.started()
            await self._over.wait()
            async with self._ends:
                pass
            _log.info("a session is over: %s", self._reason)
            self._when_over(self)
            self.room.served.end()
            await self.room.end(self._reason)
            nursery.cancel_scope.cancel()

    async def take(self, told: Happening) -> HookAnswer:
        """One hook of the agent, and what it is answered."""
        self._last_s = trio.current_time()
        answer = await self.room.take(told)
        if isinstance(told, SessionEnded) and told.reason == "reset":
            self._wait_for_next()
        return answer

    async def serve(self, asked: Asked, peer: Peer) -> None:
        """One request of our MCP server, until it is answered or the peer is gone."""
        self._last_s = trio.current_time()
        await self.room.served.take(asked, peer)
        self._last_s = trio.current_time()

    def replied(self, told: Happening) -> None:
        """The answer has been sent: the agent gives the hooks of its end little time."""
        if isinstance(told, SessionEnded) and not self.room.was_reset:
            self.end("exit")

    def end(self, reason: EndReason) -> None:
        """It is over."""
        if not self._over.is_set():
            self._reason = reason
            self._over.set()

    def _wait_for_next(self) -> None:
        if self.agent_pid is None:
            self.end("reset")
            return
        offer_next(self._socket, self._dialect.name, self.agent_pid)
        self._reset_until_s = trio.current_time() + RESET_S

    async def _watch_idle(self) -> None:
        while True:
            now_s = trio.current_time()
            if self._reset_until_s is not None:
                if not self.room.was_reset:
                    self._reset_until_s = None
                elif now_s >= self._reset_until_s:
                    assert self.agent_pid is not None
                    withdraw_offer(self._socket, self._dialect.name, self.agent_pid)
                    self.end("reset")
                    return
            if now_s - self._last_s >= self._settings.idle_s and not self.room.turn_is_open:
                self.end("shutdown")
                return
            await trio.sleep(1.0)

    async def _watch_agent(self, pid: int) -> None:
        await gone(pid)
        # its last hook may still be on the way
        await trio.sleep(0.1)
        self.end("signal")

    def _transcript(self) -> str | None:
        return self.room.transcript_path if self.room.turn_is_open else None

    async def _interrupted(self) -> None:
        await self.room.interrupt("transcript")
