"""The OpenAI-compatible model against an HTTP server that streams and misbehaves as servers do."""

from __future__ import annotations

import json
import socket
import time
from typing import Any

import pytest
import trio

from sliphook.agent.models.anthropic import AnthropicModel
from sliphook.agent.models.base import Finish, ModelError, Piece, TextDelta, ToolCall
from sliphook.agent.models.echoed_fields import EchoedFields, EchoedFieldStore
from sliphook.agent.models.http_errors import retry_after
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

HELLO = [Message(role="user", content="hello")]
STOP = chunk({}, "stop")


async def ask(
    *answers: Answer,
    messages: list[Message] = HELLO,
    tools: list[ModelTool] | None = None,
    key: str | None = None,
) -> list[Piece]:
    """The pieces of one answer of a server that gives `answers`."""
    with LoopbackServer(*answers) as server:
        return await ask_at(server, messages=messages, tools=tools, key=key)


async def ask_at(
    server: LoopbackServer,
    *,
    messages: list[Message] = HELLO,
    tools: list[ModelTool] | None = None,
    key: str | None = None,
) -> list[Piece]:
    model = OpenAIModel("m-1", base_url=server.base_url, api_key=key)
    pieces: list[Piece] = []
    with trio.fail_after(10):
        try:
            async with model.stream(messages, tools or []) as stream:
                async for piece in stream:
                    pieces.append(piece)
        finally:
            await model.aclose()
    return pieces


async def failure(*answers: Answer) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await ask(*answers)
    return caught.value


def said(pieces: list[Piece]) -> str:
    return "".join(piece.text for piece in pieces if isinstance(piece, TextDelta))


def calls(pieces: list[Piece]) -> list[ToolCall]:
    return [piece for piece in pieces if isinstance(piece, ToolCall)]


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
    assert time.monotonic() - began < 5


async def test_a_cut_after_the_model_has_finished_loses_nothing() -> None:
    assert said(await ask(Answer([chunk({"content": "ok"}), STOP, 0.2, "cut"]))) == "ok"


async def test_done_without_a_finish_reason() -> None:
    assert (await ask(Answer([chunk({"content": "ok"}), DONE])))[-1] == Finish(
        reason=None, usage=Usage(), model="m-1"
    )


async def test_a_slow_drip_is_seen_word_by_word() -> None:
    with LoopbackServer(Answer([chunk({"content": "one"}), "hold"])) as server:
        model = OpenAIModel("m-1", base_url=server.base_url)
        with trio.fail_after(5):
            async with model.stream(HELLO, []) as pieces:
                assert await anext(pieces) == TextDelta("one")
        await model.aclose()


@pytest.mark.parametrize(
    ("sent", "message", "status", "transient"),
    [
        ({"error": {"message": "overloaded", "type": "server_error"}}, "overloaded", None, True),
        ({"error": {"message": "slow down", "code": 429}}, "slow down", 429, True),
        ({"error": {"message": "bad tool", "code": 400}}, "bad tool", 400, False),
        ({"error": "out of memory"}, "out of memory", None, True),
        ({"object": "error", "message": "too long", "code": 400}, "too long", 400, False),
    ],
)
async def test_an_error_in_mid_stream(
    sent: object, message: str, status: int | None, transient: bool
) -> None:
    error = await failure(Answer([chunk({"content": "I thi"}), event(sent), DONE]))
    assert error.kind == "stream"
    assert error.status == status
    assert error.transient == transient
    assert str(error) == f"the model server failed while it answered: {message}"


def _refusal(message: str, **more: object) -> list[bytes | float]:
    return [json.dumps({"error": {"message": message, **more}}).encode()]


@pytest.mark.parametrize(
    ("header", "seconds"),
    [({"Retry-After": "1.5"}, 1.5), ({}, None), ({"Retry-After": "soon"}, None)],
)
async def test_too_many_requests(header: dict[str, str], seconds: float | None) -> None:
    error = await failure(
        Answer(_refusal("slow down"), status=429, headers=header, content_type="application/json")
    )
    assert error.kind == "rate_limited"
    assert error.status == 429
    assert error.transient is True
    assert error.retry_after_s == seconds
    assert str(error) == "the model server is busy (429: slow down)"


