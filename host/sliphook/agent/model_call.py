"""One model call: the plugins are asked, the model is asked until it answers, text is shown."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Final

import msgspec
import trio

from sliphook.agent.models.base import Finish, Model, ModelError, TextDelta, ToolCall, in_pieces
from sliphook_sdk.protocol import Message, ToolCallRequest, Usage

from .conversation import with_context
from .refused_tools import MAX_LEFT_OUT, leave_out_blamed, without_refused
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


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """A model's whole answer.

    Attributes:
        message: the message for the conversation.
        finish: how the answer ended.
        unreadable: by `call_id`, the text that the model wrote instead of arguments.
        on_offer: the tools that this answer may call; plugins may have removed some.
    """

    message: Message
    finish: Finish
    unreadable: dict[str, str]
    on_offer: list[str]


async def next_answer(now: AgentTurn) -> Answer | Ending:
    """The model's next answer, or why there is none; the user has then been told."""
    # not to a child: what it takes would be missing in the session's own conversation
    if now.turn.agent_depth == 0:
        now.conversation.add_injected(now.turn.session.take_injected())
    # kept for the whole call: the user may choose another one meanwhile
    model = now.chosen()
    gate = await now.turn.pre_llm_call(
        provider=model.provider,
        model=model.name or None,
        messages=now.conversation.for_model(now.system),
        tools=now.on_offer(),
    )
    if gate.denied:
        now.display.denied("the model call", gate.reason)
        return Ending("denied", f"the model call was denied: {gate.reason}")
    if gate.substitute is not None:
        return await _substituted(now, model, gate, gate.substitute)
    return await _ask(now, model, gate)


async def _ask(now: AgentTurn, model: Model, gate: LlmGate) -> Answer | Ending:
    """Ask the model, again after failures that may pass."""
    attempt = 1
    left_out = 0
    gate = msgspec.structs.replace(gate, tools=without_refused(now, model, gate.tools))
    while True:
        # per attempt: `duration_ms` is of the answer, not of failures and waits before it
        began_s = trio.current_time()
        try:
            answer = await _attempt(now, model, gate)
            break
        except ModelError as error:
            failed = error
        blamed = left_out < MAX_LEFT_OUT and leave_out_blamed(now, model, gate.tools, failed)
        will_retry = blamed or (failed.transient and attempt < MAX_ATTEMPTS)
        now.turn.llm_call_failed(
            attempt=attempt,
            kind=failed.kind,
            status=failed.status,
            message=failed.message,
            will_retry=will_retry,
        )
        if blamed:
            left_out += 1
            attempt += 1
            gate = msgspec.structs.replace(gate, tools=without_refused(now, model, gate.tools))
            continue
        if not will_retry:
            now.tell("error", failed.message)
            return Ending("failed", failed.message)
        wait_s = _wait_before_retry(failed, attempt)
        now.tell("warning", f"{failed.message}; asking again in {wait_s:.3g} s")
        await trio.sleep(wait_s)
        attempt += 1
    now.turn.post_llm_call(
        provider=model.provider,
        model=answer.finish.model or gate.model or model.name,
        response=answer.message,
        finish_reason=answer.finish.reason,
        usage=answer.finish.usage,
        duration_ms=(trio.current_time() - began_s) * 1000,
    )
    if answer.finish.reason in _CUT_SHORT:
        now.tell("warning", f"the model's answer was cut: {_CUT_SHORT[answer.finish.reason]}")
    return answer


async def _attempt(now: AgentTurn, model: Model, gate: LlmGate) -> Answer:
    """Ask the model once, and show the text as it comes.

    If the answer is interrupted, its text so far stays in the conversation.
    """
    # not a list: the smallest pieces would take fifty times the memory of their text
    said = io.StringIO()
    calls: list[ToolCall] = []
    finish = Finish()
    try:
        async with model.stream(
            with_context(gate.messages, gate.context), gate.tools, model=gate.model
        ) as pieces:
            async for piece in pieces:
                if isinstance(piece, TextDelta):
                    said.write(piece.text)
                    await now.conversation.say(piece.text)
                    now.display.text(piece.text)
                elif isinstance(piece, ToolCall):
                    calls.append(piece)
                else:
                    finish = piece
    except ModelError:
        # the next attempt begins anew: its text must not be recorded as the rest of this one
        now.conversation.abandon_answer()
        if said.tell():
            now.display.text_abandoned()
        raise
    except trio.Cancelled:
        # without its calls: none of them has run, and each would need a result
        if said.tell():
            now.conversation.add_answer(
                Message(role="assistant", content=said.getvalue()), interrupted=True
            )
            now.display.text_end()
        raise
    if said.tell():
        now.display.text_end()
    requests = [
        ToolCallRequest(call_id=call.call_id, name=call.name, arguments=call.arguments)
        for call in calls
    ]
    message = Message(
        role="assistant", content=said.getvalue() or None, tool_calls=requests or None
    )
    unreadable = {call.call_id: call.unreadable for call in calls if call.unreadable is not None}
    return Answer(
        message=message,
        finish=finish,
        unreadable=unreadable,
        on_offer=[tool.name for tool in gate.tools],
    )


async def _substituted(now: AgentTurn, model: Model, gate: LlmGate, message: Message) -> Answer:
    """The answer of a plugin that replaces the model's."""
    if message.content:
        try:
            for piece in in_pieces(message.content):
                now.display.text(piece)
                await trio.lowlevel.checkpoint()
        finally:
            now.display.text_end()
    now.turn.post_llm_call(
        provider=model.provider,
        model=gate.model,
        response=message,
        finish_reason=None,
        usage=Usage(),
        duration_ms=0.0,
        substituted_by=gate.substituted_by,
    )
    return Answer(
        message=message, finish=Finish(), unreadable={}, on_offer=[tool.name for tool in gate.tools]
    )


def _wait_before_retry(error: ModelError, attempt: int) -> float:
    if error.retry_after_s is not None:
        return min(error.retry_after_s, MAX_RETRY_AFTER_S)
    return FIRST_RETRY_S * 2.0 ** (attempt - 1)
