"""Faults around a plugin: floods, broken pipes, deaths, and a loop that the agent blocks."""

# An interrupt leaves a turn's block early; these tests know where it does.
# pyright: reportPossiblyUnboundVariable=false

from __future__ import annotations

import os
import signal
import time
from typing import Any

import pytest
import trio

from sliphook import PluginHost
from tests.programs import WAIT_S, Workshop, case_of, until

from .guarding import QUICK_S, ask, guarding


async def test_all_calls_settle_at_once_when_it_dies(shop: Workshop) -> None:
    """Their own timeouts are far away, and one of its children keeps the pipes open."""
    before = (
        "if os.fork() == 0:\n    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "    time.sleep(30)\n    os._exit(0)"
    )
    probe = shop.program(tools=["look"], before=before, on="return NOTHING")
    statuses: list[str] = []

    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([probe.path]) as host,
            host.session() as session,
            session.turn("hello") as turn,
        ):

            async def call() -> None:
                outcome = await turn.call_tool("look", {})
                statuses.append(outcome.status)

            async with trio.open_nursery() as nursery:
                for _ in range(10):
                    nursery.start_soon(call)
                await probe.hears("tool/call", times=10)
                pid = host.plugins[0].pid
                assert pid is not None
                began = time.perf_counter()
                os.kill(pid, signal.SIGKILL)
            assert time.perf_counter() - began < 20.0  # the tool's timeout is 30
            host.kill()
    assert statuses == ["error"] * 10


async def test_the_answer_counts_though_it_exits_right_behind_it(shop: Workshop) -> None:
    probe = guarding(shop, 'reply(id, {"decision": "allow", "reason": "fine"})\nos._exit(0)')
    last_words = guarding(
        shop,
        'raw(json.dumps({"jsonrpc": "2.0", "id": id, "result": {"reason": "no line '
        'end"}}).encode())\nos._exit(0)',
        name="last",
    )
    for _ in range(5):
        with trio.fail_after(WAIT_S):
            async with PluginHost([probe.path, last_words.path]) as host:
                outcome = await ask(host)
                host.kill()
        assert [(part.status, part.reason) for part in outcome.parts] == [
            ("answered", "fine"),
            ("answered", "no line end"),
        ]


async def test_a_flood_on_stderr_blocks_nothing(shop: Workshop) -> None:
    lines: list[str] = []
    flood = shop.program(
        "flood",
        hears=["pre_tool_call"],
        on='for _ in range(200): os.write(2, b"x" * 63 + b"\\n" + b"y" * 64 * 1024)',
    )
    with trio.fail_after(WAIT_S):
        async with PluginHost(
            [flood.path], on_log=lambda plugin, level, line: lines.append(level)
        ) as host:
            outcome = await ask(host)
    assert [part.status for part in outcome.parts] == ["answered"]
    assert lines.count("stderr") < 3_000


async def test_stray_output_is_logged_and_read_over(shop: Workshop) -> None:
    said: list[str] = []
    probe = shop.program(
        hears=["pre_tool_call"],
        before='raw(b"Welcome to probe 1.0!\\n")',
        on='raw(b"thinking... "); raw(b"{oops}\\n"); raw(b"\\x1b[1mforged\\rERROR: all lost\\n")',
    )
    with trio.fail_after(WAIT_S):
        async with PluginHost(
            [probe.path],
            on_log=lambda plugin, level, line: said.append(line) if level == "host" else None,
        ) as host:
            outcome = await ask(host)
    assert [part.status for part in outcome.parts] == ["answered"]
    assert any("Welcome to probe" in line for line in said)
    assert not any("\x1b" in line or "\r" in line for line in said)


