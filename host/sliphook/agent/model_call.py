"""One model call: the plugins are asked, the model is asked until it answers, text is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
import trio

from sliphook.agent.models.base import ModelError
from sliphook.agent.models.choice import Models, full_name
from sliphook.agent.models.pool import route_of
from sliphook_sdk.protocol import LlmFailure

from .answer import Answer, receive
from .refused_tools import MAX_LEFT_OUT, leave_out_blamed, without_refused
from .routing import destination, models_of
from .substitute import Streamed, show
from .turn import AgentTurn, Ending

if TYPE_CHECKING:
    from sliphook.session.results import LlmGate

MAX_ATTEMPTS: Final = 3
FIRST_RETRY_S: Final = 0.5
"""The wait before the second attempt, if the server names none; it doubles each time."""
MAX_RETRY_AFTER_S: Final = 60.0
"""The longest wait that is granted to a server."""

_CUT_SHORT: Final[dict[str | None, str]] = {
    "length": "it reached its limit of tokens",
    "max_tokens": "it reached its limit of tokens",
    "model_context_window_exceeded": "the conversation is as long as the model can read",
    "content_filter": "the provider's filter ended it",
    "refusal": "the provider's filter ended it",
}
"""Reasons to finish that the user is told, in the words of both providers."""


async def next_answer(now: AgentTurn) -> Answer | Ending:
    """The model's next answer, or why there is none; the user has then been told."""
    # not to a child: what it takes would be missing in the session's own conversation
    if now.turn.agent_depth == 0:
        now.conversation.add_injected(now.turn.session.take_injected())
    async with models_of(now) as models:
        answer = await _Call(now, models).answer()
    if isinstance(answer, Answer) and answer.finish.reason in _CUT_SHORT:
        now.tell("warning", f"the model's answer was cut: {_CUT_SHORT[answer.finish.reason]}")
    return answer


class _Call:
    """One call with its attempts, each of which plugins may deny, change, or answer themselves."""

    def __init__(self, now: AgentTurn, models: Models) -> None:
        self._now = now
        self._models = models
        # kept for the whole call: the user may choose another one meanwhile
        self._own = now.chosen()
        self._asked = self._own
        self._attempt = 1
        # per attempt: `duration_ms` is of the answer, not of failures and waits before it
        self._began_s = 0.0

    async def answer(self) -> Answer | Ending:
        now, left_out = self._now, 0
        failure: LlmFailure | None = None
        gate: LlmGate | None = None
        while True:
            self._began_s = trio.current_time()
            streamed = Streamed(now)
            gate = await self._ask_plugins(gate, failure, streamed)
            rest = streamed.rest_of(None if gate.denied else gate.substitute)
            if gate.denied:
                now.display.denied("the model call", gate.reason)
                return Ending("denied", f"the model call was denied: {gate.reason}")
            if gate.substitute is not None:
                return self._told(gate, await show(now, gate, gate.substitute, rest))
            self._began_s = trio.current_time()
            try:
                self._asked, parameters = destination(now, self._models, self._own, gate)
                tools = without_refused(now, self._asked, gate.tools)
                gate = msgspec.structs.replace(gate, tools=tools)
                return self._told(gate, await receive(now, gate, self._asked, parameters))
            except ModelError as error:
                failed = error
            blamed = left_out < MAX_LEFT_OUT and leave_out_blamed(
                now, self._asked, gate.tools, failed
            )
            left_out += blamed
            if not await self._goes_on(gate, failed, blamed=blamed):
                return Ending("failed", failed.message)
            failure = LlmFailure(kind=failed.kind, status=failed.status, message=failed.message)
            self._attempt += 1

    async def _ask_plugins(
        self, last: LlmGate | None, failure: LlmFailure | None, streamed: Streamed
    ) -> LlmGate:
        """Ask them before an attempt; `last` is what they made of the one before."""
        now, own = self._now, self._own
        routed_to = last.route.provider if last is not None and last.route is not None else None
        try:
            return await now.turn.pre_llm_call(
                provider=routed_to or own.provider,
                model=last.model if last else own.name or None,
                messages=last.messages if last else now.conversation.for_model(now.system),
                tools=last.tools if last else now.on_offer(),
                route=last.route if last else route_of(own),
                attempt=self._attempt,
                failure=failure,
                on_text=streamed,
            )
        except trio.Cancelled:
            streamed.interrupted()
            raise

    async def _goes_on(self, gate: LlmGate, failed: ModelError, *, blamed: bool) -> bool:
        """Tell that an attempt failed, and wait before the next one; False if there is none."""
        now = self._now
        # a plugin that is asked again may start the server, which is not there without it
        may_pass = failed.transient or (failed.kind == "connection" and gate.asks_again)
        will_retry = blamed or (may_pass and self._attempt < MAX_ATTEMPTS)
        now.turn.llm_call_failed(
            attempt=self._attempt,
            kind=failed.kind,
            status=failed.status,
            message=failed.message,
            will_retry=will_retry,
        )
        if not will_retry:
            now.tell("error", failed.message)
        elif not blamed:
            wait_s = _wait_before_retry(failed, self._attempt)
            mark = "" if failed.message.endswith("?") else ";"
            now.tell("warning", f"{failed.message}{mark} asking again in {wait_s:.3g} s")
            await trio.sleep(wait_s)
        return will_retry

    def _told(self, gate: LlmGate, answer: Answer) -> Answer:
        """The answer, after the plugins were told of it."""
        is_substitute = gate.substitute is not None
        model = self._own if is_substitute else self._asked
        name = answer.finish.model or gate.model or model.name or None
        if not is_substitute:
            self._now.conversation.answered_by(full_name(model, gate.model))
        self._now.turn.post_llm_call(
            provider=model.provider,
            model=name,
            response=answer.message,
            finish_reason=answer.finish.reason,
            usage=answer.finish.usage,
            duration_ms=(trio.current_time() - self._began_s) * 1000,
            substituted_by=gate.substituted_by,
            routed_by=None if is_substitute else gate.routed_by,
        )
        return answer


def _wait_before_retry(error: ModelError, attempt: int) -> float:
    if error.retry_after_s is not None:
        return min(error.retry_after_s, MAX_RETRY_AFTER_S)
    return FIRST_RETRY_S * 2.0 ** (attempt - 1)
