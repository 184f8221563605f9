"""What goes wrong at an OpenAI-compatible server: statuses, broken streams, refused fields."""

from __future__ import annotations

import socket

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from sliphook.agent.models.anthropic import AnthropicModel
from sliphook.agent.models.base import ModelError
from sliphook.agent.models.http_errors import retry_after
from sliphook.agent.models.openai import OpenAIModel
from tests.agent.loopback import (
    DONE,
    Answer,
    LoopbackServer,
    chunk,
    event,
    text,
)

from .asking import HELLO, failure, refusal_of, said


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


@pytest.mark.parametrize(
    ("header", "seconds"),
    [({"Retry-After": "1.5"}, 1.5), ({}, None), ({"Retry-After": "soon"}, None)],
)
async def test_too_many_requests(header: dict[str, str], seconds: float | None) -> None:
    error = await failure(
        Answer(refusal_of("slow down"), status=429, headers=header, content_type="application/json")
    )
    assert error.kind == "rate_limited"
    assert error.status == 429
    assert error.transient is True
    assert error.retry_after_s == seconds
    assert str(error) == "the model server is busy (429: slow down)"


async def test_an_account_without_money_is_not_tried_again() -> None:
    error = await failure(
        Answer(
            refusal_of("quota", code="insufficient_quota"),
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
    with pytest.raises(ModelError) as caught, trio.fail_after(120):
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
    with pytest.raises(ModelError) as caught, trio.fail_after(120):
        async with model.stream(HELLO, []):
            pytest.fail("there is no answer")
    await model.aclose()
    assert (caught.value.kind, caught.value.transient) == ("connection", True)


async def test_a_cut_before_the_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, trio.fail_after(120):
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
        "http://[127.0.0.1]:8080/v1",
        "http://[:::]:8080/v1",
        "http://a..b/v1",
        "http://xn--0/v1",
        f"http://{'a' * 64}.lan/v1",
    ],
)
async def test_an_address_that_is_none(address: str) -> None:
    model = OpenAIModel("m-1", base_url=address, api_key="sk-1")
    with pytest.raises(ModelError) as caught, trio.fail_after(120):
        async with model.stream(HELLO, []):
            pytest.fail("there is no answer")
    await model.aclose()
    assert (caught.value.kind, caught.value.transient) == ("connection", False)
    assert "is no address of a model server" in str(caught.value)
    assert "\x01" not in str(caught.value)


async def test_cancelling_while_the_server_is_silent() -> None:
    with LoopbackServer(Answer(["hold"])) as server:
        model = OpenAIModel("m-1", base_url=server.base_url)

        async def hear(task_status: trio.TaskStatus[None]) -> None:
            async with model.stream(HELLO, []) as pieces:
                task_status.started()
                await anext(pieces)

        with trio.fail_after(120):
            async with trio.open_nursery() as nursery:
                await nursery.start(hear)
                await wait_all_tasks_blocked()
                nursery.cancel_scope.cancel()
            assert nursery.cancel_scope.cancelled_caught
            assert await trio.to_thread.run_sync(server.client_left.wait, 120)
        await model.aclose()


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
        refusal_of("Unrecognized request argument supplied: stream_options"),
        status=400,
        content_type="application/json",
    )
    with LoopbackServer(refusal, Answer([text("one")]), Answer([text("two")])) as server:
        model = OpenAIModel("m-1", base_url=server.base_url)
        with trio.fail_after(120):
            for word in ("one", "two"):
                async with model.stream(HELLO, []) as pieces:
                    assert said([piece async for piece in pieces]) == word
        await model.aclose()
    assert ["stream_options" in request.body for request in server.requests] == [True, False, False]


async def test_a_server_may_refuse_one_field_and_miss_another() -> None:
    refusals = [
        Answer(refusal_of(said), status=400, content_type="application/json")
        for said in (
            "Unrecognized request argument supplied: stream_options",
            "reasoning_content must be passed back",
        )
    ]
    with LoopbackServer(*refusals, Answer([text("one")])) as server:
        model = OpenAIModel("m-1", base_url=server.base_url)
        with trio.fail_after(120):
            async with model.stream(HELLO, []) as pieces:
                assert said([piece async for piece in pieces]) == "one"
        await model.aclose()
    assert len(server.requests) == 3


async def test_a_server_that_refuses_all_the_same_is_told_after_as_many_fields_as_there_are() -> (
    None
):
    refusals = [
        Answer(refusal_of("max_tokens: 9 > 8"), status=400, content_type="application/json")
        for _ in range(9)
    ]
    with LoopbackServer(*refusals) as server:
        model = AnthropicModel("m-1", base_url=server.base_url)
        with trio.fail_after(120), pytest.raises(ModelError, match="max_tokens"):
            async with model.stream(HELLO, []):
                pass
        await model.aclose()
    assert len(server.requests) == 3