async def test_a_hundred_violations_end_it(shop: Workshop) -> None:
    """Single violations are read over; a plugin that sends nothing else is not worth reading."""
    problems: list[str] = []
    probe = shop.program(
        hears=["pre_tool_call"], on="for _ in range(200): send(id=9999, result={})\nreturn NOTHING"
    )
    with trio.fail_after(WAIT_S):
        async with PluginHost(
            [probe.path], on_problem=lambda plugin, line: problems.append(line)
        ) as host:
            outcome = await ask(host)
            await until(lambda: bool(problems))
            host.kill()
    assert [part.status for part in outcome.parts] == ["protocol_error"]
    assert "100 violations" in problems[0]


async def test_many_answers_in_one_read(shop: Workshop) -> None:
    """More messages than one pass handles come in one read, just as another call times out.

    None of them may stay unread.
    """
    subscriptions = [{"event": "pre_tool_call", "timeout_s": QUICK_S}]
    probe = shop.program(
        subscriptions=subscriptions,
        tools=["look"],
        before="""
        calls = []
        def line(**message):
            return json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\\n"
        def heard(message):
            if message["method"] == "$/cancelRequest":
                answers = b"".join(line(id=id, result="x") for id in calls)
                raw(line(method="x") * 400 + answers)
        """,
        on="""
        if method == "tool/call":
            calls.append(id)
            return NOTHING
        if method == "hook/pre_tool_call" and params["tool_name"] == "slow":
            return NOTHING
        """,
    )
    statuses: list[str] = []
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([probe.path]) as host,
            host.session() as session,
            session.turn("hello") as turn,
        ):

            async def call() -> None:
                statuses.append((await turn.call_tool("look", {})).status)

            async with trio.open_nursery() as nursery:
                for _ in range(5):
                    nursery.start_soon(call)
                await probe.hears("tool/call", times=5)
                await turn.call_tool("slow", {}, run=lambda _: pytest.fail("it ran"))
    assert statuses == ["ok"] * 5


async def test_a_plugin_that_closes_its_input_is_found_out_under_steady_traffic(
    shop: Workshop,
) -> None:
    """Each message finds the pipe broken.

    A further message must not delay the verdict that it ended.
    """
    problems: list[str] = []
    probe = shop.program(
        hears=["turn_start"], main="reply(receive()['id'], MANIFEST)\nos.close(0)\ntime.sleep(30)"
    )
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([probe.path], on_problem=lambda plugin, line: problems.append(line)) as host,
            host.session() as session,
        ):
            while not problems:
                async with session.turn("hello"):
                    pass
                await trio.sleep(0.02)
            host.kill()
    assert "closed its standard input and lives on" in problems[0]


async def test_a_replacer_that_uses_up_the_time_leaves_no_plugin_without_the_event(
    shop: Workshop,
) -> None:
    """Later plugins of `post_tool_call` cannot be asked any more.

    They are told of the end instead.
    """
    eater = shop.program(
        "eater",
        subscriptions=[{"event": "post_tool_call", "replaces": True, "timeout_s": QUICK_S}],
        on='return NOTHING if "hook" in method else {}',
    )
    behind = shop.program(
        "behind",
        subscriptions=[
            {"event": "pre_tool_call"},
            {"event": "post_tool_call", "timeout_s": QUICK_S},
        ],
    )

    async def own(_: dict[str, Any]) -> str:
        return "done"

    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([eater.path, behind.path]) as host,
            host.session() as session,
            session.turn("hello") as turn,
        ):
            outcome = await turn.call_tool("mine", {}, run=own)
    assert (outcome.status, outcome.result.content) == ("ok", "done")
    assert behind.names() == ["pre_tool_call", "post_tool_call"]


