"""The protocol's own client, in both eras, with plugins in memory."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ElicitRequestParams,
    ElicitResult,
    InputRequiredResult,
    ToolListChangedNotification,
)
from trio.testing import MockClock

from sliphook import PluginSpec
from sliphook.adapters.mcp.serve import asking, rendering
from sliphook.adapters.mcp.serve.alone import Alone
from sliphook.adapters.mcp.serve.backend import Backend, untold
from sliphook.adapters.mcp.serve.server import KnownClient, ToolServer
from sliphook.adapters.relayed.messages import Called
from sliphook.adapters.relayed.waiting_calls import Person, Report
from sliphook.testing import HANGS, FakePlugin, run
from sliphook_sdk.protocol import Part, ToolResult
from sliphook_sdk.protocol.parts import Resource
from tests.heartbeat import heartbeat
from tests.programs import WAIT_S, until

ERAS = ["legacy", "2026-07-28"]
era = pytest.mark.parametrize("mode", ERAS)


@asynccontextmanager
async def connected(specs: Sequence[PluginSpec], mode: str, **more: Any) -> AsyncGenerator[Client]:
    """A client of these plugins."""

    async def choose(
        nursery: trio.Nursery, client: KnownClient, changed: Callable[[], None]
    ) -> Backend:
        alone = Alone(nursery, client.name)
        await alone.begin(specs, asks=client.asks, changed=changed)
        return alone

    with trio.fail_after(WAIT_S):
        async with trio.open_nursery() as nursery:
            server = ToolServer(choose, nursery)
            async with Client(server.server, mode=mode, cache=None, **more) as client:
                yield client
            await server.end()
            nursery.cancel_scope.cancel()


def says(*actions: str) -> tuple[list[str], Callable[..., Any]]:
    """What a person is asked, and a callback that answers so, one after the other."""
    asked: list[str] = []
    left = list(actions)

    async def answer(ctx: Any, params: ElicitRequestParams) -> ElicitResult:
        await trio.lowlevel.checkpoint()
        asked.append(params.message)
        action = left.pop(0)
        if action in ("decline", "cancel"):
            return ElicitResult(action=action)  # type: ignore[arg-type]
        return ElicitResult(action="accept", content=json.loads(action))

    return asked, answer


def guarded(**more: Any) -> FakePlugin:
    """A tool, and a guard that has a person asked."""
    return FakePlugin(
        "guard",
        hooks={"pre_tool_call": {"decision": "ask", "reason": "is that meant?"}},
        hears=["turn_start", "turn_end", "user_input_received"],
        tools={"deploy": "deployed"},
        **more,
    )


def calls(plugin: FakePlugin) -> list[str]:
    """The tools that the plugin was to run."""
    return [one.params["name"] for one in plugin.received if one.method == "tool/call"]


@era
@pytest.mark.parametrize(
    ("action", "runs"),
    [
        ('{"allow": true}', True),
        ('{"allow": false}', False),
        ("{}", False),
        ('{"allow": "true"}', False),
        ("decline", False),
        ("cancel", False),
    ],
)
async def test_an_ask_is_put_to_the_clients_person(mode: str, action: str, runs: bool) -> None:
    guard = guarded()
    asked, answer = says(action)
    async with connected([guard], mode, elicitation_callback=answer) as client:
        result = await client.call_tool("deploy", {})
        assert asked == ["Run deploy? guard: is that meant?"]
        assert result.is_error is not runs
        assert calls(guard) == (["deploy"] if runs else [])


@era
async def test_an_ask_is_a_deny_if_the_client_has_no_forms(mode: str) -> None:
    guard = guarded()
    async with connected([guard], mode) as client:
        result = await client.call_tool("deploy", {})
        assert result.is_error
        assert result.content[0].text == (  # type: ignore[union-attr]
            "the call of deploy was denied: guard: is that meant?;"
            " host: a person must approve this, and nobody can be asked"
        )


@era
async def test_what_a_plugin_asks_is_put_to_the_clients_person(mode: str) -> None:
    schema = {"type": "string", "enum": ["red", "blue"]}

    async def paint(arguments: dict[str, Any]) -> str:
        said = await plugin.ask(
            "host/ask", session_id=arguments["session"], prompt="Which colour?", schema=schema
        )
        return f"painted {said['answer']}"

    plugin = FakePlugin(
        "painter", hooks={"session_start": None}, tools={"paint": paint}, uses=["ask"]
    )
    asked, answer = says('{"answer": "blue"}')
    async with connected([plugin], mode, elicitation_callback=answer) as client:
        await client.list_tools()
        await plugin.hears("session_start")
        session = plugin.payloads("session_start")[0].session_id
        result = await client.call_tool("paint", {"session": session})
        assert result.content[0].text == "painted blue"  # type: ignore[union-attr]
        assert asked == ["painter: Which colour?"]


async def test_a_question_is_answered_once() -> None:
    guard = guarded()
    _, answer = says()
    async with connected([guard], "2026-07-28", elicitation_callback=answer) as client:
        ask: Any = client.session.call_tool
        first = await ask("deploy", {}, allow_input_required=True)
        assert isinstance(first, InputRequiredResult)
        yes: Any = {"question": ElicitResult(action="accept", content={"allow": True})}
        again: Any = {"request_state": first.request_state, "input_responses": yes}
        done = await ask("deploy", {}, **again)
        assert not done.is_error
        with pytest.raises(MCPError, match="over"):
            await ask("deploy", {}, **again)
        with pytest.raises(MCPError, match="over"):
            await ask("deploy", {}, request_state="made up")
    assert calls(guard) == ["deploy"]


async def test_a_question_that_a_plugin_answers_is_over_for_the_client(
    autojump_clock: MockClock,
) -> None:
    """The client makes the call again all the same, and reads what came of it."""
    guard = guarded()
    phone = FakePlugin("phone", hears=["user_input_required"], uses=["approve"])
    _, answer = says()
    async with connected([guard, phone], "2026-07-28", elicitation_callback=answer) as client:
        ask: Any = client.session.call_tool
        first = await ask("deploy", {}, allow_input_required=True)
        assert isinstance(first, InputRequiredResult)
        await phone.hears("user_input_required")
        (question,) = phone.payloads("user_input_required")
        said = {"session_id": question.session_id, "question_id": question.question_id}
        assert (await phone.ask("host/answer", **said, choice="allow"))["taken"]
        await guard.hears("turn_end")
        no: Any = {"question": ElicitResult(action="decline")}
        done = await ask("deploy", {}, request_state=first.request_state, input_responses=no)
        assert not done.is_error
    assert calls(guard) == ["deploy"]


async def test_an_answer_is_never_that_to_the_next_question(autojump_clock: MockClock) -> None:
    async def deploy(arguments: dict[str, Any]) -> str:
        (one,) = guard.payloads("turn_start")
        ask = {"session_id": one.session_id, "prompt": "Delete everything?"}
        return json.dumps(await guard.ask("host/ask", **ask, schema={"type": "boolean"}))

    guard = FakePlugin(
        "guard",
        hooks={"pre_tool_call": {"decision": "ask", "reason": "is that meant?"}},
        hears=["turn_start"],
        tools={"deploy": deploy},
        uses=["ask"],
    )
    phone = FakePlugin("phone", hears=["user_input_required"], uses=["approve"])
    _, answer = says()
    async with connected([guard, phone], "2026-07-28", elicitation_callback=answer) as client:
        ask: Any = client.session.call_tool
        first = await ask("deploy", {}, allow_input_required=True)
        await phone.hears("user_input_required")
        question = phone.payloads("user_input_required")[0]
        said = {"session_id": question.session_id, "question_id": question.question_id}
        assert (await phone.ask("host/answer", **said, choice="allow"))["taken"]
        await phone.hears("user_input_required", times=2)
        yes: Any = {"question": ElicitResult(action="accept", content={"answer": True})}
        again: Any = {"input_responses": yes, "allow_input_required": True}
        second = await ask("deploy", {}, request_state=first.request_state, **again)
        assert isinstance(second, InputRequiredResult)
        assert "Delete everything?" in second.input_requests["question"].params.message  # type: ignore[index,union-attr]
        done = await ask("deploy", {}, request_state=second.request_state, **again)
        assert json.loads(done.content[0].text)["outcome"] == "answered"


async def test_a_question_for_which_no_client_comes_back_is_forgotten(
    autojump_clock: MockClock,
) -> None:
    """Also if its call has ended meanwhile."""

    async def work(person: Person, report: Report) -> CallToolResult:
        with trio.move_on_after(1):
            await person("Which?", {})
        return CallToolResult(content=[])

    async with trio.open_nursery() as nursery:
        by_result = asking.ByResult(nursery)
        for _ in range(3):
            await by_result.call(CallToolRequestParams(name="x"), work, untold)
            await trio.sleep(asking.PARKED_S + 1)
        assert len(by_result._parked) == 1  # pyright: ignore[reportPrivateUsage]


async def test_a_question_that_nobody_answers_is_over(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "PARKED_S", 60.0)
    guard = guarded()
    _, answer = says()
    async with connected([guard], "2026-07-28", elicitation_callback=answer) as client:
        first = await client.session.call_tool("deploy", {}, allow_input_required=True)
        assert isinstance(first, InputRequiredResult)
        await trio.sleep(61)
        with pytest.raises(MCPError, match="over"):
            await client.session.call_tool("deploy", {}, request_state=first.request_state)
        assert guard.names()[-2:] == ["user_input_received", "turn_end"]
    assert calls(guard) == []


@era
async def test_calls_at_the_same_time_are_of_one_turn(mode: str) -> None:
    gate = trio.Event()

    async def wait(_: dict[str, Any]) -> str:
        await gate.wait()
        return "done"

    plugin = FakePlugin("slow", hears=["turn_start", "turn_end"], tools={"wait": wait, "go": "ok"})
    async with connected([plugin], mode) as client:
        await client.list_tools()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(client.call_tool, "wait")
            await until(lambda: calls(plugin) == ["wait"])
            await client.call_tool("go", {})
            gate.set()
        await client.call_tool("go", {})
        await plugin.hears("turn_end", times=2)
        assert plugin.names() == ["turn_start", "turn_end", "turn_start", "turn_end"]


@era
async def test_a_cancelled_call_ends_and_the_others_go_on(mode: str) -> None:
    plugin = FakePlugin("slow", hears=["post_tool_call"], tools={"wait": HANGS, "go": "ok"})
    async with connected([plugin], mode) as client:
        await client.list_tools()
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(client.call_tool, "wait")
                await until(lambda: calls(plugin) == ["wait"])
                scope.cancel()
        await plugin.hears("post_tool_call")
        assert plugin.payloads("post_tool_call")[0].status == "cancelled"
        assert not (await client.call_tool("go", {})).is_error


async def test_a_text_with_more_values_than_data_may_have_is_not_read() -> None:
    text = f"[{'[[]],' * 200_000}[]]"
    beyond = ["not measured"]
    for _ in range(3):  # what the code takes comes again; what a busy machine adds does not
        async with heartbeat() as beat:
            with beat.measure() as held:
                found = rendering.result(Called(content=text, data={"a": 1}))
        assert found.structured_content is None
        if not (beyond := held.beyond()):
            break
    assert beyond == []


@era
async def test_the_forms_of_a_result(mode: str) -> None:
    pixel = "iVBORw0KGgo="
    parts = [
        Part(type="text", text="see"),
        Part(type="image", mime_type="image/png", data=pixel),
        Part(type="resource_link", uri="file:///a", name="a"),
        Part(type="resource", resource=Resource(uri="file:///b", text="b")),
    ]
    plugin = FakePlugin(
        "p",
        tools={
            "object": ToolResult(content="2", data={"sum": 2}),
            "same": ToolResult(content='{ "sum": 2.0 }', data={"sum": 2}),
            "list": ToolResult(content="[2]", data=[2]),
            "parts": ToolResult(content="see", parts=parts),
            "wrong": ToolResult(content="no", is_error=True),
        },
    )
    async with connected([plugin], mode) as client:
        found = await client.call_tool("object", {})
        assert (found.structured_content, found.content[0].text) == (None, "2")  # type: ignore[union-attr]
        found = await client.call_tool("same", {})
        assert found.structured_content == {"sum": 2}
        found = await client.call_tool("list", {})
        assert found.structured_content is None
        found = await client.call_tool("parts", {})
        assert not found.is_error, found
        kinds = [(one.type, getattr(one, "name", None)) for one in found.content]
        assert kinds == [
            ("text", None),
            ("image", None),
            ("resource_link", "a"),
            ("resource", None),
        ]
        assert (await client.call_tool("wrong", {})).is_error


NAMES = ["a", "b", "c", "d"]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sets(st.sampled_from(NAMES)), min_size=1, max_size=6), st.sampled_from(ERAS))
def test_a_client_that_lists_when_it_is_told_has_the_tools(
    wanted: list[set[str]], mode: str
) -> None:
    async def test() -> None:
        plugin = FakePlugin("p", tools={"base": "ok"}, uses=["tools"])
        changed = trio.Event()
        told = 0

        async def hear(message: object) -> None:
            nonlocal told
            await trio.lowlevel.checkpoint()
            if isinstance(message, ToolListChangedNotification):
                told += 1
                changed.set()

        async with connected([plugin], mode, message_handler=hear) as client:
            assert {tool.name for tool in (await client.list_tools()).tools} == {"base"}
            if mode == "legacy":
                for names in wanted:
                    changed = trio.Event()
                    before = {tool.name for tool in (await client.list_tools()).tools}
                    await _offer(plugin, names)
                    if before != names:
                        await changed.wait()
                    after = {tool.name for tool in (await client.list_tools()).tools}
                    assert after == names
            else:
                async with client.listen(tools_list_changed=True) as events:
                    for names in wanted:
                        before = {tool.name for tool in (await client.list_tools()).tools}
                        await _offer(plugin, names)
                        if before != names:
                            await anext(events)
                        after = {tool.name for tool in (await client.list_tools()).tools}
                        assert after == names
            assert told <= len(wanted)

    run(test)


async def _offer(plugin: FakePlugin, names: set[str]) -> None:
    await plugin.ask(
        "host/tools", session_id=None, tools=[{"name": name} for name in sorted(names)]
    )
