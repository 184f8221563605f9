"""The plugins of an attached agent: its session's daemon has them, and is asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import trio

from sliphook import CommandOffer, HostError, PluginHost, PluginSpec
from sliphook.adapters.relayed.messages import (
    Asked,
    Called,
    CallTool,
    NotDone,
    Offers,
    Ran,
    RunCommand,
    Said,
    WatchOffers,
)
from sliphook.adapters.relayed.waiting_calls import Person, Report
from sliphook.agent_log import agent_log

from .backend import AskedFor, untold
from .dialogue import Dialogue
from .finding import DaemonReply, asking, find_daemon, socket_of, start_daemon

_log = agent_log(__name__)

LOOK_S: Final = 1.0
"""From look to look for a daemon that is not there."""


class Relay:
    """Asks the daemon of one agent session.

    Without a daemon the offers are those that the user has approved at installation.

    Args:
        agent: the agent.
        session_id: its session, if it is known.
        pid: the agent's process, by which the daemon is found otherwise; None if it is not known.
        specs: the installed plugins.
        changed: called when there may be other tools or commands.
    """

    def __init__(
        self,
        agent: str,
        session_id: str | None,
        pid: int | None,
        specs: Sequence[PluginSpec],
        changed: Callable[[], None],
    ) -> None:
        self._agent = agent
        self._session_id = session_id
        self._pid = pid
        self._specs = specs
        self._changed = changed
        self._offers: Offers | None = None
        self._heard = trio.Event()
        self._recorded = _recorded(specs)
        self._starting = trio.Lock()

    async def run(self) -> None:
        """Follow the offers of the daemon, whenever there is one; until cancelled."""
        watch = WatchOffers(self._session_id or "")
        while True:
            path = self._daemon(None)
            if path is not None:
                try:
                    async with asking(path, self._agent, watch) as daemon:
                        await self._follow(daemon)
                except OSError as error:
                    _log.info("the session's daemon is gone: %s", error)
            await trio.sleep(LOOK_S)

    async def _follow(self, daemon: DaemonReply) -> None:
        pages: list[Offers] = []
        while (said := await daemon.said()) is not None:
            if isinstance(said, Offers):
                pages.append(said)
                if said.more:
                    continue
                self._offers = Offers(
                    tuple(tool for page in pages for tool in page.tools),
                    tuple(command for page in pages for command in page.commands),
                )
                pages.clear()
                self._heard.set()
                self._changed()

    async def end(self) -> None:
        """See `Backend`: the daemon ends with the agent."""
        await trio.lowlevel.checkpoint()

    async def offers(self) -> Offers:
        """See `Backend`."""
        if self._offers is None and self._daemon(None) is not None:
            with trio.move_on_after(LOOK_S):
                await self._heard.wait()
        await trio.lowlevel.checkpoint()
        return self._offers if self._offers is not None else self._recorded

    async def call(self, request: AskedFor, person: Person | None, report: Report) -> Called:
        """See `Backend`."""
        asked = CallTool(
            request.session_id or self._session_id or "",
            request.name,
            request.arguments,
            request.model_call_id,
            person is not None,
        )
        said = await self._ask(request, asked, report, person)
        if isinstance(said, Called):
            return said
        raise HostError(said.why if isinstance(said, NotDone) else "the daemon has not answered")

    async def run_command(self, request: AskedFor) -> str:
        """See `Backend`."""
        asked = RunCommand(request.session_id or self._session_id or "", request.name, request.text)
        said = await self._ask(request, asked, untold, None)
        if isinstance(said, Ran):
            return said.text
        raise HostError(said.why if isinstance(said, NotDone) else "the daemon has not answered")

    async def _ask(
        self, request: AskedFor, asked: Asked, report: Report, person: Person | None
    ) -> Said | None:
        path = await self._ensured(request.session_id)
        try:
            async with asking(path, self._agent, asked) as daemon:
                return await Dialogue(daemon, report, person).run()
        except OSError as error:
            raise HostError(f"the session's daemon cannot be asked: {error}") from None

    def _daemon(self, session_id: str | None) -> Path | None:
        return find_daemon(self._agent, session_id or self._session_id, self._pid)

    async def _ensured(self, session_id: str | None) -> Path:
        """The socket of a daemon, which is started if there is none."""
        async with self._starting:
            path = self._daemon(session_id)
            known = session_id or self._session_id
            if path is None and known is not None:
                path = socket_of(self._agent, known)
                granted = [name for spec in self._specs for name in spec.env]
                if path is not None and not await start_daemon(self._agent, path, granted):
                    path = None
            if path is None:
                raise HostError(
                    "the agent's session is not known, or its plugins cannot be started"
                )
            return path


def _recorded(specs: Sequence[PluginSpec]) -> Offers:
    """What the user has approved at installation."""
    commands = [
        CommandOffer(
            name=command.name,
            description=command.description or "",
            plugin=spec.name or spec.recorded.name,
        )
        for spec in specs
        if spec.recorded is not None
        for command in spec.recorded.commands or ()
    ]
    return Offers(tuple(PluginHost(specs).tools()), tuple(commands))
