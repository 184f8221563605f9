"""The OpenAI-compatible model against an HTTP server that streams and misbehaves as servers do."""

from __future__ import annotations

import json
import time

import pytest
import trio

from sliphook.agent.models.base import Finish, ModelError, TextDelta, ToolCall
from sliphook.agent.models.openai import OpenAIModel, key_headers
from sliphook_sdk.protocol import Message, ModelTool, ToolCallRequest, Usage
from tests.agent.loopback import (
    DONE,
    Answer,
    LoopbackServer,
    call_part,
    chunk,
    cut_in,
    event,
    one_call,
    text,
)

from .asking import HELLO, STOP, ask, ask_at, calls, refusal_of, said


async def test_the_request_is_a_chat_completion() -> None:
    conversation = [
        Message(role="system", content="be brief"),
        Message(role="user", content="weather?"),
        Message(
            role="assistant",
            content=None,
            tool_calls=[
                ToolCallRequest(call_id="call_1", name="weather", arguments={"city": "Åre"})
            ],
        ),
        Message(role="tool", content="cold", call_id="call_1"),
        Message(role="assistant", content=None),
    ]
    tool = ModelTool(name="weather", description="The weather.", input_schema={"type": "object"})
    with LoopbackServer(Answer([text("ok")])) as server:
        await ask_at(server, messages=conversation, tools=[tool], key=" sk-1\n")
    [request] = server.requests
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == "Bearer sk-1"
    assert request.body == {
        "model": "m-1",
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": "weather?"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "call_1",
                        "type": "function",
                        "function": {"name": "weather", "arguments": '{"city":"Åre"}'},
                    }
                ],
            },
            {"role": "tool", "content": "cold", "tool_call_id": "call_1"},
            {"role": "assistant", "content": ""},
        ],
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "weather",
                    "description": "The weather.",
                    "parameters": {"type": "object"},
                },
            }
        ],
    }


async def test_without_a_key_and_without_tools_neither_is_sent() -> None:
    with LoopbackServer(Answer([text("ok")])) as server:
        await ask_at(server)
    assert "authorization" not in server.requests[0].headers
    assert "tools" not in server.requests[0].body


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64])
async def test_writes_may_be_split_anywhere(size: int) -> None:
    stream = text("smörgås ", "🥪 ", "\u2028ok") + b""
    assert said(await ask(Answer(cut_in(stream, size)))) == "smörgås 🥪 \u2028ok"


async def test_a_stream_is_utf_8_whatever_its_header_says() -> None:
    assert (
        said(
            await ask(
                Answer([text("smörgås")], content_type="text/event-stream; charset=iso-8859-1")
            )
        )
        == "smörgås"
    )


async def test_no_proxy_stands_before_this_machines_own_servers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    assert said(await ask(Answer([text("ok")]))) == "ok"


async def test_reasoning_is_not_text() -> None:
    steps = [
        chunk({"reasoning_content": "hm", "content": None}),
        chunk({"reasoning": "hm", "content": ""}),
        chunk({"content": "42"}),
        STOP,
        DONE,
    ]
    assert said(await ask(Answer(steps))) == "42"


async def test_content_may_be_a_list_of_parts() -> None:
    assert (
        said(
            await ask(
                Answer(
                    [
                        chunk({"content": [{"type": "text", "text": "a"}, {"type": "image"}]}),
                        STOP,
                        DONE,
                    ]
                )
            )
        )
        == "a"
    )


async def test_tool_calls_without_index() -> None:
    steps = [
        call_part(None, '{"a":', call_id="call_a", name="one"),
        call_part(None, "1}"),
        call_part(None, "{}", call_id="call_b", name="two"),
        chunk({}, "tool_calls"),
    ]
    assert calls(await ask(Answer(steps))) == [
        ToolCall(call_id="call_a", name="one", arguments={"a": 1}),
        ToolCall(call_id="call_b", name="two", arguments={}),
    ]


async def test_every_tool_call_has_index_0() -> None:
    steps = [
        call_part(0, "{}", call_id="call_a", name="one"),
        call_part(0, "{}", call_id="call_b", name="two"),
        chunk({}, "tool_calls"),
        DONE,
    ]
    assert [(call.call_id, call.name) for call in calls(await ask(Answer(steps)))] == [
        ("call_a", "one"),
        ("call_b", "two"),
    ]


async def test_name_and_id_repeated_in_every_piece_are_one_call() -> None:
    steps = [
        call_part(0, '{"a"', call_id="call_a", name="one"),
        call_part(0, ":1}", call_id="call_a", name="one"),
        chunk({}, "tool_calls"),
        DONE,
    ]
    assert calls(await ask(Answer(steps))) == [
        ToolCall(call_id="call_a", name="one", arguments={"a": 1})
    ]


async def test_arguments_that_are_an_object_already() -> None:
    part = {"index": 0, "id": "c", "function": {"name": "weather", "arguments": {"city": "Oslo"}}}
    assert calls(await ask(Answer([chunk({"tool_calls": [part]}, "tool_calls"), DONE])))[
        0
    ].arguments == {"city": "Oslo"}


