"""How the client's person is asked: by a request to the client, or in the result of the call.

Up to 2025-11-25 the server sends `elicitation/create` and waits. From 2026-07-28 on it sends no
requests: the call's result has the question, and the client makes the call again with the answer.
Meanwhile the call goes on in a task of its own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

import trio
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ClientCapabilities,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
)

from sliphook.adapters.relayed.waiting_calls import Person, Report
from sliphook.errors import HostError
from sliphook.ids import new_id

from .backend import untold

PARKED_S: Final = 300.0
"""How long a question waits for the client to make the call again. A session asks one at a time."""
MOST_PARKED: Final = 32
"""Questions that wait so; for a further one the oldest is over, and its call with it."""
_QUESTION: Final = "question"

Work = Callable[[Person, Report], Awaitable[CallToolResult]]


class _Question:
    """What a call asks the person.

    Attributes:
        answer: what they say; None if they decline.
    """

    def __init__(self, prompt: str, schema: dict[str, Any]) -> None:
        self.prompt = prompt
        self.schema = schema
        self.answered = trio.Event()
        self.answer: dict[str, Any] | None = None


def can_ask(capabilities: ClientCapabilities | None) -> bool:
    """Whether the client has forms for its person. One that names no kind has them."""
    elicitation = capabilities.elicitation if capabilities is not None else None
    return elicitation is not None and (elicitation.form is not None or elicitation.url is None)


def by_request(ctx: ServerRequestContext[Any, Any]) -> Person:
    """Asks by `elicitation/create`."""

    async def ask(prompt: str, schema: dict[str, Any]) -> dict[str, Any] | None:
        try:
            said = await ctx.session.elicit_form(prompt, schema, ctx.request_id)
        except MCPError as error:
            raise HostError(f"the client cannot ask: {error}") from None
        return _accepted(said)

    return ask


def _accepted(said: object) -> dict[str, Any] | None:
    if not isinstance(said, ElicitResult) or said.action != "accept":
        return None
    return dict(said.content or {})


class _Running:
    """One call that may ask while no request of the client is open for it.

    Attributes:
        scope: of the call.
        over: the call has ended.
        report: takes its progress.
    """

    def __init__(self, work: Work) -> None:
        self.scope = trio.CancelScope()
        self.over = trio.Event()
        self.report: Report = untold
        self._work = work
        self._question: _Question | None = None
        self._outcome: CallToolResult | Exception | None = None
        self._changed = trio.Event()

    async def run(self) -> None:
        """Make the call."""
        outcome: CallToolResult | Exception = HostError("the call is over")
        try:
            with self.scope:
                outcome = await self._work(self._ask, self._tell)
        except Exception as error:
            outcome = error
        finally:
            self._outcome = outcome
            self.over.set()
            self._change()

    def _change(self) -> None:
        self._changed.set()
        self._changed = trio.Event()

    def _tell(self, fraction: float | None, message: str | None) -> None:
        self.report(fraction, message)

    async def _ask(self, prompt: str, schema: dict[str, Any]) -> dict[str, Any] | None:
        question = self._question = _Question(prompt, schema)
        self._change()
        try:
            await question.answered.wait()
        finally:
            if self._question is question:  # a plugin has answered instead, or the call is over
                self._question = None
        return question.answer

    def answer(self, question: _Question, answer: dict[str, Any] | None) -> None:
        """What the person says to that question; nothing if it is settled already."""
        if self._question is question:
            self._question, question.answer = None, answer
            question.answered.set()

    async def end(self) -> None:
        """Give the call up, and wait until it has ended."""
        self.scope.cancel()
        with trio.CancelScope(shield=True):
            await self.over.wait()

    async def news(self) -> CallToolResult | _Question:
        """What comes next; raises what the call has raised."""
        try:
            while self._question is None and self._outcome is None:
                await self._changed.wait()
        except trio.Cancelled:
            await self.end()
            raise
        if self._question is not None:
            return self._question
        if isinstance(self._outcome, Exception):
            raise self._outcome
        assert self._outcome is not None
        return self._outcome


class ByResult:
    """Calls whose questions are asked in their results.

    Args:
        nursery: runs the calls.
    """

    def __init__(self, nursery: trio.Nursery) -> None:
        self._nursery = nursery
        self._parked: dict[str, tuple[_Running, _Question]] = {}

    async def call(
        self, params: CallToolRequestParams, work: Work, report: Report
    ) -> CallToolResult | InputRequiredResult:
        """Make a call, or go on with the one whose question the client answers.

        Raises:
            MCPError: there is no such question any more.
        """
        if params.request_state is None:
            running = _Running(work)
            self._nursery.start_soon(running.run)
        else:
            found = self._parked.pop(params.request_state, None)
            if found is None or found[0].scope.cancel_called:
                raise MCPError(INVALID_PARAMS, "this question is over; make the call anew")
            running, question = found
            running.scope.deadline = float("inf")
            running.answer(question, _accepted((params.input_responses or {}).get(_QUESTION)))
        running.report = report
        news = await running.news()
        running.report = untold
        if isinstance(news, CallToolResult):
            return news
        return await self._park(running, news)

    async def _park(self, running: _Running, question: _Question) -> InputRequiredResult:
        now_s = trio.current_time()
        # also of calls that ended otherwise: their scope is never cancelled
        for left in [key for key, (one, _) in self._parked.items() if one.scope.deadline <= now_s]:
            del self._parked[left]
        state = new_id()
        self._parked[state] = running, question
        running.scope.deadline = now_s + PARKED_S
        while len(self._parked) > MOST_PARKED:
            oldest, _ = self._parked.pop(next(iter(self._parked)))
            await oldest.end()
        form = ElicitRequestFormParams(message=question.prompt, requested_schema=question.schema)
        return InputRequiredResult(
            input_requests={_QUESTION: ElicitRequest(params=form)}, request_state=state
        )
