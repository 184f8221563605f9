"""What the agent itself hands over and does: long conversations, odd tools, many sessions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import trio

from sliphook import PluginHost
from sliphook.session.results import LlmGate, ToolOutcome
from sliphook_sdk.protocol import Message, ToolCallRequest, ToolResult, Usage
from tests.heartbeat import timed_interrupt, unmeasured
from tests.torture.case import Case, Make, Workshop, nothing, python
from tests.torture.stage import HEALTHY, Stage, check_healthy, make_all

MANY = 20
"""Plugins that hear all of it."""


def _hearers(count: int = MANY) -> list[Make]:
    """Plugins that answer nothing; each wants another timeout."""
    return [
        python(
            "greet()\nserve()",
            name=f"hearer{number}",
            subscriptions=[
                {
                    "event": "pre_llm_call",
                    "timeout_s": 60 + number,
                    "include": ["messages", "tools"],
                },
                {"event": "pre_tool_call", "timeout_s": 60 + number},
                {"event": "post_tool_call", "timeout_s": 60 + number},
                {"event": "session_start", "mode": "event"},
                {"event": "turn_end", "mode": "event"},
            ],
        )
        for number in range(count)
    ]


Act = Callable[[Stage, PluginHost], Awaitable[str | None]]


def _case(name: str, promise: str, act: Act, plugins: Callable[[], Sequence[Make]]) -> Case:
    """The act beside a healthy plugin, then one hook and one interrupt as always."""

    async def scene(shop: Workshop) -> str | None:
        programs = await trio.to_thread.run_sync(lambda: make_all(shop, *plugins(), HEALTHY))
        stage = Stage(shop)
        async with stage.open_host(programs) as host, host.session() as stage.session:
            seen = await act(stage, host)
            check_healthy(await stage.ask())
            await stage.interrupt()
        return seen

    return Case("embedder", name, promise, nothing, scene=scene)


# -- what is put to the plugins
# --------------------------------------------------------------------------------------------


def _conversation(
    name: str,
    promise: str,
    content: str,
    count: int,
    expected: int | None,
    arguments: Callable[[], dict[str, Any]] | None = None,
) -> Case:
    """A model call with that conversation; so many messages are with the gate afterwards.

    With `arguments` each message is of the model's, and calls a tool with them.
    """

    async def act(stage: Stage, _: PluginHost) -> str:
        with unmeasured():
            messages = [Message(role="user", content=content) for _ in range(count)]
            if arguments is not None:
                call = ToolCallRequest(call_id="c", name="shell", arguments=arguments())
                messages = [
                    Message(role="assistant", content=content, tool_calls=[call]) for _ in messages
                ]
        gate: LlmGate | None = None
        async with stage.session.turn("talk") as turn:
            gate = await turn.pre_llm_call(provider=None, model=None, messages=messages, tools=[])
        assert gate is not None
        assert not gate.denied, gate.reason
        assert len(gate.messages) == expected
        assert stage.problems == []
        return f"{count:,} messages"

    return _case(name, promise, act, _hearers)


def _tool(
    name: str,
    promise: str,
    make: Callable[[], object],
    status: str,
    says: str,
    arguments: Callable[[], Any] = dict,
    schema: dict[str, Any] | None = None,
) -> Case:
    """One call of a tool of the agent's own, which returns or raises what `make` makes."""

    async def act(stage: Stage, _: PluginHost) -> str:
        with unmeasured():
            given = arguments()

        async def run(_: dict[str, Any]) -> object:
            with unmeasured():
                made = make()
            if isinstance(made, BaseException):
                raise made
            return made

        outcome: ToolOutcome | None = None
        async with stage.session.turn("work") as turn:
            outcome = await turn.call_tool("own", given, run=run, input_schema=schema)
        assert outcome is not None
        assert outcome.status == status, outcome.result.content[:200]
        assert says in outcome.result.content[:500], outcome.result.content[:500]
        return f"{outcome.status}, {len(outcome.result.content):,} characters"

    return _case(name, promise, act, _hearers)


