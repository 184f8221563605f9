"""No model server holds the agent or fills its memory: every answer ends, within the limits."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator

import msgspec
import pytest
import trio

from sliphook.agent.models import http, openai_stream
from sliphook.agent.models.anthropic import AnthropicModel
from sliphook.agent.models.base import (
    Finish,
    ModelError,
    Piece,
    ToolCall,
    read_call,
    why_unreadable,
)
from sliphook.agent.models.bounded import body, network
from sliphook.agent.models.bounded.limits import MAX_HEAD_LINES, READ_BYTES
from sliphook.agent.models.openai import OpenAIModel
from sliphook_sdk.protocol import Message, ToolCallRequest
from tests.heartbeat import LIMIT_MS, heartbeat

from .asking import HELLO
from .hostile import END, ENDLESS, ERROR, HUGE, JSON, STREAM, USABLE, RawServer, call, chunk, once
from .hostile_anthropic import UNREAD

SMALL_CHARS = 8 * 1024
"""In place of a limit of megabytes: what lies below it is taken in the smallest parts."""

MAX_SENT_BYTES = 8 * 1024 * 1024
"""What a server gets rid of before it is left: the limits here, and the kernel's buffers."""


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sliphook.agent.models.bounded.written.MAX_ANSWER_CHARS", SMALL_CHARS)
    monkeypatch.setattr(
        "sliphook.agent.models.bounded.written.MAX_ARGUMENTS_CHARS", SMALL_CHARS // 2
    )
    for module in (body, http):
        monkeypatch.setattr(module, "MAX_EVENT_BYTES", SMALL_CHARS)


async def taken(play: RawServer) -> list[Piece]:
    model = OpenAIModel("m-1", base_url=play.base_url)
    pieces: list[Piece] = []
    with trio.fail_after(120):
        try:
            async with model.stream(HELLO, []) as stream:
                async for piece in stream:
                    pieces.append(piece)
        finally:
            await model.aclose()
    return pieces


async def given_up(answer: Callable[[], Iterator[bytes]]) -> tuple[ModelError, RawServer]:
    with RawServer(answer) as play, pytest.raises(ModelError) as caught:
        await taken(play)
    assert caught.value.message.isprintable()
    assert len(caught.value.message) < 700
    return caught.value, play


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("name", ENDLESS)
async def test_an_answer_without_an_end_is_given_up(name: str) -> None:
    error, play = await given_up(ENDLESS[name])
    assert play.sent < MAX_SENT_BYTES
    assert play.base_url in error.message
    assert not error.transient
    # whose fault it is, and what to do
    assert "--base-url" in error.message


@pytest.mark.parametrize("name", HUGE)
async def test_an_answer_that_no_agent_can_use_is_given_up(name: str) -> None:
    _, play = await given_up(HUGE[name])
    assert play.sent < MAX_SENT_BYTES


@pytest.mark.parametrize("name", USABLE)
async def test_what_is_odd_and_within_the_limits_is_taken(name: str) -> None:
    with RawServer(USABLE[name]) as play:
        pieces = await taken(play)
    assert isinstance(pieces[-1], Finish)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ('{"a":[' + ",".join(["1"] * 30_000) + "]}", "it has more than 20,000 values"),
        ('{"a":' + "9" * 257 + "}" + " " * 1024, "it has a number of more than 256 characters"),
        ('{"a":' + "[" * 200 + "]" * 200 + "}", "it is nested over 128 levels deep"),
    ],
)
def test_arguments_that_are_slow_to_read_are_not_read(arguments: str, said: str) -> None:
    taken = read_call("c-1", "f", arguments)
    assert (taken.arguments, taken.unreadable) == ({}, arguments)
    assert why_unreadable(arguments) == f"are too much: {said}; call it several times with less"


def test_arguments_in_strings_are_no_values() -> None:
    arguments = '{"a":"' + "[{:," * 30_000 + '"}'
    assert read_call("c-1", "f", arguments).arguments == {"a": "[{:," * 30_000}


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("an event without an end", "more than 8 KiB in one event"),
        ("reasoning without an end", "more than 8,192 characters"),
        ("arguments without an end", "more than 4,096 characters in the arguments of one call"),
        ("a body without an end", "more than 8 KiB and is not streamed"),
        ("headers without an end", "more than 256 headers"),
        ("a header without an end", "more than 16 KiB of headers"),
    ],
)
@pytest.mark.usefixtures("small")
async def test_the_error_names_the_limit(answer: str, said: str) -> None:
    error, play = await given_up(ENDLESS[answer])
    assert error.message == (
        f"the answer of the model server at {play.base_url} was given up, as it has {said};"
        " check --base-url, or use another server"
    )


async def test_more_calls_than_an_answer_may_have() -> None:
    error, _ = await given_up(HUGE["100,000 calls"])
    assert "more than 128 tool calls" in error.message


@pytest.mark.parametrize("name", ["one event of 15 MB", "a bomb of gzip", "a body of objects"])
async def test_memory_is_bounded(name: str) -> None:
    tracemalloc.start()
    try:
        await given_up(HUGE[name])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # the server's own bytes are counted as well: 15 MB of them in a list of pieces
    assert peak < 48 * 1024 * 1024


