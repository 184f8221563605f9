"""`sliphook.testing`: a plugin in memory behaves as a process would, on a clock that is steered."""

from __future__ import annotations

import gc
import os
import random
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio
import trio.testing
from trio.testing import MockClock

from sliphook import Context, PluginHost
from sliphook.testing import CRASHES, HANGS, After, Fails, FakePlugin, HostRefused, Raw, run
from sliphook_sdk.protocol import Answer, ToolResult
from sliphook_sdk.protocol.payloads import PreToolCall, Stop
from tests.heartbeat import LIMIT_MS, heartbeat
from tests.programs import WAIT_S


async def shell(arguments: dict[str, Any]) -> str:
    return f"ran {arguments['command']}"


async def ask(*plugins: FakePlugin, **arguments: Any) -> tuple[str, str, float]:
    """One call of the agent's own tool: its status, its text, and how long it took."""
    async with PluginHost(plugins) as host, host.session() as session, session.turn("go") as turn:
        began = trio.current_time()
        outcome = await turn.call_tool("shell", {"command": "ls", **arguments}, run=shell)
        return outcome.status, outcome.text(), trio.current_time() - began
    raise AssertionError("there is no interrupt here")


def calls_of(call: PreToolCall) -> dict[str, Any]:
    return {"decision": "deny", "reason": f"no {call.arguments['command']} with {call.tool_name}"}


async def after_a_second(call: PreToolCall) -> Answer:
    await trio.sleep(1.0)
    return Answer(decision="deny", reason=call.tool_name)


def raises(_: PreToolCall) -> None:
    raise LookupError("where is it")


@pytest.mark.parametrize(
    ("reply", "status", "text", "took_s"),
    [
        pytest.param(None, "ok", "ran ls", 0.0, id="it abstains"),
        pytest.param({"decision": "deny", "reason": "no"}, "denied", "g: no", 0.0, id="a value"),
        pytest.param(Answer(decision="deny", reason="no"), "denied", "g: no", 0.0, id="a Struct"),
        pytest.param(
            calls_of, "denied", "g: no ls with shell", 0.0, id="a function of the payload"
        ),
        pytest.param(after_a_second, "denied", "g: shell", 1.0, id="an async function"),
        pytest.param(
            After(2.0, {"decision": "deny", "reason": "late"}),
            "denied",
            "g: late",
            2.0,
            id="a late answer",
        ),
        pytest.param(
            After(9.0, {}),
            "denied",
            "g: no answer within 5 s",
            5.0,
            id="an answer that comes too late",
        ),
        pytest.param(HANGS, "denied", "g: no answer within 5 s", 5.0, id="no answer"),
        pytest.param(CRASHES, "denied", "g: g exited with status 1", 0.0, id="a crash"),
        pytest.param(
            Fails("broken"),
            "denied",
            "g: it answered with an error: broken (-32603)",
            0.0,
            id="an error",
        ),
        pytest.param(
            raises,
            "denied",
            "g: it answered with an error: LookupError: where is it (-32603)",
            0.0,
            id="an exception",
        ),
        pytest.param(
            {"decision": "deny", "reason": "it is \udc80"},
            "denied",
            r"g: it is \udc80",
            0.0,
            id="a lone surrogate",
        ),
        pytest.param(
            {"decision": "deny", "reason": object()},
            "denied",
            "g: it answered with an error: the answer cannot be sent: "
            "Encoding objects of type object is unsupported (-32603)",
            0.0,
            id="what JSON cannot hold",
        ),
        pytest.param(
            {"decison": "deny"},
            "denied",
            "g: the answer has an unknown field 'decison'",
            0.0,
            id="nonsense",
        ),
        pytest.param(Raw(b"Content-Length: x\r\n\r\n"), "denied", "g: ", 0.0, id="bytes"),
    ],
)
async def test_whatever_it_answers(
    autojump_clock: MockClock, reply: Any, status: str, text: str, took_s: float
) -> None:
    plugin = FakePlugin("g", hooks={"pre_tool_call": reply})
    assert await ask(plugin) == (status, _Holding(text), took_s)


