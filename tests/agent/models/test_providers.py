"""What the loop relies on with any provider: every case against every provider, over real HTTP."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any, cast

import pytest
import trio

from sliphook.agent.loop import Agent
from sliphook.agent.models.base import Finish, Model, ModelError, Piece, TextDelta, ToolCall
from sliphook_sdk.protocol import Message, ModelTool, ToolCallRequest, ToolResult, Usage
from tests.agent.dialects import DIALECTS, Call, Dialect
from tests.agent.fakes import FakeHost, FakeSession, RecordingDisplay, ToolOutcome
from tests.agent.loopback import Answer, LoopbackServer, Step, cut_in

if TYPE_CHECKING:
    from sliphook.host.host import PluginHost
    from sliphook.session.session import Session

HELLO = [Message(role="user", content="hello")]
KEY = "sk-12345678-secret"
USAGE = Usage(input_tokens=10, output_tokens=2, cached_tokens=4)
OSLO = Call("call_a", "weather", '{"city": "Oslo"}')

pytestmark = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)


async def ask(model: Model, *, name: str | None = None) -> list[Piece]:
    pieces: list[Piece] = []
    with trio.fail_after(120):
        try:
            async with model.stream(HELLO, [], model=name) as stream:
                async for piece in stream:
                    pieces.append(piece)
        finally:
            await model.aclose()
    return pieces


async def pieces_of(dialect: Dialect, *answers: Answer) -> list[Piece]:
    with LoopbackServer(*answers) as server:
        return await ask(dialect.model(server.base_url, KEY))


async def failure_of(dialect: Dialect, *answers: Answer) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await pieces_of(dialect, *answers)
    assert str(caught.value) == caught.value.message
    assert caught.value.message.isprintable()
    return caught.value


async def test_parameters_are_more_fields_and_replace_none_of_the_clients(
    dialect: Dialect,
) -> None:
    answer = dialect.start() + dialect.words("ok") + dialect.finish("stop") + dialect.last()
    own = {"model": "m-2", "messages": [], "stream": False, "tools": [1], "tool_choice": "none"}
    with LoopbackServer(Answer([answer]), Answer([answer])) as server, trio.fail_after(120):
        model = dialect.model(server.base_url, KEY)
        for parameters in (None, {**own, "temperature": 0.5, "stop": ["\n"], "max_tokens": 7}):
            async with model.stream(HELLO, [], parameters=parameters) as pieces:
                assert await anext(pieces) == TextDelta("ok")
        await model.aclose()
        plain, more = (request.body for request in server.requests)
    assert more == {**plain, "temperature": 0.5, "stop": ["\n"], "max_tokens": 7}


async def test_text_comes_as_it_is_said_and_ends_with_finish(dialect: Dialect) -> None:
    answer = (
        dialect.start()
        + dialect.words("Smör", "gås 🥪\u2028")
        + dialect.finish("stop")
        + dialect.last()
    )
    expected = [
        TextDelta("Smör"),
        TextDelta("gås 🥪\u2028"),
        Finish(reason=dialect.reasons["stop"], usage=USAGE, model="m-1"),
    ]
    assert await pieces_of(dialect, Answer(cut_in(answer, 7))) == expected


async def test_tool_calls_come_after_the_text_and_whole(dialect: Dialect) -> None:
    answer = (
        dialect.start()
        + dialect.words("I look.")
        + dialect.calls(OSLO, Call("call_b", "time", ""), cut=2)
    )
    assert await pieces_of(
        dialect, Answer([answer + dialect.finish("calls") + dialect.last()])
    ) == [
        TextDelta("I look."),
        ToolCall(call_id="call_a", name="weather", arguments={"city": "Oslo"}),
        ToolCall(call_id="call_b", name="time", arguments={}),
        Finish(reason=dialect.reasons["calls"], usage=USAGE, model="m-1"),
    ]


@pytest.mark.parametrize("written", ['{"city": ', "[1]", "null", '{"a":1}{"b":2}'])
async def test_arguments_that_are_no_object_are_kept_as_written(
    dialect: Dialect, written: str
) -> None:
    answer = (
        dialect.start()
        + dialect.calls(Call("call_a", "weather", written))
        + dialect.finish("calls")
        + dialect.last()
    )
    [call, _] = await pieces_of(dialect, Answer([answer]))
    assert call == ToolCall(call_id="call_a", name="weather", arguments={}, unreadable=written)


async def test_ids_that_are_missing_or_doubled_are_made_up(dialect: Dialect) -> None:
    calls = [Call("", "one", "{}"), Call("call_a", "two", "{}"), Call("call_a", "three", "{}")]
    pieces = await pieces_of(
        dialect,
        Answer(
            [dialect.start() + dialect.calls(*calls) + dialect.finish("calls") + dialect.last()]
        ),
    )
    made = [piece for piece in pieces if isinstance(piece, ToolCall)]
    assert [call.name for call in made] == ["one", "two", "three"]
    assert made[1].call_id == "call_a"
    assert len({call.call_id for call in made}) == 3
    assert "" not in {call.call_id for call in made}


async def test_an_answer_that_is_not_streamed(dialect: Dialect) -> None:
    assert await pieces_of(
        dialect, Answer([dialect.whole("Cold.", OSLO)], content_type="application/json")
    ) == [
        TextDelta("Cold."),
        ToolCall(call_id="call_a", name="weather", arguments={"city": "Oslo"}),
        Finish(reason=dialect.reasons["calls"], usage=USAGE, model="m-1"),
    ]


async def test_lines_may_end_as_they_like_and_comments_keep_alive(dialect: Dialect) -> None:
    answer = (
        b": PROCESSING\n\n"
        + dialect.start()
        + b"retry: 10\n\n"
        + dialect.words("a", "b")
        + b":\n\n"
        + dialect.finish("stop")
    )
    pieces = await pieces_of(
        dialect, Answer(cut_in((answer + dialect.last()).replace(b"\n", b"\r\n"), 100))
    )
    assert pieces[:2] == [TextDelta("a"), TextDelta("b")]


async def test_an_answer_may_be_compressed(dialect: Dialect) -> None:
    answer = gzip.compress(
        dialect.start() + dialect.words("ok") + dialect.finish("stop") + dialect.last()
    )
    pieces = await pieces_of(
        dialect, Answer(cut_in(answer, 20), headers={"Content-Encoding": "gzip"})
    )
    assert pieces[0] == TextDelta("ok")


@pytest.mark.parametrize("after", [b"", b"data: not looked at any more\n\n"])
async def test_what_comes_after_the_last_word_does_not_matter(
    dialect: Dialect, after: bytes
) -> None:
    answer = (
        dialect.start()
        + dialect.words("ok")
        + dialect.finish("stop")
        + dialect.last()
        + dialect.last()
        + after
    )
    assert (await pieces_of(dialect, Answer([answer])))[0] == TextDelta("ok")


async def test_the_last_word_may_be_missing(dialect: Dialect) -> None:
    assert await pieces_of(
        dialect, Answer([dialect.start() + dialect.words("ok") + dialect.finish("stop")])
    ) == [
        TextDelta("ok"),
        Finish(reason=dialect.reasons["stop"], usage=USAGE, model="m-1"),
    ]


async def test_an_answer_that_ends_without_an_end(dialect: Dialect) -> None:
    error = await failure_of(dialect, Answer([dialect.start() + dialect.words("I thi")]))
    assert (error.kind, error.transient) == ("stream", True)
    assert str(error) == "the model's answer broke off: the server ended it without saying why"


async def test_a_connection_cut_in_mid_answer(dialect: Dialect) -> None:
    error = await failure_of(
        dialect, Answer([dialect.start() + dialect.words("I thi"), 0.05, "cut"])
    )
    assert (error.kind, error.transient) == ("stream", True)


async def test_a_server_that_stalls(dialect: Dialect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sliphook.agent.models.http.STALL_TIMEOUT_S", 0.05)
    alive: list[Step] = [b": still here\n\n", 0.01]
    error = await failure_of(
        dialect, Answer([dialect.start() + dialect.words("I thi"), *alive * 20, "hold"])
    )
    assert (error.kind, error.transient) == ("timeout", True)
    assert str(error) == "the model server keeps the connection alive and says nothing"


@pytest.mark.parametrize("begun", [False, True])
async def test_a_server_that_is_silent(
    dialect: Dialect, monkeypatch: pytest.MonkeyPatch, begun: bool
) -> None:
    monkeypatch.setattr("sliphook.agent.models.http.SILENCE_TIMEOUT_S", 0.1)
    steps: list[Step] = [dialect.start() + dialect.words("I thi")] if begun else []
    error = await failure_of(dialect, Answer([*steps, "hold"]))
    assert (error.kind, error.transient) == ("timeout", True)
    assert str(error).endswith(" has been silent for too long")


@pytest.mark.parametrize(
    ("kind", "message"), [("overloaded_error", "Overloaded"), ("api_error", "oh\x1b[31m no")]
)
async def test_an_error_in_mid_stream(dialect: Dialect, kind: str, message: str) -> None:
    error = await failure_of(
        dialect,
        Answer([dialect.start() + dialect.words("I thi") + dialect.error_event(message, kind)]),
    )
    assert error.kind == "stream"
    assert error.status is None
    assert error.transient is True
    assert str(error) == f"the model server failed while it answered: {message}".replace(
        "\x1b", "\\x1b"
    )


async def test_an_event_that_is_no_json(dialect: Dialect) -> None:
    error = await failure_of(dialect, Answer([dialect.start() + b"data: {oh\x1b no\n\n"]))
    assert (error.kind, error.transient) == ("malformed", False)
    assert str(error).endswith(": {oh\\x1b no")


async def test_an_error_where_an_answer_should_be(dialect: Dialect) -> None:
    error = await failure_of(
        dialect, Answer([dialect.error("no slots", "api_error")], content_type="application/json")
    )
    assert str(error) == "the model server failed while it answered: no slots"


async def test_a_page_where_an_answer_should_be(dialect: Dialect) -> None:
    error = await failure_of(dialect, Answer([b"<html>"], content_type="text/html"))
    assert (error.kind, error.transient) == ("malformed", False)
    assert str(error).endswith("is no answer of a model (text/html); check --base-url")


@pytest.mark.parametrize("status", [401, 403])
async def test_a_refused_key(dialect: Dialect, status: int) -> None:
    error = await failure_of(
        dialect, Answer([dialect.error("invalid\nkey", "authentication_error")], status=status)
    )
    assert error.kind == "refused"
    assert error.status == status
    assert error.transient is False
    assert str(error).endswith(
        f" refused the key ({status}: invalid\\nkey); set {dialect.key_names}"
    )


@pytest.mark.parametrize(
    "said",
    [f"no such key: {KEY}", f"{'x' * 285}{KEY}", json.dumps({"headers": {KEY: 1}})],
    ids=["whole", "cut", "in an object"],
)
async def test_the_key_never_comes_back_in_an_error(dialect: Dialect, said: str) -> None:
    answers = [
        Answer([dialect.error(said, "x")], status=401),
        Answer([dialect.error(said, "x")], status=400),
        Answer([said.encode()], status=500, content_type="text/plain"),
        Answer([b""], status=308, headers={"Location": f"https://new.example/?key={KEY}"}),
        Answer([dialect.error_event(said, "x")]),
        Answer([f"data: {KEY} is no JSON\n\n".encode()]),
    ]
    for answer in answers:
        assert KEY[:12] not in str(await failure_of(dialect, answer))


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [({"Retry-After": "7"}, 7.0), ({"Retry-After-Ms": "250", "Retry-After": "1"}, 0.25)],
)
@pytest.mark.parametrize(("status", "kind"), [(429, "rate_limited"), (503, "http"), (529, "http")])
async def test_a_busy_server_says_when_to_come_back(
    dialect: Dialect, status: int, kind: str, headers: dict[str, str], seconds: float
) -> None:
    error = await failure_of(
        dialect, Answer([dialect.error("busy", "overloaded_error")], status=status, headers=headers)
    )
    assert error.kind == kind
    assert error.status == status
    assert error.transient is True
    assert error.retry_after_s == seconds
    assert f"({status}: busy)" in str(error)


async def test_a_model_that_does_not_exist(dialect: Dialect) -> None:
    error = await failure_of(
        dialect, Answer([dialect.error("model: m-1", "not_found_error")], status=404)
    )
    assert error.kind == "http"
    assert error.status == 404
    assert error.transient is False
    assert str(error).startswith("no model 'm-1' at http://127.0.0.1:")


async def test_a_request_that_is_refused(dialect: Dialect) -> None:
    error = await failure_of(
        dialect, Answer([dialect.error("prompt is too long", "invalid_request_error")], status=400)
    )
    assert error.kind == "http"
    assert error.status == 400
    assert error.transient is False
    assert "(400: prompt is too long)" in str(error)


async def test_the_request_has_its_path_its_key_and_its_model(dialect: Dialect) -> None:
    answer = Answer(
        [dialect.start() + dialect.words("ok") + dialect.finish("stop") + dialect.last()]
    )
    with LoopbackServer(answer, answer) as server:
        await ask(dialect.model(f"{server.base_url}/", f" {KEY}\n"))
        await ask(dialect.model(server.base_url), name="m-2")
    first, second = server.requests
    header, value = dialect.key_header
    assert first.path == dialect.path
    assert first.headers[header] == value
    assert first.body["model"] == "m-1"
    assert first.body["stream"] is True
    assert header not in second.headers
    assert second.body["model"] == "m-2"
    assert "tools" not in second.body


async def test_tools_are_offered_with_their_schema(dialect: Dialect) -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    with LoopbackServer(
        Answer([dialect.start() + dialect.finish("stop") + dialect.last()])
    ) as server:
        model = dialect.model(server.base_url)
        with trio.fail_after(120):
            async with model.stream(
                HELLO, [ModelTool(name="weather", description="The weather.", input_schema=schema)]
            ) as pieces:
                assert [piece async for piece in pieces] == [
                    Finish(reason=dialect.reasons["stop"], usage=USAGE, model="m-1")
                ]
        await model.aclose()
    sent = json.dumps(server.requests[0].body)
    assert json.dumps(schema) in sent
    assert "The weather." in sent


async def test_cancelling_closes_the_connection_at_once(dialect: Dialect) -> None:
    with LoopbackServer(Answer([dialect.start() + dialect.words("one"), "hold"])) as server:
        model = dialect.model(server.base_url)
        with trio.fail_after(120):
            with trio.CancelScope() as scope:
                async with model.stream(HELLO, []) as pieces:
                    assert await anext(pieces) == TextDelta("one")
                    scope.cancel()
                    await anext(pieces)
            assert scope.cancelled_caught
            assert await trio.to_thread.run_sync(server.client_left.wait, 120)
        await model.aclose()


@pytest.mark.parametrize("key", ["sk-\nsk", "schlüssel", "two words"])
def test_a_key_that_is_none(dialect: Dialect, key: str) -> None:
    with pytest.raises(ModelError) as caught:
        dialect.model("http://127.0.0.1:1/v1", key)
    assert (
        str(caught.value)
        == f"the API key holds characters that no key has; set {dialect.key_names} anew"
    )


async def test_the_loop_calls_a_tool_and_goes_on(dialect: Dialect) -> None:
    async def weather(arguments: dict[str, Any]) -> ToolOutcome:
        return ToolOutcome("ok", ToolResult(content=f"cold in {arguments['city']}"))

    called = (
        dialect.start()
        + dialect.words("I look.")
        + dialect.calls(OSLO)
        + dialect.finish("calls")
        + dialect.last()
    )
    done = dialect.start() + dialect.words("Take a coat.") + dialect.finish("stop") + dialect.last()
    session = FakeSession(FakeHost(weather=weather))
    with LoopbackServer(Answer([called]), Answer([done])) as server:
        model = dialect.model(server.base_url)
        agent = Agent(
            cast("PluginHost", session.host),
            cast("Session", session),
            model,
            display=RecordingDisplay(),
        )
        with trio.fail_after(120):
            assert await agent.run("weather?") == "completed"
        await model.aclose()
    call = ToolCallRequest(call_id="call_a", name="weather", arguments={"city": "Oslo"})
    assert agent.conversation.messages == [
        Message(role="user", content="weather?"),
        Message(role="assistant", content="I look.", tool_calls=[call]),
        Message(role="tool", content="cold in Oslo", call_id="call_a"),
        Message(role="assistant", content="Take a coat."),
    ]
    sent = json.dumps(server.requests[1].body["messages"])
    assert (
        sent.index("weather?")
        < sent.index("I look.")
        < sent.index("call_a")
        < sent.index("cold in Oslo")
    )
