"""The daemon: our host with its plugins, and the sessions of another agent that it serves."""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

import msgspec
import trio

from sliphook import ApprovalRequest, AskRequest, HostError, PluginHost, Progress
from sliphook.adapters.dialects.answer import HookAnswer, HookReply
from sliphook.adapters.dialects.dialect import Dialect
from sliphook.adapters.dialects.told import Happening, Misread, SessionEnded, ToolDone
from sliphook.adapters.relayed.messages import EVENT, Asked, NotDone, WatchOffers, read_asked
from sliphook.adapters.relayed.peer import Peer, talking
from sliphook.adapters.relayed.served import SharedOffers
from sliphook.adapters.relayed.waiting_calls import WaitingCalls
from sliphook.agent_log import agent_log
from sliphook.files import paths
from sliphook.files.private import make_private_folder
from sliphook.installed import Installed
from sliphook.quoting import quote
from sliphook.settings import AgentSettings
from sliphook.trace import FileTrace, TraceSink

from .agent_session import AgentSession
from .calls import ask_agent
from .payload import HookPayload, unheard
from .rendezvous import Claim, agent_of, announce, retract
from .request import PLUGINS_S, HookRequest
from .rooms import MOST_NOTICES
from .service import Answered, Service

_log = agent_log(__name__)

MOST_SESSIONS: Final = 256
_PLUGINS_START_S: Final = 5.0
_FIRST_S: Final = 60.0
"""How long a daemon waits for the first hook."""