class _Holding(str):
    """Equal to every text that holds it."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and str(self) in other

    __hash__ = str.__hash__


async def test_what_it_was_sent_is_kept_in_order(autojump_clock: MockClock) -> None:
    plugin = FakePlugin(
        "probe", hears=["session_start", "turn_start", "pre_tool_call", "turn_end", "session_end"]
    )
    await ask(plugin)
    assert [message.method for message in plugin.received] == [
        "initialize",
        "hook/session_start",
        "event/turn_start",
        "hook/pre_tool_call",
        "event/turn_end",
        "event/session_end",
        "shutdown",
        "exit",
    ]
    assert plugin.names() == [
        "session_start",
        "turn_start",
        "pre_tool_call",
        "turn_end",
        "session_end",
    ]
    (payload,) = plugin.payloads("pre_tool_call")
    assert type(payload).__name__ == "PreToolCall"
    assert payload.tool_name == "shell"
    assert payload.arguments == {"command": "ls"}
    assert plugin.received[0].params["plugin"]["name"] == "probe"


async def test_of_one_session(autojump_clock: MockClock) -> None:
    plugin = FakePlugin("probe", hears=["session_start"])
    async with PluginHost([plugin]) as host:
        for _ in range(2):
            async with host.session(session_id="one" if _ else "two") as session:
                await session.ready()
    assert plugin.names("one") == ["session_start"]
    assert plugin.names("two") == ["session_start"]
    assert plugin.names("three") == []


async def test_an_events_function_is_called(autojump_clock: MockClock) -> None:
    outcomes: list[str] = []
    plugin = FakePlugin("probe", hooks={"turn_end": lambda turn: outcomes.append(turn.outcome)})
    await ask(plugin)
    assert outcomes == ["completed"]


async def test_tools_and_commands(autojump_clock: MockClock) -> None:
    plugin = FakePlugin(
        "p",
        tools={
            "weather": lambda arguments: f"cold in {arguments['city']}",
            "count": ToolResult(content="1", data=1),
        },
        commands={"hello": lambda text: {"text": f"hello {text}"}},
    )
    async with PluginHost([plugin]) as host, host.session() as session, session.turn("go") as turn:
        assert [offer.name for offer in host.tools()] == ["weather", "count"]
        assert (await turn.call_tool("weather", {"city": "Oslo"})).text() == "cold in Oslo"
        assert (await turn.call_tool("count", {})).result == ToolResult(content="1", data=1)
        assert await session.run_command("hello", "ada") == "hello ada"


async def test_the_manifest_may_say_more_of_a_tool(autojump_clock: MockClock) -> None:
    schema = {"type": "object", "required": ["city"]}
    strict = FakePlugin("p", tools={"weather": "cold"}, schemas={"weather": schema})
    async with PluginHost([strict]) as host, host.session() as session, session.turn("go") as turn:
        assert '"city" is a required property' in (await turn.call_tool("weather", {})).text()


async def test_it_asks_the_host(autojump_clock: MockClock) -> None:
    plugin = FakePlugin("p", uses=["inject", "notify"])
    notices: list[str] = []

    def show(plugin: str, level: str, message: str) -> None:
        notices.append(f"{plugin} {level} {message}")

    async with PluginHost([plugin], on_notify=show) as host, host.session() as session:
        assert await plugin.ask(
            "host/inject", session_id=session.session_id, text="you have mail"
        ) == {"queued": True}
        assert session.take_injected() == [Context("p", "you have mail")]
        assert await plugin.ask("host/notify", level="warning", message="look") == {}
        with pytest.raises(HostRefused, match="needs 'interrupt'") as caught:
            await plugin.ask("host/interrupt", session_id=session.session_id, reason="x")
        assert caught.value.code == -32003
    assert notices == ["p warning look"]


async def test_a_hook_may_ask_the_host_before_it_answers(autojump_clock: MockClock) -> None:
    async def inject(call: PreToolCall) -> Answer:
        await plugin.ask("host/inject", session_id=call.session_id, text="from inside")
        return Answer(decision="deny", reason="asked")

    plugin = FakePlugin("p", hooks={"pre_tool_call": inject}, uses=["inject"])
    assert await ask(plugin) == ("denied", "the call of shell was denied: p: asked", 0.0)


async def test_an_interrupt_is_a_cancel_that_it_obeys(autojump_clock: MockClock) -> None:
    ended: list[str] = []

    async def slow(_: Stop) -> None:
        try:
            await trio.sleep(3.0)
        except trio.Cancelled:
            ended.append("cancelled")
            raise

    plugin = FakePlugin("p", hooks={"stop": slow}, hears=["agent_loop_stopped"])
    async with (
        PluginHost([plugin]) as host,
        host.session() as session,
        trio.open_nursery() as nursery,
    ):

        async def stop() -> None:
            await plugin.hears("stop")
            assert session.interrupt()

        nursery.start_soon(stop)
        async with session.turn("go") as turn:
            await turn.stop()
        await plugin.hears("$/cancelRequest")
        await trio.testing.wait_all_tasks_blocked()
        assert (ended, trio.current_time()) == (["cancelled"], 0.0)
    assert [message.method for message in plugin.received[1:4]] == [
        "hook/stop",
        "event/agent_loop_stopped",
        "$/cancelRequest",
    ]


async def test_it_crashes_and_is_started_again(autojump_clock: MockClock) -> None:
    plugin = FakePlugin("p", tools={"weather": "cold"})
    async with PluginHost([plugin]) as host:
        plugin.complain("out of luck")
        plugin.crash(3)
        await plugin.hears("initialize", times=2)
        await trio.testing.wait_all_tasks_blocked()
        (status,) = host.plugins
        assert status.state == "ready"
        assert status.restarts == 1
        assert plugin.starts == 2
        assert status.stderr_tail == ("out of luck",)


async def test_it_hangs_and_is_killed(autojump_clock: MockClock) -> None:
    problems: list[str] = []
    plugin = FakePlugin("p", hooks={"pre_tool_call": HANGS})
    async with (
        PluginHost([plugin], on_problem=lambda _, line: problems.append(line)) as host,
        host.session() as session,
    ):
        async with session.turn("go") as turn:
            await turn.call_tool("shell", {"command": "ls"}, run=shell)
        plugin.freeze()
        await plugin.hears("initialize", times=1)
        await trio.sleep(14.9)
        assert [line for line in problems if " hangs" in line] == []
        await trio.sleep(0.2)
        plugin.thaw()
    # what is said of the handler that goes on has tests of its own
    assert [line for line in problems if "its handler" not in line] == [
        "p hangs: it owes an answer and has given no sign of life for 10 s; it is started again"
    ]


async def test_stray_output(autojump_clock: MockClock) -> None:
    lines: list[str] = []
    plugin = FakePlugin("p", hears=["pre_tool_call"])
    async with PluginHost([plugin], on_log=lambda _plugin, _level, line: lines.append(line)):
        await plugin.write(b"debug: here\n")
        await plugin.tell("host/log", level="info", message="and here")
        await trio.testing.wait_all_tasks_blocked()
    assert [line for line in lines if "here" in line] == [_Holding("debug: here"), "and here"]


async def test_nothing_is_left_on_the_disk(autojump_clock: MockClock, tmp_path: Path) -> None:
    plugin = FakePlugin("p", hears=["stop"])
    async with PluginHost([plugin], log_dir=tmp_path / "logs", data_home=tmp_path / "data"):
        plugin.complain("out of luck")
        plugin.crash()
        await plugin.hears("initialize", times=2)
    assert os.listdir(tmp_path) == []


async def test_more_than_a_pipe_holds(autojump_clock: MockClock) -> None:
    big = "x" * 1_000_000
    plugin = FakePlugin("p", tools={"big": big, "echo": lambda arguments: arguments["text"]})
    async with PluginHost([plugin]) as host, host.session() as session, session.turn("go") as turn:
        assert (await turn.call_tool("big", {})).text() == big
        assert (await turn.call_tool("echo", {"text": big})).text() == big


async def test_to_read_many_long_numbers_does_not_hold_the_loop() -> None:
    """As many as a call may have, in its arguments and in its result."""
    numbers = [random.random() * 1e-300 for _ in range(19_900)]
    plugin = FakePlugin("p", hears=["post_tool_call"])

    async def returns_them(_: dict[str, Any]) -> ToolResult:
        return ToolResult(content="done", data=numbers)

    gc.disable()  # a full collection takes as long
    try:
        with trio.fail_after(WAIT_S):
            async with (
                heartbeat() as beat,
                PluginHost([plugin]) as host,
                host.session() as session,
                session.turn("go") as turn,
            ):
                with beat.measure() as held:
                    outcome = await turn.call_tool("shell", {"n": numbers}, run=returns_them)
                assert outcome.status == "ok"
                # the tasks of a fake are in no nursery of the test
                assert held.shared_ms < LIMIT_MS / 2, held
    finally:
        gc.enable()
    assert [one.arguments["n"] for one in plugin.payloads("post_tool_call")] == [numbers]


async def test_two_fakes_are_two(autojump_clock: MockClock) -> None:
    first, second = FakePlugin("p"), FakePlugin("p")
    assert first != second
    assert len({first, second}) == 2
    assert msgspec.to_builtins(first.manifest) == second.manifest


def test_a_clock_that_jumps_without_pytest_trio() -> None:
    async def test() -> tuple[str, str, float]:
        return await ask(FakePlugin("g", hooks={"pre_tool_call": HANGS}))

    assert run(test) == ("denied", _Holding("no answer within 5 s"), 5.0)
