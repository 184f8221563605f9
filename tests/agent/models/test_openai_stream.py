"""Chunks of a chat completion, in any shape and order: nothing but our own errors comes out."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sliphook.agent.models.base import Finish, ModelError, Piece, ToolCall
from sliphook.agent.models.openai_stream import CompletionAssembler
from sliphook.agent.models.openai_wire import decode_chunk

_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 600)
    | st.floats(allow_nan=False)
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


def _object(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """An object with some of `fields`, or anything at all."""
    return st.fixed_dictionaries({}, optional=fields) | _JSON


_PART = _object(
    index=st.integers(0, 2) | _JSON,
    id=st.sampled_from(["a", "b", ""]) | _JSON,
    function=_object(name=st.just("f") | _JSON, arguments=_JSON),
)
_DELTA = _object(
    content=st.text(max_size=3) | _JSON, tool_calls=st.lists(_PART, max_size=3) | _JSON
)
_CHOICE = _object(delta=_DELTA, message=_DELTA, finish_reason=st.just("stop") | _JSON)
_CHUNK = _object(
    choices=st.lists(_CHOICE, max_size=2) | _JSON,
    usage=_JSON,
    error=_object(message=_JSON, code=_JSON),
    object=_JSON,
    detail=_JSON,
)


@given(st.lists(_CHUNK, max_size=6))
def test_whatever_a_server_sends_is_a_piece_or_an_error_of_ours(sent: list[Any]) -> None:
    assembler = CompletionAssembler()
    pieces: list[Piece] = []
    for value in sent:
        chunk, _ = decode_chunk(json.dumps(value))
        if chunk is not None and chunk.failure is not None:
            with pytest.raises(ModelError) as caught:
                assembler.feed(chunk)
            assert str(caught.value).isprintable()
        elif chunk is not None:
            assembler.feed(chunk)
    pieces += assembler.end()
    assert isinstance(pieces[-1], Finish)
    calls = [piece for piece in pieces if isinstance(piece, ToolCall)]
    assert len(calls) == len(pieces) - 1
    assert len({call.call_id for call in calls}) == len(calls)


@given(st.text(max_size=40))
def test_text_that_is_no_chunk_is_none(data: str) -> None:
    chunk, _ = decode_chunk(data)
    assert chunk is None or (data[0] == "{" and chunk.choices is None)


def test_a_later_chunk_without_a_reason_to_finish_erases_none() -> None:
    assembler = CompletionAssembler()
    assert assembler.event('{"choices":[{"delta":{"content":"a"},"finish_reason":"length"}]}', "")
    for later in ('{"choices":[{"delta":{}}]}', '{"choices":[{"delta":{},"finish_reason":null}]}'):
        assembler.event(later, "")
    assert assembler.finish_reason == "length"
    assert list(assembler.end()) == [Finish(reason="length")]


@given(
    st.data(),
    st.dictionaries(st.text(max_size=8), st.text(max_size=8) | st.integers(-9, 9), max_size=3),
)
def test_arguments_may_be_split_anywhere(data: st.DataObject, arguments: dict[str, Any]) -> None:
    written = json.dumps(arguments, ensure_ascii=False)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(written)), max_size=5)))
    bounds = [0, *cuts, len(written)]
    assembler = CompletionAssembler()
    for start, end in itertools.pairwise(bounds):
        head = {"index": 0} if start else {"index": 0, "id": "a"}
        function = (
            {"arguments": written[start:end]}
            if start
            else {"name": "f", "arguments": written[start:end]}
        )
        chunk, _ = decode_chunk(
            json.dumps({"choices": [{"delta": {"tool_calls": [{**head, "function": function}]}}]})
        )
        assert chunk is not None
        assert assembler.feed(chunk) == ""
    assert list(assembler.end()) == [ToolCall(call_id="a", name="f", arguments=arguments), Finish()]