@pytest.mark.usefixtures("small")
async def test_other_tasks_run_between_the_smallest_parts() -> None:
    passes = 0

    async def watch() -> None:
        nonlocal passes
        while True:
            await trio.lowlevel.checkpoint()
            passes += 1

    async with trio.open_nursery() as nursery:
        nursery.start_soon(watch)
        await given_up(ENDLESS["parts of one byte"])
        nursery.cancel_scope.cancel()
    assert passes >= SMALL_CHARS


async def test_the_smallest_parts_of_arguments_are_not_read_again_and_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read = 0

    class Counting:
        def decode(self, written: str) -> object:
            nonlocal read
            read += len(written)
            return msgspec.json.decode(written)

    monkeypatch.setattr(openai_stream, "_OBJECT", Counting())
    monkeypatch.setattr(openai_stream, "_MAX_TRIED_CHARS", 100_000)
    parts = [call(0, "y" * 99 + "}") for _ in range(1_000)]
    with RawServer(once(STREAM + b"\r\n", call(0, '{"a":"'), *parts, END)) as play:
        pieces = await taken(play)
    assert [type(piece) for piece in pieces] == [ToolCall, Finish]
    # the square of what was written would be fifty million
    assert 0 < read <= 100_000


async def test_the_network_reads_little_at_once() -> None:
    asked: list[int] = []
    inner = network._Stream.read  # pyright: ignore[reportPrivateUsage]

    async def counted(stream: network._Stream, max_bytes: int, **more: float | None) -> bytes:  # pyright: ignore[reportPrivateUsage]
        data = await inner(stream, max_bytes, **more)
        asked.append(len(data))
        return data

    with pytest.MonkeyPatch.context() as patch, RawServer(USABLE["deep arguments"]) as play:
        patch.setattr(network._Stream, "read", counted)  # pyright: ignore[reportPrivateUsage]
        await taken(play)
    # that it is called at all shows that httpx still has the places where it is put in
    assert max(asked) <= READ_BYTES
    assert len(asked) > 50


async def test_many_headers_and_many_lines_of_a_body_are_not_the_same() -> None:
    lines = b"\n" * (4 * MAX_HEAD_LINES)
    with RawServer(once(STREAM + b"\r\n" + lines, lines, chunk({"content": "ok"}), END)) as play:
        assert len(await taken(play)) == 2


async def test_a_refusal_is_told_although_its_body_never_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http, "ERROR_BODY_S", 0.05)

    def drip() -> Iterator[bytes]:
        yield b"HTTP/1.1 401 No\r\nContent-Length: 100\r\n\r\nno"

    error, _ = await given_up(drip)
    assert error.kind == "refused"


@pytest.mark.parametrize(
    ("answer", "names"),
    [
        (b'{"data":[{"id":"m-1"},{"id":"' + b"n" * 3_000_000 + b'"}]}', ["m-1"]),
        (b'{"data":[{"id":"\\u001b[31mred\\nforged"},{"id":"m-1"}]}', ["m-1"]),
        (b"\xff" * 4_000_000, []),
        (b'{"data":[' + b",".join([b"[]"] * 1_000_000) + b"]}", []),
    ],
    ids=["a name of megabytes", "a name that steers a terminal", "no text", "no models"],
)
async def test_the_list_of_a_server_s_models(answer: bytes, names: list[str]) -> None:
    held = 0.0
    with RawServer(once(JSON + b"\r\n", answer)) as play, trio.fail_after(120):
        model = OpenAIModel("", base_url=play.base_url)
        async with heartbeat() as beat:
            with beat.measure() as stretch:
                assert await model.offered() == names
            held = stretch.own_ms
        await model.aclose()
    assert held < 10 * LIMIT_MS


@pytest.mark.parametrize("answer", UNREAD.values(), ids=UNREAD)
async def test_what_is_not_kept_has_an_end_too(
    answer: Callable[[], Iterator[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(body, "MAX_STREAM_BYTES", 2 * 1024 * 1024)
    with RawServer(answer) as play, trio.fail_after(120):
        model = AnthropicModel("m-1", base_url=play.base_url)
        with pytest.raises(ModelError, match="it has more than 2 MiB; check"):
            await _read_all(model)
        await model.aclose()


async def _read_all(model: AnthropicModel) -> None:
    async with model.stream(HELLO, []) as stream:
        async for _ in stream:
            pass


async def test_a_long_conversation_is_written_in_steps() -> None:
    # of what takes longest to write: the arguments are JSON in JSON
    arguments = {"a": "\n" * 125_000}
    messages = [
        message
        for number in range(40)
        for message in (
            Message(
                role="assistant",
                content=None,
                tool_calls=[
                    ToolCallRequest(call_id=f"c{number}", name="look", arguments=arguments)
                ],
            ),
            Message(role="tool", content="seen", call_id=f"c{number}"),
        )
    ]
    beyond = ["not measured"]
    for _ in range(3):  # what the code takes comes again; what a busy machine adds does not
        with RawServer(once(ERROR + b"\r\n", b"{}")) as play:
            model = OpenAIModel("m-1", base_url=play.base_url)
            async with heartbeat() as beat:
                with beat.measure() as held, trio.fail_after(120), pytest.raises(ModelError):
                    async with model.stream(messages, []):
                        pass
            await model.aclose()
        if not (beyond := held.beyond()):
            break
    assert beyond == []