@pytest.mark.parametrize("written", ["Oslo", "[" * 100_000])
async def test_arguments_that_are_no_object_are_kept_as_written(written: str) -> None:
    [call] = calls(await ask(Answer([one_call("c", "weather", written)])))
    assert (call.arguments, call.unreadable) == ({}, written)


async def test_done_is_missing_and_the_server_does_not_close() -> None:
    began = time.monotonic()
    assert said(await ask(Answer([chunk({"content": "ok"}), STOP, "hold"]))) == "ok"
    assert time.monotonic() - began < 30  # the server would hold on for a minute


async def test_a_cut_after_the_model_has_finished_loses_nothing() -> None:
    assert said(await ask(Answer([chunk({"content": "ok"}), STOP, 0.2, "cut"]))) == "ok"


async def test_done_without_a_finish_reason() -> None:
    assert (await ask(Answer([chunk({"content": "ok"}), DONE])))[-1] == Finish(
        reason=None, usage=Usage(), model="m-1"
    )


async def test_a_slow_drip_is_seen_word_by_word() -> None:
    with LoopbackServer(Answer([chunk({"content": "one"}), "hold"])) as server:
        model = OpenAIModel("m-1", base_url=server.base_url)
        with trio.fail_after(120):
            async with model.stream(HELLO, []) as pieces:
                assert await anext(pieces) == TextDelta("one")
        await model.aclose()


async def test_the_models_on_offer() -> None:
    body = json.dumps(
        {"object": "list", "data": [{"id": "a", "object": "model"}, {"id": "b"}]}
    ).encode()
    with LoopbackServer(
        Answer([body], content_type="application/json"), Answer([b"no"], status=404)
    ) as server:
        model = OpenAIModel("", base_url=server.base_url)
        with trio.fail_after(120):
            assert await model.offered() == ["a", "b"]
            assert await model.offered() == []
        await model.aclose()
    assert [request.path for request in server.requests] == ["/v1/models", "/v1/models"]


async def test_calls_without_an_id_that_all_have_index_0() -> None:
    steps = [
        call_part(0, '{"a":1}', call_id="", name="one"),
        call_part(0, "{}", call_id="", name="one"),
        call_part(0, '{"b":', name="two"),
        call_part(0, "2}", name="two"),
        chunk({}, "stop"),
        DONE,
    ]
    made = calls(await ask(Answer(steps)))
    assert [(call.name, call.arguments) for call in made] == [
        ("one", {"a": 1}),
        ("one", {}),
        ("two", {"b": 2}),
    ]
    assert len({call.call_id for call in made}) == 3


async def test_every_field_may_be_null_or_of_a_kind_of_its_own() -> None:
    steps = [
        b'data: {"id": "", "choices": [], "prompt_filter_results": [{}], "usage": null, '
        b'"error": null, "model": null}\n\n',
        b'data: {"choices": [{"delta": {"role": "assistant", "content": null, "tool_calls": '
        b'null}, "finish_reason": ""}]}\n\n',
        b'data: {"choices": [{"delta": null, "message": null, "logprobs": {}}], "error": ""}\n\n',
        b'data:{"choices": [{"delta": {"content": "ok", "tool_calls": []}, "index": 0, '
        b'"finish_reason": null}]}\n\n',
        b'data: {"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": '
        b'{"prompt_tokens": 7.0, "completion_tokens": null}}\n\n',
        b'data: {"choices": null, "usage": {"prompt_tokens": 7, "completion_tokens": 1, '
        b'"prompt_cache_hit_tokens": 3}}\n\n',
        DONE,
    ]
    usage = Usage(input_tokens=7, output_tokens=1, cached_tokens=3)
    assert await ask(Answer(steps)) == [
        TextDelta("ok"),
        Finish(reason="stop", usage=usage, model=None),
    ]


async def test_a_whole_message_where_a_delta_should_be() -> None:
    steps = [
        event(
            {
                "choices": [
                    {"message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}
                ]
            }
        ),
        DONE,
    ]
    assert said(await ask(Answer(steps))) == "ok"


async def test_an_address_with_a_query_and_a_login() -> None:
    with LoopbackServer(Answer([text("ok")]), Answer(refusal_of("no"), status=401)) as server:
        address = (
            server.base_url.replace("http://", "http://ada:secret@")
            + "/chat/completions?api-version=2024-10-21"
        )
        model = OpenAIModel("m-1", base_url=address)
        with trio.fail_after(120):
            async with model.stream(HELLO, []) as pieces:
                assert said([piece async for piece in pieces]) == "ok"
            with pytest.raises(ModelError) as caught:
                async with model.stream(HELLO, []):
                    pytest.fail("there is no answer")
        await model.aclose()
    assert server.requests[0].path == "/v1/chat/completions?api-version=2024-10-21"
    assert "secret" not in str(caught.value)
    assert "refused the key" in str(caught.value)


@pytest.mark.parametrize(
    ("address", "sent"),
    [
        ("https://ada.openai.azure.com/openai/v1", "sk-1"),
        ("https://api.openai.com/v1", None),
        ("https://azure.com.example/v1", None),
    ],
)
def test_azure_takes_the_key_in_a_header_of_its_own(address: str, sent: str | None) -> None:
    assert key_headers("sk-1", address) == {"Authorization": "Bearer sk-1"} | (
        {"api-key": sent} if sent else {}
    )
    assert key_headers("", address) == {}