class Daemon:
    """Serves one session, and all others that are led to its socket.

    Args:
        dialect: the agent's.
        claim: where it listens.
        installed: the plugins.
        settings: for this agent.
    """

    def __init__(
        self, dialect: Dialect, claim: Claim, installed: Installed, settings: AgentSettings
    ) -> None:
        self._dialect = dialect
        self._claim = claim
        self._installed = installed
        self._settings = settings
        self._sessions: dict[str, AgentSession] = {}
        problems = [("sliphook", "warning", line) for line in installed.problems]
        self._early = deque(problems, MOST_NOTICES)
        self._opening = trio.Lock()
        self._ends = trio.Lock()
        self._over = trio.Event()
        self._service = Service(claim.listener, self._answer, self._serve, self._end)
        self._plugins: PluginHost
        self._offered: SharedOffers
        self._holding: trio.Nursery

    async def run(self) -> None:
        """Serve until the last session is over, or the system wants it to end."""
        with (
            trio.open_signal_receiver(signal.SIGTERM, signal.SIGHUP) as signals,
            self._trace() as trace,
        ):
            async with self._host(trace) as self._plugins, trio.open_nursery() as nursery:
                self._offered = SharedOffers(self._plugins)
                async with trio.open_nursery() as self._holding:
                    nursery.start_soon(self._service.run)
                    nursery.start_soon(self._watch_first)
                    nursery.start_soon(self._watch_signals, signals)
                    await self._over.wait()
                    # thousands of sessions may have been led here; first, as the next daemon waits
                    await trio.to_thread.run_sync(self._claim.drop)
                    for session in self._sessions.values():
                        session.end("shutdown")
                nursery.cancel_scope.cancel()

    @contextmanager
    def _trace(self) -> Generator[TraceSink | None]:
        """Where the trace goes; nothing if it is not wanted, or cannot be written."""
        if not self._settings.trace:
            yield None
            return
        folder = paths.state_home() / "traces"
        try:
            make_private_folder(folder)
            sink = FileTrace(folder / f"{self._claim.path.stem}.jsonl")
        except OSError as error:
            _log.warning("the trace cannot be written: %s", error)
            yield None
            return
        try:
            yield sink
        finally:
            if (lost := sink.close()) is not None:
                _log.warning("%s", lost)

    def _host(self, trace: TraceSink | None) -> PluginHost:
        ask = self._dialect.entry("pre_tool_call").answers.get("ask")
        may_ask = ask is not None and ask.how != "impossible" and self._settings.ask == "agent"
        return PluginHost(
            [spec for spec in self._installed.specs if self._is_wanted(spec.name)],
            name=self._dialect.name,
            approver=self._ask_agent if may_ask else None,
            approver_queues=True,
            asker=self._ask_person,
            can_ask=self._can_ask,
            on_notify=self._notify,
            on_progress=self._progressed,
            on_offers=self._offers_changed,
            on_problem=lambda plugin, message: self._notify(plugin, "warning", message),
            timeout_cap_s=PLUGINS_S,
            # nothing is told to a plugin that is not ready, so the first hook waits for all
            open_wait_s=_PLUGINS_START_S,
            trace=trace,
        )

    async def _ask_agent(self, request: ApprovalRequest) -> bool:
        return await ask_agent(request, asks_person=self._dialect.asks_person)

    async def _ask_person(self, request: AskRequest) -> object:
        """Ask the person of the client of our MCP server."""
        calls = self._waiting_calls(request.session_id)
        if calls is None:
            raise HostError("the session is over")
        return await calls.ask(request)

    def _can_ask(self, request: AskRequest) -> bool:
        calls = self._waiting_calls(request.session_id)
        return calls is not None and calls.can_ask(request)

    def _waiting_calls(self, session_id: str) -> WaitingCalls | None:
        """The calls of our MCP servers in that session, by our id of it; None if it is over."""
        rooms = (session.room for session in self._sessions.values())
        served = next((room.served for room in rooms if room.session_id == session_id), None)
        return served.waiting_calls if served is not None else None

    def _is_wanted(self, name: str | None) -> bool:
        return self._settings.plugins is None or name in self._settings.plugins

    def _notify(self, plugin: str, level: str, message: str) -> None:
        """An alert belongs to no session: whatever the person looks at shows it."""
        _log.warning("%s: %s", quote(plugin), quote(message))
        if not self._sessions:  # as of a plugin that is refused when the daemon starts
            self._early.append((plugin, level, message))
        for session in self._sessions.values():
            session.room.notice(plugin, level, message)

    def _progressed(self, progress: Progress) -> None:
        for session in self._sessions.values():
            session.room.served.waiting_calls.progressed(progress)

    def _offers_changed(self) -> None:
        for session in self._sessions.values():
            session.room.served.offers_changed()

    # -- one request

    async def _answer(self, request: HookRequest, payload: HookPayload | None) -> Answered | None:
        if request.agent != self._dialect.name:
            return self._refusal(request, "the hook is another agent's")
        said = f"{self._dialect.title}'s {request.event}"
        if payload is None:
            return self._unasked(request, f"{said} is no JSON")
        if payload.excess is not None and request.event in self._dialect.guards:
            return self._refusal(request, f"no plugin can be asked about {said}: {payload.excess}")
        told = self._dialect.read(request.event, payload.value)
        if isinstance(told, Misread):
            return self._unasked(request, told.why)
        try:
            session = await self._session_of(told, request)
            if session is None and self._over.is_set():
                return None  # the client starts another daemon
            if session is None:
                if isinstance(told, SessionEnded):
                    return Answered(HookReply())
                return self._unasked(request, f"over {MOST_SESSIONS} sessions are open")
            if payload.excess is None:
                answer = await session.take(told)
            else:
                _log.warning("%s is not told as a whole: %s", quote(said), payload.excess)
                answer = await self._take_in_part(session, told, payload.excess)
        except Exception:
            _log.exception("the hook %s failed", quote(request.event))
            return self._unasked(request, "the plugins could not be asked")
        reply = self._dialect.write(told, answer)
        for line in reply.unwritten:
            _log.warning("%s", quote(line))
        return Answered(reply, lambda: session.replied(told))

    async def _take_in_part(
        self, session: AgentSession, told: Happening, excess: str
    ) -> HookAnswer:
        """Plugins are told no result; if one could have changed it, the model reads none either."""
        if not isinstance(told, ToolDone):
            return await session.take(told)
        note = f"(not told to plugins: {excess})"
        answer = await session.take(msgspec.structs.replace(told, content=note, data=None))
        if answer.result is not None:
            return answer
        result = unheard(self._plugins, told, f"cannot: {excess}").result
        return msgspec.structs.replace(answer, result=result)

    def _unasked(self, request: HookRequest, why: str) -> Answered:
        """A guard denies; no result passes a plugin that may change results and was not told it."""
        is_result = request.event in self._dialect.entry("post_tool_call").theirs
        if not is_result or not self._plugins.hears("post_tool_call", replaces=True):
            return self._refusal(request, why)
        _log.warning("%s: %s", quote(request.event), quote(why))
        return Answered(self._dialect.withhold(request.event, f"sliphook: withheld: {why}"))

    def _refusal(self, request: HookRequest, why: str) -> Answered:
        """A deny if the client says so, or if there is a guard now that came after its hooks."""
        _log.warning("%s: %s", quote(request.event), quote(why))
        if not request.closed and not self._is_guarded(request.event):
            return Answered(HookReply())
        return Answered(self._dialect.refuse(request.event, f"sliphook: {why}"))

    def _is_guarded(self, event: str) -> bool:
        """Whether a guard that fails closed might be asked, whatever else the event may tell."""
        return any(
            event in entry.theirs and self._plugins.hears(entry.ours, closed=True)
            for entry in self._dialect.entries
        )

    async def _serve(
        self, request: HookRequest, payload: HookPayload | None, socket: trio.socket.SocketType
    ) -> None:
        """One request of our MCP server."""
        async with talking(socket) as peer:
            try:
                await self._serve_peer(request, payload, peer)
            except Exception:
                _log.exception("a request of the MCP server failed")
                await peer.say(NotDone("the plugins could not be asked"))

    async def _serve_peer(
        self, request: HookRequest, payload: HookPayload | None, peer: Peer
    ) -> None:
        asked = read_asked(payload.value) if payload is not None else None
        if payload is not None and payload.excess is not None:
            await peer.say(NotDone(f"no plugin can be asked: {payload.excess}"))
        elif request.agent != self._dialect.name or asked is None:
            await peer.say(NotDone("the request could not be read"))
        elif (session := await self._session_that_asks(asked, request)) is not None:
            await session.serve(asked, peer)
        elif not self._over.is_set() and not isinstance(asked, WatchOffers):
            await peer.say(NotDone("the agent's session is not known"))

    # -- the sessions

    async def _session_that_asks(self, asked: Asked, request: HookRequest) -> AgentSession | None:
        """By its id, or else by the agent's process: after `/clear` a server knows the old id."""
        if asked.session_id in self._sessions:
            return self._sessions[asked.session_id]
        pid = await trio.to_thread.run_sync(agent_of, request.parent)
        for session in self._sessions.values():
            if pid is not None and session.agent_pid == pid:
                return session
        if not asked.session_id or isinstance(asked, WatchOffers):
            return None
        told = Happening(event=EVENT, session_id=asked.session_id)
        return await self._session_of(told, request)

    async def _session_of(self, told: Happening, request: HookRequest) -> AgentSession | None:
        """The session in which it happened, which is begun if it is not there; None: it is not."""
        if told.session_id in self._sessions:
            return self._sessions[told.session_id]
        async with self._opening:
            found = self._sessions.get(told.session_id)
            if found is not None or isinstance(told, SessionEnded):
                return found
            pid = await trio.to_thread.run_sync(agent_of, request.parent)
            if self._over.is_set():
                return None
            for id, session in self._sessions.items():
                if pid is not None and session.agent_pid == pid and session.room.was_reset:
                    self._sessions[told.session_id] = self._sessions.pop(id)
                    return session
            if len(self._sessions) >= MOST_SESSIONS:
                return None
            session = AgentSession(
                self._dialect,
                self._settings,
                pid,
                self._claim.path,
                self._ends,
                self._session_over,
            )
            await self._holding.start(session.run, self._offered)
            if self._over.is_set():
                session.end("shutdown")
                return None
            # only now: another request may take it at once
            self._sessions[told.session_id] = session
            if pid is not None:
                announce(self._claim.path, self._dialect.name, pid)
            for early in self._early:
                session.room.notice(*early)
            return session

    def _session_over(self, session: AgentSession) -> None:
        for id in [id for id, one in self._sessions.items() if one is session]:
            del self._sessions[id]
        pid = session.agent_pid
        others = [one for one in self._sessions.values() if one.agent_pid == pid]
        if pid is not None and not others and not self._over.is_set():
            retract(self._claim.path, self._dialect.name, pid)
        if not self._sessions:
            self._end()

    # -- the end

    def _end(self) -> None:
        if not self._over.is_set():
            # from now on a client that comes starts another daemon
            self._claim.hide()
            self._service.close()
            self._over.set()

    async def _watch_first(self) -> None:
        await trio.sleep(_FIRST_S)
        if not self._sessions:
            self._end()

    async def _watch_signals(self, signals: object) -> None:
        async for _ in signals:  # type: ignore[attr-defined]
            self._end()
