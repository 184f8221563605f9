"""From the chunks of a chat completion to pieces: text at once, tool calls when they are whole. No input or output here."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import Any, cast

import msgspec

from sliphook.quoting import quote
from sliphook_sdk.protocol import Usage

from .chat_completion import CallPart, Chunk, Function
from .model import MAX_QUOTED_CHARS, Finish, ModelError, Piece, ToolCall


class _OpenCall:
    """One tool call of which pieces have come."""

    def __init__(self) -> None:
        self.call_id = ""
        self.name = ""
        self.written: list[str] = []


class Assembler:
    """Takes the chunks of one streamed answer, or the one object of an answer that was not streamed.

    Attributes:
        finish_reason: the provider's word, once it has come.
    """

    def __init__(self) -> None:
        self.finish_reason: str | None = None
        self._calls: list[_OpenCall] = []
        self._by_index: dict[int, _OpenCall] = {}
        self._usage = Usage()
        self._model: str | None = None

    def feed(self, chunk: Chunk) -> str:
        """Take one chunk and give the text in it, often none.

        Raises:
            ModelError: the chunk is an error; the server's fault.
        """
        failure = chunk.failure
        if failure is not None:
            status = failure.code if isinstance(failure.code, int) else None
            said = quote(failure.message or failure.type or str(failure.code), MAX_QUOTED_CHARS)
            transient = status is None or status in (408, 429) or status >= 500
            raise ModelError("stream", f"the model server failed while it answered: {said}", status=status, transient=transient)
        self._model = chunk.model or self._model
        if chunk.usage is not None:
            self._usage = chunk.usage.usage
        if not chunk.choices:
            return ""
        choice = chunk.choices[0]
        self.finish_reason = choice.finish_reason or self.finish_reason
        delta = choice.delta or choice.message
        if delta is None:
            return ""
        for part in delta.tool_calls or ():
            self._add(part)
        return delta.text

    def end(self) -> Iterator[Piece]:
        """The calls, which are whole now, and the `Finish`."""
        taken: set[str] = set()
        for call in self._calls:
            call_id = call.call_id if call.call_id and call.call_id not in taken else f"call_{secrets.token_hex(6)}"
            taken.add(call_id)
            yield read_call(call_id, call.name, "".join(call.written))
        yield Finish(reason=self.finish_reason, usage=self._usage, model=self._model)

    def _add(self, part: CallPart) -> None:
        function = part.function or Function()
        call = self._call_of(part.index, part.id or "", function.name or "")
        call.call_id = call.call_id or part.id or ""
        call.name = call.name or function.name or ""
        if isinstance(function.arguments, str):
            call.written.append(function.arguments)
        elif function.arguments is not None:
            call.written.append(msgspec.json.encode(function.arguments).decode())

    def _call_of(self, index: int | None, call_id: str, name: str) -> _OpenCall:
        """The call that a part belongs to. The index says so; some servers leave it out, some send 0 for every call."""
        last = self._calls[-1] if self._calls else None
        known = last if index is None else self._by_index.get(index)
        begins_another = known is not None and name != "" and known.name != "" and (call_id != known.call_id if call_id else index is None)
        if known is None or begins_another:
            known = _OpenCall()
            self._calls.append(known)
            if index is not None:
                self._by_index[index] = known
        return known


def read_call(call_id: str, name: str, written: str) -> ToolCall:
    """A tool call from what the model wrote as its arguments; nothing at all is `{}`."""
    if not written.strip():
        return ToolCall(call_id=call_id, name=name, arguments={})
    try:
        arguments: object = msgspec.json.decode(written)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        arguments = None
    if isinstance(arguments, dict):
        return ToolCall(call_id=call_id, name=name, arguments=cast("dict[str, Any]", arguments))
    return ToolCall(call_id=call_id, name=name, arguments={}, unreadable=written)