async def test_an_account_without_money_is_not_tried_again() -> None:
    error = await failure(
        Answer(
            _refusal("quota", code="insufficient_quota"),
            status=429,
            content_type="application/json",
        )
    )
    assert (error.kind, error.transient) == ("rate_limited", False)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("3", 3.0),
        ("0.25", 0.25),
        ("-5", 0.0),
        ("Thu, 01 Jan 1970 00:16:50 GMT", 10.0),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
        ("inf", None),
        ("nan", None),
        ("", None),
        (None, None),
    ],
)
def test_retry_after_is_seconds_or_a_date(value: str | None, seconds: float | None) -> None:
    assert retry_after(value, now=1000.0) == seconds


@pytest.mark.parametrize(
    ("status", "transient"), [(400, False), (422, False), (408, True), (500, True), (503, True)]
)
async def test_other_statuses(status: int, transient: bool) -> None:
    error = await failure(Answer([b"oops"], status=status, content_type="text/plain"))
    assert error.kind == "http"
    assert error.status == status
    assert error.transient == transient


async def test_a_redirect_names_the_new_place() -> None:
    error = await failure(Answer([b""], status=308, headers={"Location": "https://new.example/v1"}))
    assert error.kind == "http"
    assert "has moved to https://new.example/v1 (308); set --base-url" in str(error)


async def test_no_server_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    model = OpenAIModel("m-1", base_url=f"http://127.0.0.1:{port}/v1")
    with pytest.raises(ModelError) as caught, trio.fail_after(5):
        async with model.stream(HELLO, []):
            pytest.fail("there is no answer")
    await model.aclose()
    assert (caught.value.kind, caught.value.transient) == ("connection", False)
    assert str(caught.value).startswith(
        f"cannot reach the model server at http://127.0.0.1:{port}/v1 ("
    )


async def test_a_server_that_goes_away_may_come_back() -> None:
    with LoopbackServer(Answer([text("ok")])) as server:
        model = OpenAIModel("m-1", base_url=server.base_url)
        async with model.stream(HELLO, []) as pieces:
            assert said([piece async for piece in pieces]) == "ok"
    with pytest.raises(ModelError) as caught, trio.fail_after(5):
        async with model.stream(HELLO, []):
            pytest.fail("there is no answer")
    await model.aclose()
    assert (caught.value.kind, caught.value.transient) == ("connection", True)


async def test_a_cut_before_the_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, trio.fail_after(5):
        model = OpenAIModel("m-1", base_url=f"http://127.0.0.1:{listener.getsockname()[1]}/v1")

        def accept_and_close() -> None:
            connection, _ = listener.accept()
            connection.recv(65536)
            connection.close()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.to_thread.run_sync, accept_and_close)
            with pytest.raises(ModelError) as caught:
                async with model.stream(HELLO, []):
                    pytest.fail("there is no answer")
        await model.aclose()
    assert (caught.value.kind, caught.value.transient) == ("connection", True)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1:8080/v1",
        "localhost:8080",
        "ftp://127.0.0.1/v1",
        "http://",
        "",
        "http://[::1/v1",
        "http://a\x01b/",
    ],
)
async def test_an_address_that_is_none(address: str) -> None:
    model = OpenAIModel("m-1", base_url=address)
    with pytest.raises(ModelError) as caught, trio.fail_after(5):
        async with model.stream(HELLO, []):
            pytest.fail("there is no answer")
    await model.aclose()
    assert (caught.value.kind, caught.value.transient) == ("connection", False)
    assert "is no address of a model server" in str(caught.value)
    assert "\x01" not in str(caught.value)


async def test_cancelling_while_the_server_is_silent() -> None:
    with LoopbackServer(Answer(["hold"])) as server:
        model = OpenAIModel("m-1", base_url=server.base_url)
        with trio.fail_after(5):
            with trio.move_on_after(0.2) as scope:
                async with model.stream(HELLO, []) as pieces:
                    await anext(pieces)
            assert scope.cancelled_caught
            assert await trio.to_thread.run_sync(server.client_left.wait, 5)
        await model.aclose()