async def test_a_tool_of_a_plugin_that_fails_is_a_result(shop: Workshop) -> None:
    answers = {
        "string": "return 'plain'",
        "number": "return 7",
        "crash": "os._exit(9)",
        "late": "return NOTHING",
        "error": 'send(id=id, error={"code": 1, "message": "no"})\nreturn NOTHING',
    }
    seen: dict[str, tuple[str, str]] = {}
    for name, on in answers.items():
        tool = {"name": "look", "timeout_s": QUICK_S if name == "late" else WAIT_S}
        probe = shop.program(name, tools=[tool], on=case_of("tool/call", on))
        with trio.fail_after(WAIT_S):
            async with (
                PluginHost([probe.path]) as host,
                host.session() as session,
                session.turn("hello") as turn,
            ):
                outcome = await turn.call_tool("look", {})
                seen[name] = (outcome.status, outcome.result.content)
                host.kill()
    assert seen["string"] == ("ok", "plain")
    assert {name: status for name, (status, _) in seen.items()} == {
        "string": "ok",
        "number": "error",
        "crash": "error",
        "late": "timed_out",
        "error": "error",
    }
    assert "SIGKILL" not in seen["crash"][1]
    assert "exited with status 9" in seen["crash"][1]
    assert "no (1)" in seen["error"][1]


async def test_a_session_whose_meta_is_no_json_is_refused_at_once(shop: Workshop) -> None:
    """It is the mistake of the agent, told where it is made; later sessions work."""
    probe = shop.program(hears=["turn_start"])
    with trio.fail_after(WAIT_S):
        async with PluginHost([probe.path]) as host:
            with pytest.raises(TypeError):
                async with host.session(meta={"x": object()}) as session, session.turn("hello"):
                    pass
            async with host.session() as session, session.turn("hello"):
                pass


async def test_a_loop_that_the_agent_blocked_is_the_agents_fault(
    shop: Workshop, caplog: pytest.LogCaptureFixture
) -> None:
    """What can be read by then is read first: who answered in time has answered."""
    hasty = [{"event": "user_prompt_submit", "timeout_s": 0.2}]
    answered = shop.flag("answered")
    answer = "reply(id, {})\nset_flag('answered')\nreturn NOTHING"
    prompt = shop.program(
        "prompt", subscriptions=hasty, on=case_of("hook/user_prompt_submit", answer)
    )
    silent = shop.program(
        "silent",
        subscriptions=hasty,
        on='return NOTHING if method == "hook/user_prompt_submit" else {}',
    )
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([prompt.path, silent.path]) as host,
            host.session() as session,
            session.turn("hello") as turn,
        ):
            fire = session.hooks.begin("user_prompt_submit", turn, source="user", text="hello")
            await trio.lowlevel.checkpoint()  # it is written
            began_s = time.monotonic()
            while time.monotonic() < began_s + 0.8 or not answered.exists():
                assert time.monotonic() < began_s + WAIT_S
                time.sleep(0.01)  # noqa: ASYNC251 - this is what the agent does wrong
            outcome = await fire.wait()
    assert [(part.plugin, part.status) for part in outcome.parts] == [
        ("prompt", "answered"),
        ("silent", "timed_out"),
    ]
    said = [
        record.getMessage()
        for record in caplog.records
        if "blocked its own loop" in record.getMessage()
    ]
    assert len(said) == 1
    assert said[0].endswith("; a timeout of the plugin silent was noticed late")


@pytest.mark.parametrize("replaces", [False, True])
async def test_the_agents_budget_ends_a_fire_as_a_whole(shop: Workshop, replaces: bool) -> None:
    hangs = 'return NOTHING if method == "hook/user_prompt_submit" else {}'
    subscriptions = [{"event": "user_prompt_submit", "replaces": replaces}]
    programs = [
        shop.program(name, subscriptions=subscriptions, on=hangs) for name in ("one", "two")
    ]
    with trio.fail_after(WAIT_S / 4):
        async with (
            PluginHost([program.path for program in programs]) as host,
            host.session() as session,
            session.turn("hello") as turn,
        ):
            outcome = await session.hooks.ask(
                "user_prompt_submit", turn, budget_s=0.3, source="user", text="hello"
            )
            turn.finish("completed")
    first, second = outcome.parts
    assert (first.plugin, first.status) == ("one", "timed_out")
    # what is kept for the second of two in sequence, a busy machine uses up
    ends = ("timed_out", "not_asked") if replaces else ("timed_out",)
    assert second.plugin == "two"
    assert second.status in ends
