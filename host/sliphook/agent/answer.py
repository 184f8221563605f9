"""One attempt at a model's answer: its text is shown as it comes, its calls are put together."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import msgspec
import trio

from sliphook.agent.models.base import Finish, Model, ModelError, TextDelta, ToolCall
from sliphook_sdk.protocol import Message, ToolCallRequest

from .conversation import with_context
from .turn import AgentTurn

if TYPE_CHECKING:
    from sliphook.session.results import LlmGate


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


async def receive(
    now: AgentTurn, gate: LlmGate, model: Model, parameters: dict[str, Any] | None
) -> Answer:
    """Ask the model once, and show the text as it comes.

    If the answer is interrupted, its text so far stays in the conversation.

    Args:
        now: the turn.
        gate: what to ask.
        model: whom to ask.
        parameters: more fields of the request; None leaves them to the model.

    Raises:
        ModelError: the attempt failed; its text was abandoned.
    """
    # not a list: the smallest pieces would take fifty times the memory of their text
    said = io.StringIO()
    calls: list[ToolCall] = []
    finish = Finish()
    try:
        async with model.stream(
            with_context(gate.messages, gate.context),
            gate.tools,
            model=gate.model,
            parameters=parameters,
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
            interrupted(now, said.getvalue())
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


def interrupted(now: AgentTurn, text: str) -> None:
    """Keep the text of an answer that the user has seen up to an interrupt."""
    now.conversation.add_answer(Message(role="assistant", content=text), interrupted=True)
    now.display.text_end()
