"""Pure: turns the chunks of a chat completion into pieces.

Text comes at once, tool calls when they are whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from sliphook.quoting import quote
from sliphook.wire.decoding import DECODE_ERRORS
from sliphook_sdk.protocol import Usage

from .base import (
    MAX_QUOTED_CHARS,
    Finish,
    ModelError,
    Piece,
    TextDelta,
    ToolCall,
    cut_name,
    read_calls,
)
from .bounded.limits import MAX_ANSWER_CHARS, MAX_TOOL_CALLS, TooMuch
from .bounded.written import Budget, Halves, Written, arguments, settled
from .echoed_fields import EchoedFields
from .openai_wire import CallPart, Chunk, Function, counted, decode_chunk, is_there, text_of

_MAX_TRIED_CHARS: Final = 16 * 1024 * 1024
"""What `is_whole` reads for one answer, in all: else the work would be square in its length."""


class _Object(msgspec.Struct):
    """Any JSON object: its fields are skipped, which is quick."""


_OBJECT: Final = msgspec.json.Decoder(_Object)


class _OpenCall:
    """A tool call that is not complete yet."""

    def __init__(self, budget: Budget) -> None:
        self.call_id = ""
        self.name = ""
        self.written = arguments(budget)
        self.extra_content: msgspec.Raw | None = None


class CompletionAssembler:
    """One answer of a chat-completions server; see `AnswerAssembler` in `.http`."""

    def __init__(self) -> None:
        self.finish_reason: str | None = None
        self.done = False
        self._budget = Budget()
        self._text = Halves()
        self._calls: list[_OpenCall] = []
        self._by_index: dict[int, _OpenCall] = {}
        self._usage = Usage()
        self._model: str | None = None
        self._reasoning = Written(self._budget)
        self._details = Written(self._budget)
        self._made: list[ToolCall] = []
        self._may_try_chars = _MAX_TRIED_CHARS

    @property
    def call_ids(self) -> list[str]:
        """The ids of the calls; empty before `end`."""
        return [call.call_id for call in self._made]

    @property
    def echoed_fields(self) -> EchoedFields:
        """The fields that the server may expect to get back with the calls."""
        fields: dict[str, Any] = {}
        if self._reasoning.length:
            fields["reasoning_content"] = str(self._reasoning)
        if self._details.length:
            fields["reasoning_details"] = msgspec.Raw(f"[{self._details}]".encode())
        signed = zip(self._made, self._calls, strict=False)
        extra_content = {
            made.call_id: call.extra_content
            for made, call in signed
            if call.extra_content is not None
        }
        return EchoedFields(
            fields=fields,
            extra_content=extra_content,
            chars=MAX_ANSWER_CHARS - self._budget.left,
        )

    def event(self, data: str, kind: str) -> str:
        """See `AnswerAssembler.event`."""
        if data.strip() == "[DONE]":
            self.done = True
            return ""
        chunk, marked = decode_chunk(data)
        if chunk is None and kind != "error":
            raise ModelError(
                "malformed",
                f"the model server sent an event that is no chunk of an answer: {quote(data, 80)}",
            )
        # an error in a shape that we do not know: its text is shown as it came
        if kind == "error" and (chunk is None or chunk.failure is None):
            chunk = Chunk(error=data)
        assert chunk is not None
        return self.feed(chunk, marked)

    def whole(self, body: str) -> str | None:
        """See `AnswerAssembler.whole`."""
        chunk, marked = decode_chunk(body)
        return (
            None
            if chunk is None or (chunk.choices is None and chunk.failure is None)
            else self.feed(chunk, marked)
        )

    def feed(self, chunk: Chunk, marked: bool = False) -> str:
        """Take one chunk and return its text, which is often empty.

        Args:
            chunk: the chunk.
            marked: it has halves of characters (see `written.decode`).

        Raises:
            ModelError: the chunk is an error. The server's fault.
            TooMuch: the answer is larger than is taken. The server's fault.
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
        self._model = cut_name(chunk.model) if chunk.model else self._model
        if chunk.usage is not None:
            self._usage = chunk.usage.usage
        # the chunk with the usage has an empty list
        if not chunk.choices:
            return ""
        choice = chunk.choices[0]
        # a later chunk may have null again
        if choice.finish_reason:
            self.finish_reason = cut_name(choice.finish_reason)
        if self.finish_reason == "error":  # as Mistral and OpenRouter end an answer that failed
            raise ModelError("stream", "the model server failed while it answered", transient=True)
        delta = choice.delta or choice.message
        if delta is None:
            return ""
        if bytes(delta.reasoning_content)[:1] == b'"':
            self._reasoning.add(text_of(delta.reasoning_content), marked)
        if is_there(delta.reasoning_details):
            self._add_details(bytes(delta.reasoning_details), marked)
        for part in counted(delta.tool_calls or []):
            self._add(part, marked)
        self._budget.take(len(delta.text))
        return self._text.add(delta.text, marked)

    def end(self) -> Iterator[Piece]:
        """See `AnswerAssembler.end`."""
        if rest := self._text.end():
            yield TextDelta(rest)
        for made in read_calls(
            (call.call_id, call.name, str(call.written)) for call in self._calls
        ):
            self._made.append(made)
            yield made
        yield Finish(reason=self.finish_reason, usage=self._usage, model=self._model)

    def _add(self, part: CallPart, marked: bool) -> None:
        function = part.function or Function()
        call = self._call_of(part.index, part.id or "", function.name or "")
        call.call_id = call.call_id or settled(part.id or "", marked)
        call.name = call.name or settled(function.name or "", marked)
        if is_there(part.extra_content):
            self._budget.take(len(bytes(part.extra_content)))
            # a copy: `Raw` holds the whole event
            extra_content = settled(bytes(part.extra_content).decode(), marked)
            call.extra_content = msgspec.Raw(extra_content.encode())
        call.written.add(function.written, marked)

    def _add_details(self, details: bytes, marked: bool) -> None:
        """Keep the items of a list; other values mean nothing."""
        items = details.decode().strip()
        if items[:1] == "[" and (items := items[1:-1].strip()):
            self._details.add(f",{items}" if self._details.length else items, marked)

    def _is_whole(self, call: _OpenCall) -> bool:
        """The arguments form an object, so no more parts can come."""
        # nothing written reads as `{}`, but the arguments may still come
        if not call.written.ends_object or call.written.length > self._may_try_chars:
            return False
        self._may_try_chars -= call.written.length
        try:
            _OBJECT.decode(call.written.so_far())
        except DECODE_ERRORS:
            return False
        return True

    def _call_of(self, index: int | None, call_id: str, name: str) -> _OpenCall:
        """The call that a part belongs to.

        The index should tell. Some servers leave it out, some send 0 for every call, and some send
        no id.
        """
        last = self._calls[-1] if self._calls else None
        known = last if index is None else self._by_index.get(index)
        if known is not None and name and known.name:
            begins_another = (
                call_id != known.call_id if call_id else index is None or self._is_whole(known)
            )
        else:
            begins_another = known is None
        if known is None or begins_another:
            if len(self._calls) == MAX_TOOL_CALLS:
                raise TooMuch(f"more than {MAX_TOOL_CALLS} tool calls in one answer")
            known = _OpenCall(self._budget)
            self._calls.append(known)
            if index is not None:
                self._by_index[index] = known
        return known
