"""Calls the tools of one answer side by side, shows them, and gives the model their results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import trio

from sliphook.agent.models.base import why_unreadable
from sliphook.agent.ui.display import TOLD_TO_STOP
from sliphook.dispatch.outcome import joined_reasons
from sliphook_sdk.protocol import Part, ToolCallRequest, nearest
from sliphook_sdk.protocol.parts import in_short

from .answer import Answer
from .turn import AgentTurn


class ModelResult(NamedTuple):
    """What the model reads of one call: a text, and the same in parts if it has some."""

    text: str
    parts: list[Part] | None = None


async def call_tools(
    now: AgentTurn, answer: Answer, calls: Sequence[ToolCallRequest]
) -> list[ModelResult]:
    """Call all tools of one answer at the same time.

    The results enter the conversation in the order of the calls.

    Returns:
        What the model reads for each call.

    Raises:
        trio.Cancelled: the turn was interrupted.
    """
    results = [ModelResult("")] * len(calls)

    async def call_one(at: int, call: ToolCallRequest) -> None:
        results[at] = await _call_tool(now, answer, call)
        now.conversation.add_result(call, *results[at])

    try:
        async with trio.open_nursery() as nursery:
            for at, call in enumerate(calls):
                nursery.start_soon(call_one, at, call)
                # trio starts tasks in any order; users and plugins must see the model's order
                await trio.lowlevel.checkpoint()
    finally:
        # on an interrupt too: servers refuse the next request if a call in it has no result
        now.conversation.close_calls(now.turn.tools_begun)
    return results


async def _call_tool(now: AgentTurn, answer: Answer, call: ToolCallRequest) -> ModelResult:
    """Call one tool and return what the model reads.

    A mistake of the model in the call is told to the model.
    """
    now.display.tool_started(call)
    wrong = _mistake(call, answer)
    if wrong is not None:
        now.display.tool_ended(call, "error", wrong, None)
        return ModelResult(wrong)
    # the agent's own tools go through the turn as well, so that guards see them
    own = now.tools.get(call.name)
    try:
        outcome = await now.turn.call_tool(
            call.name,
            call.arguments,
            model_call_id=call.call_id,
            run=own.run if own else None,
            input_schema=own.input_schema if own else None,
            tool_kind=own.kind if own else None,
            ask=own.asks if own else False,
        )
    except trio.Cancelled:
        # of a plugin's tool the host tells if it goes on, or what came of it
        told = own is None and call.call_id in now.turn.tools_begun
        word = TOLD_TO_STOP if told else "cancelled"
        now.display.tool_ended(call, word, word, None)
        raise
    if outcome.status == "denied":
        now.display.denied(call.name, joined_reasons(outcome.denied_by))
    else:
        shows = in_short(outcome.result.content, outcome.result.parts or ())
        now.display.tool_ended(call, outcome.status, shows, outcome.duration_ms)
    return ModelResult(outcome.text(), outcome.in_parts())


def _mistake(call: ToolCallRequest, answer: Answer) -> str | None:
    """The mistake in a call that can be found before any plugin is asked, or None."""
    # what this answer was offered: a plugin may have removed tools from this call
    names = answer.on_offer
    if call.name not in names:
        near = nearest(call.name, names)
        hint = (
            f"did you mean {near}?"
            if near
            else f"there are: {', '.join(names)}"
            if names
            else "there are none"
        )
        return f"there is no tool {call.name!r}; {hint}"
    if call.call_id in answer.unreadable:
        return f"the arguments of {call.name} {why_unreadable(answer.unreadable[call.call_id])}"
    return None