async def test_the_models_on_offer() -> None:
    body = json.dumps(
        {"object": "list", "data": [{"id": "a", "object": "model"}, {"id": "b"}]}
    ).encode()
    with LoopbackServer(
        Answer([body], content_type="application/json"), Answer([b"no"], status=404)
    ) as server:
        model = OpenAIModel("", base_url=server.base_url)
        with trio.fail_after(5):
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


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        (
            event({"choices": [{"delta": {"content": ""}, "finish_reason": "error"}]}),
            "the model server failed while it answered",
        ),
        (
            b"event: error\ndata: out of slots\n\n",
            "the model server failed while it answered: out of slots",
        ),
        (
            b'event: error\ndata: {"choices": []}\n\n',
            'the model server failed while it answered: {"choices": []}',
        ),
        (
            event({"message": "no slots", "type": "x"}),
            "the model server failed while it answered: no slots",
        ),
    ],
)
async def test_other_ways_to_say_that_it_failed(sent: bytes, message: str) -> None:
    error = await failure(Answer([chunk({"content": "I thi"}), sent, DONE]))
    assert (error.kind, error.transient) == ("stream", True)
    assert str(error) == message


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            b'{"detail": [{"loc": ["body"], "msg": "too long"}]}',
            '422: [{"loc":["body"],"msg":"too long"}]',
        ),
        (
            b'{"object": "error", "message": {"detail": "too long"}, "code": "3051"}',
            '422: {"detail":"too long"}',
        ),
        (b'{"message": "too long", "request_id": "1"}', "422: too long"),
        (b'[{"error": {"code": 400, "message": "too long"}}]', "422: too long"),
        (b"too\nlong\n", "422: too\\nlong"),
        (b"<html>", "422"),
        (b"{", "422"),
        (b"\xff\x1b", "422: \N{REPLACEMENT CHARACTER}\\x1b"),
        (b"", "422"),
    ],
)
async def test_the_shapes_of_a_refusal(body: bytes, said: str) -> None:
    error = await failure(Answer([body], status=422, content_type="application/json"))
    assert f" did not take the request ({said}); check --model" in str(error)


async def test_an_older_server_is_asked_again_without_usage() -> None:
    refusal = Answer(
        _refusal("Unrecognized request argument supplied: stream_options"),
        status=400,
        content_type="application/json",
    )
    with LoopbackServer(refusal, Answer([text("one")]), Answer([text("two")])) as server:
        model = OpenAIModel("m-1", base_url=server.base_url)
        with trio.fail_after(10):
            for word in ("one", "two"):
                async with model.stream(HELLO, []) as pieces:
                    assert said([piece async for piece in pieces]) == word
        await model.aclose()
    assert ["stream_options" in request.body for request in server.requests] == [True, False, False]


async def test_a_server_may_refuse_one_field_and_miss_another() -> None:
    refusals = [
        Answer(_refusal(said), status=400, content_type="application/json")
        for said in (
            "Unrecognized request argument supplied: stream_options",
            "reasoning_content must be passed back",
        )
    ]
    with LoopbackServer(*refusals, Answer([text("one")])) as server:
        model = OpenAIModel("m-1", base_url=server.base_url)
        with trio.fail_after(10):
            async with model.stream(HELLO, []) as pieces:
                assert said([piece async for piece in pieces]) == "one"
        await model.aclose()
    assert len(server.requests) == 3


async def test_a_server_that_refuses_all_the_same_is_told_after_as_many_fields_as_there_are() -> (
    None
):
    refusals = [
        Answer(_refusal("max_tokens: 9 > 8"), status=400, content_type="application/json")
        for _ in range(9)
    ]
    with LoopbackServer(*refusals) as server:
        model = AnthropicModel("m-1", base_url=server.base_url)
        with trio.fail_after(10), pytest.raises(ModelError, match="max_tokens"):
            async with model.stream(HELLO, []):
                pass
        await model.aclose()
    assert len(server.requests) == 3


