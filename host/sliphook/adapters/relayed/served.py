"""The daemon's side of our MCP server: what plugins offer, and their tools for the agent."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final, Protocol

import msgspec
import trio

from sliphook import HostError, PluginHost, Progress, Session, ToolOutcome, Turn
from sliphook.adapters.dialects.told import Happening, OfTool, ToolAsked
from sliphook.adapters.dialects.toolnames import ToolNames

from .messages import (
    EVENT,
    Asked,
    CallTool,
    NotDone,
    Offers,
    Progressed,
    Ran,
    RunCommand,
    Said,
    called,
)

_log = logging.getLogger(__name__)

GATHER_S: Final = 0.05
_MOST_WAITING: Final = 16
"""Of a call's progress, for a peer that does not read; more is left out."""


class Peer:
    """One connection, on which a reply is a line.

    Args:
        socket: the connection.
    """

    def __init__(self, socket: trio.socket.SocketType) -> None:
        self._socket = socket

    async def say(self, said: Said) -> None:
        """Send one reply.

        Raises:
            OSError: the peer is gone.
        """
        view = memoryview(msgspec.json.encode(said) + b"\n")
        while view:
            view = view[await self._socket.send(view) :]

    async def gone(self) -> None:
        """Return when the peer has closed the connection; what it sends is dropped."""
        try:
            while await self._socket.recv(4096):
                pass
        except OSError:
            pass


class ToldCalls(Protocol):
    """The calls of which hooks tell.

    Attributes:
        served: gives our name of a tool of our MCP server, None for any other tool.
    """

    served: Callable[[OfTool], str | None]

    async def serve(
        self,
        told: ToolAsked,
        turn_of: Callable[[Happening], Awaitable[Turn]],
        begins: Callable[[str], None],
    ) -> ToolOutcome:
        """Make a call of a plugin's tool, about which a hook may have had plugins asked."""
        ...


class ServedPlace(Protocol):
    """Where calls are made: the session, its turns and children."""

    @property
    def session_id(self) -> str | None:
        """Of our session; None if it is not open."""
        ...

    @property
    def stopping(self) -> str | None:
        """Why no more is to be called in this turn; None: it may go on."""
        ...

    async def session_of(self, told: Happening) -> Session:
        """The session, which is opened if its start was missed."""
        ...

    async def turn_of(self, told: Happening) -> Turn:
        """The turn in which it happened; one that was missed begins."""
        ...


class Served:
    """Answers our MCP servers of one session.

    Args:
        host: has the plugins.
        tools: the agent's names of tools.
        calls: the calls of which hooks tell.
        place: the session.
    """

    def __init__(
        self, host: PluginHost, tools: ToolNames, calls: ToldCalls, place: ServedPlace
    ) -> None:
        calls.served = self.name_of
        self._host = host
        self._tools = tools
        self._calls = calls
        self._place = place
        self._changed = trio.Event()
        self._over = False
        self._running: dict[str, Callable[[Progress], None]] = {}

    def name_of(self, told: OfTool) -> str | None:
        """The name of a plugin's tool that the agent calls at our server; None: another tool."""
        name = self._tools.served(told.tool_name)
        if name is None:
            return None
        return name if any(tool.name == name for tool in self._offers().tools) else None

    def end(self) -> None:
        """The session is over, and with it what follows its offers."""
        self._over = True
        self._changed.set()

    def offers_changed(self) -> None:
        """There may be other tools or commands."""
        self._changed.set()
        self._changed = trio.Event()

    def progressed(self, progress: Progress) -> None:
        """A call has come further."""
        report = self._running.get(progress.call_id or "")
        if report is not None:
            report(progress)

    async def take(self, asked: Asked, peer: Peer) -> None:
        """Answer one request, until it is answered or the peer is gone."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_until_gone, peer, nursery.cancel_scope)
            try:
                match asked:
                    case CallTool():
                        await self._call(asked, peer)
                    case RunCommand():
                        await self._run(asked, peer)
                    case _:
                        await self._watch(peer)
            except HostError as error:
                await _said(peer, NotDone(str(error)))
            except Exception:
                _log.exception("a request of our MCP server failed")
                await _said(peer, NotDone("the plugins could not be asked"))
            nursery.cancel_scope.cancel()

    async def _watch(self, peer: Peer) -> None:
        while not self._over:
            changed = self._changed
            if not await _said(peer, self._offers()):
                return
            await changed.wait()
            await trio.sleep(GATHER_S)

    def _offers(self) -> Offers:
        tools = self._host.tools(self._place.session_id)
        return Offers(tuple(tools), tuple(self._host.commands()))

    async def _call(self, asked: CallTool, peer: Peer) -> None:
        put, get = trio.open_memory_channel[Progressed](_MOST_WAITING)
        call_id = ""

        def report(progress: Progress) -> None:
            with suppress(trio.WouldBlock):
                put.send_nowait(Progressed(progress.fraction, progress.message))

        async def tell() -> None:
            async for progress in get:
                await _said(peer, progress)

        def begins(id: str) -> None:
            nonlocal call_id
            call_id = id
            self._running[id] = report

        told = ToolAsked(
            event=EVENT,
            session_id=asked.session_id,
            tool_name=asked.name,
            tool_kind=None,
            origin="agent",
            arguments=asked.arguments,
            model_call_id=asked.model_call_id,
        )
        async with trio.open_nursery() as nursery:
            nursery.start_soon(tell)
            try:
                session = await self._place.session_of(told)
                if self._place.stopping is not None:
                    raise HostError(self._place.stopping)
                outcome = await self._calls.serve(told, self._place.turn_of, begins)
                texts = [one.labelled() for one in session.take_injected()]
                said: Said = called(outcome, *texts)
            except HostError as error:
                said = NotDone(str(error))
            finally:
                self._running.pop(call_id, None)
                put.close()
        await _said(peer, said)

    async def _run(self, asked: RunCommand, peer: Peer) -> None:
        told = Happening(event=EVENT, session_id=asked.session_id)
        session = await self._place.session_of(told)
        await _said(peer, Ran(await session.run_command(asked.name, asked.text)))


async def _said(peer: Peer, said: Said) -> bool:
    """Whether the peer is there."""
    try:
        await peer.say(said)
    except OSError:
        return False
    return True


async def _until_gone(peer: Peer, scope: trio.CancelScope) -> None:
    await peer.gone()
    scope.cancel()