async def _long_answer(stage: Stage, _: PluginHost) -> str:
    """The healthy plugin is told of the end, with the model's last text."""
    with unmeasured():
        response = Message(role="assistant", content="\n" * 2**21)

    async def talk() -> None:
        async with stage.session.turn("hold") as turn:
            await turn.pre_llm_call(provider=None, model=None, messages=[], tools=[])
            turn.post_llm_call(
                provider=None,
                model=None,
                response=response,
                finish_reason=None,
                usage=Usage(),
                duration_ms=1.0,
            )
            await stage.session.hooks.ask("user_prompt_submit", turn, source="user", text="hold")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(talk)
        await stage.until(
            lambda: stage.session.open_turn is not None and bool(stage.session.open_turn.fires),
            "the held hook",
        )
        with timed_interrupt():
            assert stage.session.interrupt()
    return "told"


class _Mine(BaseException):
    """What an agent ends itself with."""


async def _raise_through(stage: Stage, _: PluginHost) -> str:
    async def run(_: dict[str, Any]) -> object:
        raise _Mine

    try:
        async with stage.session.turn("work") as turn:
            await turn.call_tool("own", {}, run=run)
    except _Mine:
        assert stage.session.open_turn is None
        return "raised"
    raise AssertionError("it was swallowed")


def _lists(count: int) -> list[list[int]]:
    return [[] for _ in range(count)]