async def test_an_address_with_a_query_and_a_login() -> None:
    with LoopbackServer(Answer([text("ok")]), Answer(_refusal("no"), status=401)) as server:
        address = (
            server.base_url.replace("http://", "http://ada:secret@")
            + "/chat/completions?api-version=2024-10-21"
        )
        model = OpenAIModel("m-1", base_url=address)
        with trio.fail_after(10):
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


CALL = Message(
    role="assistant",
    content=None,
    tool_calls=[ToolCallRequest(call_id="call_a", name="one", arguments={})],
)
RESULT = Message(role="tool", content="1", call_id="call_a")


async def conversation_of(*answers: Answer) -> list[dict[str, Any]]:
    """The messages of the last request of two: a question, and the result of the call that came."""
    with LoopbackServer(*answers) as server:
        model = OpenAIModel("m-1", base_url=server.base_url)
        with trio.fail_after(10):
            for messages in (HELLO, [*HELLO, CALL, RESULT]):
                async with model.stream(messages, []) as pieces:
                    assert [piece async for piece in pieces]
        await model.aclose()
    sent: list[dict[str, Any]] = server.requests[-1].body["messages"]
    return sent


async def test_reasoning_and_signatures_go_back_with_their_calls() -> None:
    signature = {"google": {"thought_signature": "abc"}}
    detail = {"type": "reasoning.encrypted", "data": "x"}
    part = {
        "index": 0,
        "id": "call_a",
        "function": {"name": "one", "arguments": "{}"},
        "extra_content": signature,
    }
    steps = [
        chunk({"reasoning_content": "I th"}),
        chunk({"reasoning_content": "ink", "reasoning_details": [detail]}),
        chunk({"tool_calls": [part]}, "tool_calls"),
        DONE,
    ]
    [question, call, result] = await conversation_of(Answer(steps), Answer([text("ok")]))
    assert (question["content"], result["content"]) == ("hello", "1")
    assert call == {
        "role": "assistant",
        "content": None,
        "reasoning_content": "I think",
        "reasoning_details": [detail],
        "tool_calls": [
            {
                "id": "call_a",
                "type": "function",
                "function": {"name": "one", "arguments": "{}"},
                "extra_content": signature,
            }
        ],
    }


@pytest.mark.parametrize(
    ("refusal", "message", "call"),
    [
        (
            "The reasoning_content in the thinking mode must be passed back to the API.",
            {"reasoning_content": ""},
            {},
        ),
        (
            "Function call is missing a thought_signature in functionCall parts.",
            {},
            {
                "extra_content": {
                    "google": {"thought_signature": "skip_thought_signature_validator"}
                }
            },
        ),
    ],
)
async def test_what_was_never_kept_is_filled_in_where_a_server_wants_it(
    refusal: str, message: dict[str, Any], call: dict[str, Any]
) -> None:
    refused = Answer(_refusal(refusal), status=400, content_type="application/json")
    [_, sent, _] = await conversation_of(Answer([text("no call")]), refused, Answer([text("ok")]))
    wire = {
        "id": "call_a",
        "type": "function",
        "function": {"name": "one", "arguments": "{}"},
        **call,
    }
    assert sent == {"role": "assistant", "content": None, **message, "tool_calls": [wire]}


async def test_a_server_that_goes_on_refusing_is_not_asked_for_ever() -> None:
    refused = Answer(
        _refusal("reasoning_content must be passed back"),
        status=400,
        content_type="application/json",
    )
    with LoopbackServer(refused, refused) as server:
        with pytest.raises(ModelError, match="reasoning_content must be passed back"):
            await ask_at(server, messages=[*HELLO, CALL, RESULT])
        assert len(server.requests) == 2


def test_what_is_kept_is_bounded() -> None:
    kept = EchoedFieldStore()
    kept.keep(["call_a"], EchoedFields(fields={"reasoning_content": "first"}))
    kept.keep(
        [f"call_{number}" for number in range(500)],
        EchoedFields(fields={"reasoning_content": "later"}),
    )
    assert kept.of(CALL) == EchoedFields()
