"""Changes the texts in messages, results and arguments, and nothing else of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import is_not
from typing import Any, cast

import msgspec

from sliphook_sdk.protocol import Message, Part, ToolCallRequest, ToolResult

Change = Callable[[str], "str | None"]
"""Gives the new text, or None if it stays."""
MOST_CHARS = 128 * 1024
"""Of a text that was changed: what is behind is cut, so that an answer to the host can hold it."""
CUT = "[cut: {:,} characters, too many to redact in one answer]"


def changed(value: Any, change: Change) -> Any:
    """A value of JSON with each text in it changed, names too; the value itself if none was."""
    if isinstance(value, str):
        new = change(value)
        return value if new is None else new
    if isinstance(value, list):
        old = cast("list[Any]", value)
        new = [changed(item, change) for item in old]
        return new if any(map(is_not, new, old)) else old
    if isinstance(value, dict):
        pairs = cast("dict[str, Any]", value)
        flat = [*pairs, *pairs.values()]
        new = changed(flat, change)
        half = len(pairs)
        return pairs if new is flat else {new[at]: new[half + at] for at in range(half)}
    return value


def changed_message(message: Message, change: Change) -> Message:
    """The message with its texts changed, or the message itself."""
    return _changed_fields(
        message,
        content=_cut(changed(message.content, change), message.content),
        tool_calls=_each(message.tool_calls, lambda call: _changed_call(call, change)),
        parts=_each(message.parts, lambda part: _changed_part(part, change)),
    )


def changed_result(result: ToolResult, change: Change) -> ToolResult:
    """The result with the texts changed that the model reads, or the result itself."""
    parts = result.parts
    return _changed_fields(
        result,
        content=_cut(changed(result.content, change), result.content),
        parts=_each(parts, lambda part: _changed_part(part, change)) if parts else parts,
    )


def answer_for(
    messages: Sequence[Message], change: Change
) -> list[Message | tuple[int, int]] | None:
    """The conversation for `replace(messages=...)`; None if nothing of it was changed.

    A pair of numbers keeps the messages between them, so an answer is as long as what it changes.
    """
    answer: list[Message | tuple[int, int]] = []
    kept_from = 0
    for at, message in enumerate(messages):
        new = changed_message(message, change)
        if new is not message:
            answer += [(kept_from, at), new]
            kept_from = at + 1
    return [*answer, (kept_from, len(messages))] if answer else None


def _changed_call(call: ToolCallRequest, change: Change) -> ToolCallRequest:
    return _changed_fields(call, arguments=changed(call.arguments, change))


def _changed_part(part: Part, change: Change) -> Part:
    """Not its `data`, which is the bytes of a picture or a sound."""
    resource = part.resource
    if resource is not None:
        resource = _changed_fields(
            resource, uri=changed(resource.uri, change), text=changed(resource.text, change)
        )
    names = ("text", "uri", "name", "description")
    texts = {name: changed(getattr(part, name), change) for name in names}
    return _changed_fields(part, resource=resource, **texts)


def _each(items: list[Any] | None, one: Callable[[Any], Any]) -> list[Any] | None:
    if not items:
        return items
    new = [one(item) for item in items]
    return new if any(map(is_not, new, items)) else items


def _changed_fields(struct: Any, **fields: Any) -> Any:
    if all(value is getattr(struct, name) for name, value in fields.items()):
        return struct
    return msgspec.structs.replace(struct, **fields)


def _cut(new: str | None, old: str | None) -> str | None:
    if new is None or new is old or len(new) <= MOST_CHARS:
        return new
    return f"{new[:MOST_CHARS]} {CUT.format(len(new) - MOST_CHARS)}"
