"""What a server asks the person in front of the agent, while it works on a call."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

import mcp_types as types
from mcp.client import ClientRequestContext

import sliphook_sdk as sdk

from .forms import form_of

_DISMISSED: Final = ("timed_out", "interrupted")


class Questions:
    """The calls that are open, and the questions that belong to them.

    A question of the stateless protocol comes inside of its call. One of the older protocol does
    not say to which call it belongs: it goes to the last that was begun.

    Args:
        name: the server's name, for the person.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._open: list[sdk.AsyncContext] = []
        self._own: ContextVar[sdk.AsyncContext | None] = ContextVar("call", default=None)

    @contextmanager
    def during(self, ctx: sdk.AsyncContext) -> Generator[None]:
        """While a call is under way."""
        self._open.append(ctx)
        token = self._own.set(ctx)
        try:
            yield
        finally:
            self._own.reset(token)
            self._open.remove(ctx)

    async def ask(
        self, context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult:
        """Put a question of the server to the person; declined if no person can be asked."""
        del context  # it does not tell to which call the question belongs
        ctx = self._own.get() or (self._open[-1] if self._open else None)
        if ctx is None or isinstance(params, types.ElicitRequestURLParams):
            return types.ElicitResult(action="decline")
        form = form_of(params.requested_schema)
        if form is None:
            ctx.log("warning", "a question of the server is declined: it asks for several at once")
            return types.ElicitResult(action="decline")
        try:
            result = await ctx.ask(f"[{self._name}] {params.message}", form)
        except (sdk.HostRefused, ValueError) as exc:
            ctx.log("warning", f"a question of the server is declined: {exc}")
            return types.ElicitResult(action="decline")
        if result.outcome != "answered":
            dismissed = result.outcome in _DISMISSED
            return types.ElicitResult(action="cancel" if dismissed else "decline")
        if form["type"] == "object":
            return types.ElicitResult(action="accept", content=result.answer)
        return types.ElicitResult(action="accept" if result.answer else "decline", content=None)
