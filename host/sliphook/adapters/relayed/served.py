"""The daemon's side of our MCP server: what plugins offer, and their tools for the agent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, Protocol

import trio

from sliphook import HostError, PluginHost, Session, ToolOutcome, Turn
from sliphook.adapters.dialects.told import Happening, OfTool, ToolAsked
from sliphook.adapters.dialects.toolnames import ToolNames

from .messages import (
    EVENT,
    Asked,
    CallTool,
    NotDone,
    Offers,
    Ran,
    RunCommand,
    called,
)
from .peer import Peer
from .waiting_calls import WaitingCalls

GATHER_S: Final = 0.05


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

    Attributes:
        waiting_calls: those that clients wait for.
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
        self.waiting_calls = WaitingCalls()

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

    async def take(self, asked: Asked, peer: Peer) -> None:
        """Answer one request; cancelled when the peer is gone."""
        try:
            match asked:
                case CallTool():
                    await self._call(asked, peer)
                case RunCommand():
                    await self._run(asked, peer)
                case _:
                    await self._watch(peer)
        except HostError as error:
            await peer.say(NotDone(str(error)))

    async def _watch(self, peer: Peer) -> None:
        while not self._over:
            changed = self._changed
            await peer.say(self._offers())
            await changed.wait()
            await trio.sleep(GATHER_S)

    def _offers(self) -> Offers:
        tools = self._host.tools(self._place.session_id)
        return Offers(tuple(tools), tuple(self._host.commands()))

    async def _call(self, asked: CallTool, peer: Peer) -> None:
        told = ToolAsked(
            event=EVENT,
            session_id=asked.session_id,
            tool_name=asked.name,
            tool_kind=None,
            origin="agent",
            arguments=asked.arguments,
            model_call_id=asked.model_call_id,
        )
        session = await self._place.session_of(told)
        if self._place.stopping is not None:
            raise HostError(self._place.stopping)
        person = peer.ask if asked.asks else None
        with self.waiting_calls.open(peer.progressed, person) as call:
            outcome = await self._calls.serve(told, self._place.turn_of, call.begins)
        await peer.say(called(outcome, *(one.labelled() for one in session.take_injected())))

    async def _run(self, asked: RunCommand, peer: Peer) -> None:
        told = Happening(event=EVENT, session_id=asked.session_id)
        session = await self._place.session_of(told)
        await peer.say(Ran(await session.run_command(asked.name, asked.text)))
