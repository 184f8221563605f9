"""Pure: their answer as one of ours, and what the next hook reads of it."""

from __future__ import annotations

from typing import Any

import msgspec

from sliphook.adapters.dialects.answer import HookAnswer
from sliphook.adapters.dialects.hosted.toolmap import ToolMap
from sliphook.adapters.dialects.told import Happening, ModelAsked, ToolAsked, ToolDone
from sliphook_sdk.protocol import CATALOGUE, Answer, Message
from sliphook_sdk.protocol import payloads as ours
from sliphook_sdk.protocol.limits import MAX_CONTEXT_CHARS, MAX_CONTEXT_TEXTS
from sliphook_sdk.protocol.shapes import Payload

from .rows import Row
from .telling import shown

ENTRY_OF = {entry.payload: entry for entry in CATALOGUE.values()}


def replaces(rows: tuple[Row, ...]) -> bool:
    """Whether an answer of these rows may replace something."""
    names = {name for row in rows for name in row.event.answers}
    return any(name.startswith("replace.") for name in names)


def rewritten(told: Happening, answer: HookAnswer) -> Happening:
    """What the next hook reads, after what those before it have replaced."""
    if isinstance(told, ToolAsked) and answer.arguments is not None:
        return msgspec.structs.replace(told, arguments=answer.arguments)
    if isinstance(told, ToolDone) and answer.result is not None:
        return msgspec.structs.replace(told, content=answer.result, data=None)
    if isinstance(told, ModelAsked) and answer.messages is not None:
        return msgspec.structs.replace(told, messages=answer.messages)
    return told


def answer_of(payload: Payload, answer: HookAnswer, tools: ToolMap) -> Answer | None:
    """The answer to our hook; None if it says nothing that the hook takes."""
    entry = ENTRY_OF[type(payload)]
    said: dict[str, Any] = {}
    if answer.denied is not None and "deny" in entry.decisions:
        said |= {"decision": "deny", "reason": answer.denied or "denied by a hook"}
    elif answer.ask is not None and "ask" in entry.decisions:
        said |= {"decision": "ask", "reason": answer.ask}
    replaced = (
        None
        if "decision" in said and answer.denied is not None
        else _replaced(payload, answer, tools)
    )
    if replaced:
        said["replace"] = replaced
    if answer.context and entry.context:
        texts = [text[:MAX_CONTEXT_CHARS] for text in answer.context]
        said["context"] = texts[:MAX_CONTEXT_TEXTS]
    if answer.continue_with is not None and entry.continues:
        said["continue_with"] = answer.continue_with
    return Answer(**said) if said else None


def _replaced(payload: Payload, answer: HookAnswer, tools: ToolMap) -> dict[str, Any]:
    match payload:
        case ours.PreToolCall() if answer.arguments is not None:
            return {"arguments": shown(payload, tools).ours(answer.arguments)}
        case ours.PostToolCall() if answer.result is not None and payload.result is not None:
            return {"result": answer.result}
        case ours.PreLlmCall() if answer.messages is not None:
            texts = _same_messages(payload.messages or [], answer.messages)
            return {} if texts is None else {"messages": texts}
        case _:
            return {}


def _same_messages(
    before: list[Message], after: tuple[tuple[str, str], ...]
) -> list[Message] | None:
    """The messages with other texts; None if they are not the same ones."""
    if [one.role for one in before] != [role for role, _ in after]:
        return None
    return [
        msgspec.structs.replace(one, content=text) if text != (one.content or "") else one
        for one, (_, text) in zip(before, after, strict=True)
    ]
