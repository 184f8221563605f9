"""The daemon of one session of another agent: our host, its plugins, and when all that ends."""

from __future__ import annotations

import logging
import signal
from typing import Final, Literal

import msgspec
import trio

from sliphook import PluginHost
from sliphook.adapters.dialects.answer import HookReply
from sliphook.adapters.dialects.dialect import Dialect
from sliphook.adapters.dialects.told import Misread, SessionEnded, ToolDone
from sliphook.installed import Installed
from sliphook.quoting import quote
from sliphook.settings import AgentSettings

from .calls import ask_agent
from .gaps import gone, watch_transcript
from .payload import HookPayload
from .rendezvous import RESET_S, Claim, offer_next, withdraw_offer
from .request import PLUGINS_S, HookRequest
from .rooms import Room
from .service import Service

_log = logging.getLogger(__name__)

EndReason = Literal["exit", "reset", "signal", "shutdown"]
_PLUGINS_START_S: Final = 5.0


class Daemon:
    """One agent session.

    Args:
        dialect: the agent's.
        claim: where it listens.
        installed: the plugins.
        settings: for this agent.
        agent_pid: the agent's process; None if it is not known.
    """

    def __init__(
        self,
        dialect: Dialect,
        claim: Claim,
        installed: Installed,
        settings: AgentSettings,
        agent_pid: int | None,
    ) -> None:
        self._dialect = dialect
        self._claim = claim
        self._installed = installed
        self._settings = settings
        self._agent_pid = agent_pid
        self._room: Room | None = None
        self._over = trio.Event()
        self._reason: EndReason = "exit"
        self._reset_until_s: float | None = None
        self._last_s = 0.0
        self._service = Service(
            claim.listener, self._answer, self._replied, lambda: self._end("shutdown")
        )

    async def run(self) -> None:
        """Serve until the session, the agent or the time is over."""
        with trio.open_signal_receiver(signal.SIGTERM, signal.SIGHUP) as signals:
            async with self._host() as host, trio.open_nursery() as nursery:
                self._room = Room(self._dialect, host, nursery)
                for line in self._installed.problems:
                    self._room.notice("sliphook", "warning", line)
                self._last_s = trio.current_time()
                nursery.start_soon(self._service.run)
                nursery.start_soon(self._watch_idle)
                nursery.start_soon(self._watch_signals, signals)
                if self._agent_pid is not None:
                    nursery.start_soon(self._watch_agent, self._agent_pid)
                transcript = self._dialect.transcript
                if self._settings.watch_transcript_s and transcript is not None:
                    nursery.start_soon(
                        watch_transcript,
                        transcript,
                        self._settings.watch_transcript_s,
                        self._transcript,
                        self._interrupted,
                    )
                await self._over.wait()
                # from now on a client that comes starts another daemon
                self._claim.drop()
                self._service.close()
                await self._room.end(self._reason)
                nursery.cancel_scope.cancel()

    def _host(self) -> PluginHost:
        ask = self._dialect.entry("pre_tool_call").answers.get("ask")
        may_ask = ask is not None and ask.how != "impossible" and self._settings.ask == "agent"
        return PluginHost(
            [spec for spec in self._installed.specs if self._is_wanted(spec.name)],
            name=self._dialect.name,
            approver=ask_agent if may_ask else None,
            on_notify=self._notify,
            on_problem=lambda plugin, message: self._notify(plugin, "warning", message),
            timeout_cap_s=PLUGINS_S,
            # nothing is told to a plugin that is not ready, so the first hook waits for all
            open_wait_s=_PLUGINS_START_S,
        )

    def _is_wanted(self, name: str | None) -> bool:
        return self._settings.plugins is None or name in self._settings.plugins

    def _notify(self, plugin: str, level: str, message: str) -> None:
        _log.warning("%s: %s", quote(plugin), quote(message))
        if self._room is not None:
            self._room.notice(plugin, level, message)

    # -- one request

    async def _answer(self, request: HookRequest, payload: HookPayload | None) -> HookReply:
        self._last_s = trio.current_time()
        if request.agent != self._dialect.name:
            return self._refusal(request, "the hook is another agent's")
        said = f"{self._dialect.title}'s {request.event}"
        if payload is None:
            return self._refusal(request, f"{said} is no JSON")
        if payload.excess is not None and request.event in self._dialect.guards:
            return self._refusal(request, f"no plugin can be asked about {said}: {payload.excess}")
        told = self._dialect.read(request.event, payload.value)
        if isinstance(told, Misread):
            return self._refusal(request, told.why)
        if payload.excess is not None:
            _log.warning("%s is not told as a whole: %s", said, payload.excess)
            if isinstance(told, ToolDone):
                told = msgspec.structs.replace(
                    told, content=f"(not told to plugins: {payload.excess})", data=None
                )
        assert self._room is not None, "it listens only then"
        try:
            answer = await self._room.take(told)
        except Exception:
            _log.exception("the hook %s failed", quote(request.event))
            return self._refusal(request, "the plugins could not be asked")
        if isinstance(told, SessionEnded) and told.reason == "reset":
            self._wait_for_next()
        reply = self._dialect.write(told, answer)
        for line in reply.unwritten:
            _log.warning("%s", quote(line))
        return reply

    def _refusal(self, request: HookRequest, why: str) -> HookReply:
        _log.warning("%s: %s", quote(request.event), quote(why))
        if not request.closed:
            return HookReply()
        return self._dialect.refuse(request.event, f"sliphook: {why}")

    def _replied(self, request: HookRequest) -> None:
        # the reply first: the agent gives the hooks of its end little time
        ends = self._dialect.entry("session_end").theirs
        if request.event in ends and request.event in self._dialect.life:
            assert self._room is not None
            if not self._room.was_reset:
                self._end("exit")

    # -- the end

    def _end(self, reason: EndReason) -> None:
        if not self._over.is_set():
            _log.info("the session is over: %s", reason)
            self._reason = reason
            self._over.set()

    def _wait_for_next(self) -> None:
        if self._agent_pid is None:
            self._end("reset")
            return
        offer_next(self._claim.path, self._dialect.name, self._agent_pid)
        self._reset_until_s = trio.current_time() + RESET_S

    async def _watch_idle(self) -> None:
        assert self._room is not None
        while True:
            now_s = trio.current_time()
            if self._reset_until_s is not None:
                if not self._room.was_reset:
                    self._reset_until_s = None
                elif now_s >= self._reset_until_s:
                    assert self._agent_pid is not None
                    withdraw_offer(self._claim.path, self._dialect.name, self._agent_pid)
                    self._end("reset")
                    return
            if now_s - self._last_s >= self._settings.idle_s and not self._room.turn_is_open:
                self._end("shutdown")
                return
            await trio.sleep(1.0)

    async def _watch_agent(self, pid: int) -> None:
        await gone(pid)
        # its last hook may still be on the way
        await trio.sleep(0.1)
        self._end("signal")

    async def _watch_signals(self, signals: object) -> None:
        async for _ in signals:  # type: ignore[attr-defined]
            self._end("shutdown")

    def _transcript(self) -> str | None:
        room = self._room
        return room.transcript_path if room is not None and room.turn_is_open else None

    async def _interrupted(self) -> None:
        if self._room is not None:
            await self._room.interrupt("transcript")
