"""The daemon's side of our MCP server: what plugins offer, and their tools for the agent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, Protocol

import msgspec
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
from .pages import are_same, in_pages
from .peer import Peer
from .waiting_calls import WaitingCalls

GATHER_S: Final = 0.05
_OFFERS: Final = Offers.__struct_config__.tag


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


class SharedOffers:
    """What the plugins of a host offer, for all that watch it.

    Args:
        host: has the plugins.

    Attributes:
        host: the same.
    """

    def __init__(self, host: PluginHost) -> None:
        self.host = host
        self._turn = trio.Lock()
        self._encoded: tuple[Offers, tuple[bytes, ...]] | None = None

    def now(self, session_id: str | None) -> Offers:
        """All of it, in one of our sessions."""
        return Offers(tuple(self.host.tools(session_id)), tuple(self.host.commands()))

    async def lines(self, session_id: str | None) -> tuple[bytes, ...]:
        """The same, in pages as they are sent.

        All watch the same changes, so one encodes for the others, and each of them has a pass of
        the loop to itself.
        """
        async with self._turn:
            now = self.now(session_id)
            if self._encoded is not None:
                offers, lines = self._encoded
                if are_same(now.tools, offers.tools) and now.commands == offers.commands:
                    return lines
            lines = await _in_lines(now)
            self._encoded = now, lines
            return lines


async def _in_lines(offers: Offers) -> tuple[bytes, ...]:
    lines: list[bytes] = []
    for kind, some in (("tools", offers.tools), ("commands", offers.commands)):
        for page in in_pages(some):
            said = {"type": _OFFERS, kind: page, "more": True}
            lines.append(msgspec.json.encode(said) + b"\n")
            await trio.lowlevel.checkpoint()
    return *lines, msgspec.json.encode(Offers()) + b"\n"


class Served:
    """Answers our MCP servers of one session.

    Args:
        offered: the host, with what its plugins offer.
        tools: the agent's names of tools.
        calls: the calls of which hooks tell.
        place: the session.

    Attributes:
        waiting_calls: those that clients wait for.
    """

    def __init__(
        self, offered: SharedOffers, tools: ToolNames, calls: ToldCalls, place: ServedPlace
    ) -> None:
        calls.served = self.name_of
        self._offered = offered
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
        tools = self._offered.host.tools(self._place.session_id)
        return name if any(tool.name == name for tool in tools) else None

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
            for line in await self._offered.lines(self._place.session_id):
                await peer.say_line(line)
            await changed.wait()
            await trio.sleep(GATHER_S)

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
