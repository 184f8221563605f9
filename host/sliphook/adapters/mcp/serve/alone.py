"""A host of its own for one client: one session, and a turn for as long as calls are open."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextvars import ContextVar

import trio

from sliphook import (
    ApprovalRequest,
    HostError,
    PluginHost,
    PluginSpec,
    Session,
    Turn,
)
from sliphook.adapters.attached.held import Held, hold
from sliphook.adapters.relayed.messages import Called, Offers, called
from sliphook.adapters.relayed.questions import allows, approval
from sliphook.adapters.relayed.waiting_calls import Person, Report, WaitingCalls
from sliphook_sdk.protocol.limits import INITIALIZE_TIMEOUT_S

from .backend import AskedFor

_PERSON: ContextVar[Person | None] = ContextVar("person", default=None)
"""Whom the plugins of the call in this task may ask."""


class Alone:
    """The plugins in a host of this process.

    The session lives as long as the connection. A turn begins with a call when none is open, and
    ends with the last of them: calls at the same time are of one turn.

    Args:
        nursery: holds the host, the session and the turns.
        client: the client's name for itself.
    """

    def __init__(self, nursery: trio.Nursery, client: str | None) -> None:
        self._nursery = nursery
        self._client = client
        self._host: Held[PluginHost] | None = None
        self._session: Held[Session] | None = None
        self._turn: Held[Turn] | None = None
        self._start_is_told = False
        self._opening = trio.Lock()
        self._calls = WaitingCalls()

    async def begin(
        self,
        specs: Sequence[PluginSpec],
        *,
        asks: bool,
        changed: Callable[[], None],
        timeout_cap_s: float | None = None,
    ) -> PluginHost:
        """Start the plugins; waits for those alone of which nothing is known before.

        Args:
            specs: the plugins.
            asks: the client has forms for its person.
            changed: called when there may be other tools or commands.
            timeout_cap_s: see `PluginHost`.
        """
        host = PluginHost(
            specs,
            approver=self._approve if asks else None,
            asker=self._calls.ask,
            can_ask=self._calls.can_ask,
            on_progress=self._calls.progressed,
            on_offers=changed,
            timeout_cap_s=timeout_cap_s,
            open_wait_s=INITIALIZE_TIMEOUT_S if any(one.recorded is None for one in specs) else 0,
        )
        self._host = await hold(self._nursery, host)
        block = host.session(
            session_key=None,
            platform="mcp",
            cwd=os.getcwd(),
            meta={"client": self._client} if self._client is not None else None,
        )
        self._session = await hold(self._nursery, block)
        return host

    async def end(self) -> None:
        """End the session, then the plugins."""
        for held in (self._session, self._host):
            if held is not None:
                await held.release()

    async def offers(self) -> Offers:
        """See `Backend`."""
        await trio.lowlevel.checkpoint()
        host, session = self._opened()
        return Offers(tuple(host.tools(session.session_id)), tuple(host.commands()))

    async def call(self, request: AskedFor, person: Person | None, report: Report) -> Called:
        """See `Backend`."""
        _, session = self._opened()
        texts = [one.labelled() for one in await session.ready()]
        if self._start_is_told:
            texts.clear()
        self._start_is_told = True
        _PERSON.set(person)
        try:
            with self._calls.open(report, person) as call:
                turn = await self._entered(session)
                begun = await turn.begin_tool(
                    request.name, request.arguments, model_call_id=request.model_call_id, own=False
                )
                call.begins(begun.call_id)
                outcome = begun.outcome if begun.outcome is not None else await begun.run()
        finally:
            with trio.CancelScope(shield=True):
                await self._leave()
        texts += [one.labelled() for one in session.take_injected()]
        return called(outcome, *texts)

    async def run_command(self, request: AskedFor) -> str:
        """See `Backend`."""
        _, session = self._opened()
        return await session.run_command(request.name, request.text)

    def _opened(self) -> tuple[PluginHost, Session]:
        if self._host is None or self._session is None:
            raise HostError("the plugins are not started")
        return self._host.value, self._session.value

    # -- the turn

    async def _entered(self, session: Session) -> Turn:
        async with self._opening:
            if self._turn is None or self._turn.value.ended:
                self._turn = await hold(self._nursery, session.turn("", interrupt=True))
            return self._turn.value

    async def _leave(self) -> None:
        async with self._opening:
            if not self._calls and self._turn is not None:
                turn, self._turn = self._turn, None
                await turn.release()

    # -- what the host asks and tells

    async def _approve(self, request: ApprovalRequest) -> bool:
        person = _PERSON.get()
        if person is None:
            raise HostError("the client asks nobody")
        return allows(await person(*approval(request)))