def _nested(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


def _in_itself() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["self"] = value
    return value


# -- what it does
# --------------------------------------------------------------------------------------------


async def _sessions(stage: Stage, host: PluginHost) -> str:
    """Two hundred at once, each with a turn."""

    async def one(number: int) -> None:
        async with host.session(session_key=f"s{number}") as session:
            check_healthy(await stage.ask(session=session))

    async with trio.open_nursery() as nursery:
        for number in range(200):
            nursery.start_soon(one, number)
            if number % 10 == 0:  # what many tasks do in one pass is the agent's
                await trio.sleep(0.001)
    return "200 sessions"


async def _large_meta(stage: Stage, host: PluginHost) -> str:
    with unmeasured():
        text = "x" * 1_000_000
    async with host.session(meta={"a": text}, session_key=text, user_id=text) as session:
        for _ in range(5):
            check_healthy(await stage.ask(session=session))
    return "5 turns"


async def _updates(stage: Stage, host: PluginHost) -> str:
    """The plugins are exchanged again and again, while hooks are asked."""
    paths = [status.path for status in host.plugins]
    hearer, healthy = paths[:-1], paths[-1]
    for number in range(6):
        await host.update([*hearer, healthy] if number % 2 else [healthy])
        check_healthy(await stage.ask())
    return "6 exchanges"


CASES = (
    _conversation(
        "a conversation of 4 MB", "each of 20 plugins is sent all of it", "x" * 4_000, 1_000, 1_000
    ),
    _conversation(
        "a conversation of many lines",
        "each of 20 plugins is sent all of it",
        "x\n" * 20,
        50_000,
        50_000,
    ),
    _conversation(
        "a conversation of 3,000 halves of an emoji",
        "each of 20 plugins is sent all of it",
        "x" * 100 + "\ud83d",
        3_000,
        3_000,
    ),
    _conversation(
        "a conversation of 30,000 short messages",
        "each of 20 plugins is sent all of it",
        "x" * 20,
        30_000,
        30_000,
    ),
    _conversation(
        "a conversation of 30,000 halves of characters",
        "the plugins are asked without it",
        "x\ud83d",
        30_000,
        30_000,
    ),
    _conversation(
        "a conversation of 100 MB", "the plugins are asked without it", "x" * 4_000, 25_000, 25_000
    ),
    _conversation(
        "a conversation of much nesting",
        "the plugins are asked without it",
        "x",
        25,
        25,
        lambda: {"a": [_nested(69)] * 700},
    ),
    _conversation(
        "a conversation of pairs of brackets",
        "the plugins are asked without it",
        "x",
        60,
        60,
        lambda: {"a": _lists(19_000)},
    ),
    _conversation(
        "a conversation of texts with brackets",
        "the plugins are asked without it",
        "x",
        20,
        20,
        lambda: {"a": ["[x]", []] * 9_000},
    ),
    _conversation(
        "a conversation of edits of code",
        "each of 20 plugins is sent all of it",
        "x",
        4_000,
        4_000,
        lambda: {"edits": [{"old": '    x["a"] = {"b": [1, "\\n"]}\n' * 10, "new": "{}"}]},
    ),
    _tool("a tool of 1 MiB", "20 plugins are told", lambda: "x" * 2**20, "ok", "xxx"),
    _tool("a tool of 100 MiB", "it is refused", lambda: "x" * 100 * 2**20, "error", "are the most"),
    _tool("a tool of 300,000 lists", "it is taken as text", lambda: _lists(300_000), "ok", "[[]"),
    _tool(
        "a tool of a text of 600,000 halves",
        "each is replaced",
        lambda: "?\ud83d" * 600_000,
        "ok",
        "?\ufffd?\ufffd",
    ),
    _tool(
        "a tool of a list of 300,000 halves",
        "it is refused",
        lambda: ["\ud83d"] * 300_000,
        "error",
        "halves of characters",
    ),
    _tool(
        "a tool of 4 million control characters",
        "it is refused",
        lambda: "\x01" * 4_000_000,
        "error",
        "bytes in JSON",
    ),
    _tool("a tool of a list in itself", "it is refused", _in_itself, "error", "contains itself"),
    _tool(
        "a tool of 100,000 levels", "it is refused", lambda: _nested(100_000), "error", "too deep"
    ),
    _tool("a tool of bytes", "it is refused", lambda: b"x", "error", "it returned bytes"),
    _tool(
        "a tool of much data",
        "20 plugins are told",
        lambda: ToolResult(content="x", data=[{} for _ in range(15_000)]),
        "ok",
        "x",
    ),
    _tool(
        "a tool that raises 50 MB",
        "it is cut",
        lambda: ValueError("y" * 50_000_000),
        "error",
        "failed: yyy",
    ),
    _tool("a tool that raises much else", "it is a result", RecursionError, "error", "Rec"),
    _tool(
        "arguments of 200,000 lists",
        "they are refused",
        lambda: "",
        "error",
        "more than 20,000 values",
        arguments=lambda: {"a": _lists(200_000)},
    ),
    _tool(
        "arguments of 10 MB",
        "they are refused",
        lambda: "",
        "error",
        "are no JSON",
        arguments=lambda: {"a": "x" * 10_000_000},
    ),
    _tool(
        "arguments of 2 MB",
        "20 plugins are asked",
        lambda: "done",
        "ok",
        "done",
        arguments=lambda: {"a": "x" * 2_000_000},
    ),
    _tool(
        "long arguments and a long result, all of it lines",
        "20 plugins are told",
        lambda: "\n" * 1_500_000,
        "ok",
        "\n\n\n",
        arguments=lambda: {"a": "\n" * 500_000},
    ),
    _tool(
        "arguments in themselves",
        "they are refused",
        lambda: "",
        "error",
        "no JSON",
        arguments=_in_itself,
    ),
    _tool(
        "a schema of 20,000 parts",
        "it is refused",
        lambda: "",
        "error",
        "broken",
        schema={
            "type": "object",
            "properties": {f"p{i}": {"type": "string"} for i in range(20_000)},
        },
    ),
    _tool(
        "a schema of 300,000 values",
        "it is refused",
        lambda: "",
        "error",
        "broken",
        arguments=lambda: {"a": 1},
        schema={"type": "object", "properties": {"a": {"enum": list(range(300_000))}}},
    ),
    _case("an interrupt behind an answer of 2 MiB", "it takes 2 ms", _long_answer, lambda: ()),
    _case("a tool that ends the agent", "it gets through", _raise_through, _hearers),
    _case("200 sessions at once", "all are answered", _sessions, lambda: _hearers(3)),
    _case("a key and meta of a megabyte", "all are answered", _large_meta, lambda: _hearers(3)),
    _case("update in a loop", "the others answer", _updates, lambda: _hearers(3)),
)
