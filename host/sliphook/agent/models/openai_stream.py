"""Pure: turns the chunks of a chat completion into pieces.

Text comes at once, tool calls when they are whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from sliphook.quoting import quote
from sliphook_sdk.protocol import Usage

from .base import MAX_QUOTED_CHARS, Finish, ModelError, Piece, ToolCall, read_call, read_calls
from .echoed_fields import EchoedFields
from .openai_wire import CallPart, Chunk, Function, decode_chunk


class _OpenCall:
    """A tool call that is not complete yet."""

    def __init__(self) -> None:
        self.call_id = ""
        self.name = ""
        self.written: list[str] = []
        self.extra_content: Any = None

    def is_whole(self) -> bool:
        """The arguments form an object, so no more parts can come."""
        # nothing written reads as `{}`, but the arguments may still come
        return any(self.written) and read_call("", "", "".join(self.written)).unreadable is None


class CompletionAssembler:
    """One answer of a chat-completions server; see `AnswerAssembler` in `.http`."""

    def __init__(self) -> None:
        self.finish_reason: str | None = None
        self.done = False
        self._calls: list[_OpenCall] = []
        self._by_index: dict[int, _OpenCall] = {}
        self._usage = Usage()
        self._model: str | None = None
        self._reasoning: list[str] = []
        self._details: list[Any] = []
        self._made: list[ToolCall] = []

    @property
    def call_ids(self) -> list[str]:
        """The ids of the calls; empty before `end`."""
        return [call.call_id for call in self._made]

    @property
    def echoed_fields(self) -> EchoedFields:
        """The fields that the server may expect to get back with the calls."""
        fields: dict[str, Any] = {
            "reasoning_content": "".join(self._reasoning),
            "reasoning_details": self._details,
        }
        signed = zip(self._made, self._calls, strict=False)
        extra_content = {
            made.call_id: call.extra_content
            for made, call in signed
            if call.extra_content is not None
        }
        return EchoedFields(
            fields={name: value for name, value in fields.items() if value},
            extra_content=extra_content,
        )

    def event(self, data: str, kind: str) -> str:
        """See `AnswerAssembler.event`."""
        if data.strip() == "[DONE]":
            self.done = True
            return ""
        chunk = decode_chunk(data)
        if chunk is None and kind != "error":
            raise ModelError(
                "malformed",
                f"the model server sent an event that is no chunk of an answer: {quote(data, 80)}",
            )
        # an error in a shape that we do not know: its text is shown as it came
        if kind == "error" and (chunk is None or chunk.failure is None):
            chunk = Chunk(error=data)
        assert chunk is not None
        return self.feed(chunk)

    def whole(self, body: bytes) -> str | None:
        """See `AnswerAssembler.whole`."""
        chunk = decode_chunk(body)
        return (
            None
            if chunk is None or (chunk.choices is None and chunk.failure is None)
            else self.feed(chunk)
        )

    def feed(self, chunk: Chunk) -> str:
        """Take one chunk and return its text, which is often empty.

        Raises:
            ModelError: the chunk is an error. The server's fault.
        """
        failure = chunk.failure
        if failure is not None:
            status = failure.code if isinstance(failure.code, int) else None
            said = quote(failure.message or failure.type or str(failure.code), MAX_QUOTED_CHARS)
            transient = status is None or status in (408, 429) or status >= 500
            raise ModelError(
                "stream",
                f"the model server failed while it answered: {said}",
                status=status,
                transient=transient,
            )
        self._model = chunk.model or self._model
        if chunk.usage is not None:
            self._usage = chunk.usage.usage
        # the chunk with the usage has an empty list
        if not chunk.choices:
            return ""
        choice = chunk.choices[0]
        # a later chunk may have null again
        self.finish_reason = choice.finish_reason or self.finish_reason
        if self.finish_reason == "error":  # as Mistral and OpenRouter end an answer that failed
            raise ModelError("stream", "the model server failed while it answered", transient=True)
        delta = choice.delta or choice.message
        if delta is None:
            return ""
        if isinstance(delta.reasoning_content, str):
            self._reasoning.append(delta.reasoning_content)
        if isinstance(delta.reasoning_details, list):
            self._details += delta.reasoning_details
        for part in delta.tool_calls or ():
            self._add(part)
        return delta.text

    def end(self) -> Iterator[Piece]:
        """See `AnswerAssembler.end`."""
        self._made = list(
            read_calls((call.call_id, call.name, "".join(call.written)) for call in self._calls)
        )
        yield from self._made
        yield Finish(reason=self.finish_reason, usage=self._usage, model=self._model)

    def _add(self, part: CallPart) -> None:
        function = part.function or Function()
        call = self._call_of(part.index, part.id or "", function.name or "")
        call.call_id = call.call_id or part.id or ""
        call.name = call.name or function.name or ""
        call.extra_content = (
            part.extra_content if part.extra_content is not None else call.extra_content
        )
        if isinstance(function.arguments, str):
            call.written.append(function.arguments)
        elif function.arguments is not None:
            call.written.append(msgspec.json.encode(function.arguments).decode())

    def _call_of(self, index: int | None, call_id: str, name: str) -> _OpenCall:
        """The call that a part belongs to.

        The index should tell. Some servers leave it out, some send 0 for every call, and some send
        no id.
        """
        last = self._calls[-1] if self._calls else None
        known = last if index is None else self._by_index.get(index)
        if known is not None and name and known.name:
            begins_another = (
                call_id != known.call_id if call_id else index is None or known.is_whole()
            )
        else:
            begins_another = known is None
        if known is None or begins_another:
            known = _OpenCall()
            self._calls.append(known)
            if index is not None:
                self._by_index[index] = known
        return known
