"""Work that was told to stop and goes on is called that, until it ends or its process does."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from sliphook import PluginHost, Session, ToolOutcome
from sliphook.testing import CRASHES, HANGS, After, FakePlugin
from sliphook.trace.record import TraceRecord
from sliphook.transport.unfinished import MAX_UNFINISHED
from tests.programs import Workshop, case_of, until

HEARD = (
    "session_start",
    "post_tool_call",
    "turn_end",
    "notification",
    "agent_loop_stopped",
    "subagent_stop",
)


class Scene:
    """A host with the deaf plugin and an auditor, and what was said of them."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.records: list[TraceRecord] = []
        self.auditor = FakePlugin("auditor", hooks=dict.fromkeys(HEARD))
        self.begun = trio.Event()

    def record(self, record: TraceRecord) -> None:
        self.records.append(record)

    def hide(self, secrets: Any) -> None:
        del secrets

    def told(self, name: str) -> list[dict[str, Any]]:
        """The payloads of an event that the auditor was told of."""
        return [message.params for message in self.auditor.fired() if message.name == name]

    def ends(self) -> list[dict[str, Any]]:
        """The ends of late work that the auditor was told of."""
        return [one["late_end"] for one in self.told("notification") if "late_end" in one]

    def deaf(self, seconds: float, reply: Any = "deployed", **more: Any) -> FakePlugin:
        """A plugin whose tool `deploy` does not look whether it was cancelled."""

        async def deploy(_: Any) -> Any:
            self.begun.set()
            with trio.CancelScope(shield=True):
                await trio.sleep(seconds)
            return reply

        return FakePlugin("ops", tools={"deploy": deploy}, **more)

    @asynccontextmanager
    async def session(self, *plugins: FakePlugin) -> AsyncGenerator[tuple[PluginHost, Session]]:
        with trio.fail_after(120):
            async with (
                PluginHost(
                    [*plugins, self.auditor],
                    on_problem=lambda plugin, line: self.lines.append(line),
                    trace=self,
                ) as host,
                host.session() as session,
            ):
                await session.ready()
                yield host, session

    async def interrupted(
        self, session: Session, call: Callable[[Any], Any] | None = None
    ) -> ToolOutcome | None:
        """A turn that is interrupted while `deploy` runs."""
        outcomes: list[ToolOutcome] = []
        async with trio.open_nursery() as nursery:

            @nursery.start_soon
            async def press() -> None:
                await self.begun.wait()
                session.interrupt("user_stop", "stop_command")

            async with session.turn("hello") as turn:
                outcomes.append(await (call(turn) if call else turn.call_tool("deploy", {})))
        await self.auditor.hears("turn_end")
        return outcomes[0] if outcomes else None


async def test_a_tool_that_does_its_work_all_the_same_is_called_that(
    autojump_clock: MockClock,
) -> None:
    scene = Scene()
    async with scene.session(scene.deaf(3.2)) as (_, session):
        await scene.interrupted(session)
        (over,), (end,) = scene.told("post_tool_call"), scene.told("turn_end")
        assert (over["status"], over["started"], over["still_running"]) == ("cancelled", True, True)
        assert end["still_running"] == [over["call_id"]]
        assert scene.lines == []  # most tools stop at once, and need no line
        await trio.sleep(1)
        assert scene.lines == ["ops was told to stop the tool deploy 0.5 s ago; still running"]
        assert scene.ends() == []
        await trio.sleep(3)
        assert scene.lines[1:] == [
            "ops went on with the tool deploy: ended 3.2 s after it was told to stop;"
            " it succeeded, so its work is done"
        ]
        (late,) = scene.ends()
        assert (late["call_id"], late["tool_name"]) == (over["call_id"], "deploy")
        assert (late["how"], late["after_ms"]) == ("ok", pytest.approx(3200, abs=1))
        (said,) = [one for one in scene.told("notification") if "late_end" in one]
        assert (said["source"], said["level"], said["turn_id"]) == ("host", "warning", None)
        # the next turn has nothing of it
        async with session.turn("again"):
            pass
        await scene.auditor.hears("turn_end", times=2)
        assert scene.told("turn_end")[-1]["still_running"] == []
    notes = [
        (one.kind, one.verdict, one.note) for one in scene.records if one.method == "tool/call"
    ]
    assert notes[1:] == [
        ("settled", "cancelled", "told to stop; still running"),
        (
            "late",
            None,
            "ended 3.2 s after it was told to stop; it succeeded, so its work is done",
        ),
    ]


@pytest.mark.parametrize(
    ("reply", "how", "words"),
    [
        ({"content": "no such host", "is_error": True}, "failed", "returned an error"),
        ({"content": 7, "is_error": "?"}, "unknown", "returned something that cannot be read"),
        ("deployed", "ok", "returned a result"),
        ("x" * 300_000, "ok", "returned a result"),
        ("x" * 2_000_000, "unknown", "returned something that cannot be read"),
    ],
)
async def test_the_end_tells_what_came_of_it_however_soon(
    reply: Any, how: str, words: str, autojump_clock: MockClock
) -> None:
    scene = Scene()
    async with scene.session(scene.deaf(0.1, reply)) as (_, session):
        await scene.interrupted(session)
        await trio.sleep(1)
        assert [end["how"] for end in scene.ends()] == [how]
    assert scene.lines == [f"ops {words} for the tool deploy 100 ms after it was told to stop"]


async def test_a_tool_that_stops_needs_no_line_and_its_end_is_told(
    autojump_clock: MockClock,
) -> None:
    scene = Scene()

    async def deploy(_: Any) -> None:
        scene.begun.set()
        await trio.sleep_forever()

    async with scene.session(FakePlugin("ops", tools={"deploy": deploy})) as (_, session):
        await scene.interrupted(session)
        await trio.sleep(1)
        assert [end["how"] for end in scene.ends()] == ["stopped"]
        assert scene.told("notification")[0]["level"] == "info"
    assert scene.lines == []


async def test_a_tool_that_timed_out_and_runs_on(autojump_clock: MockClock) -> None:
    scene = Scene()
    ops = scene.deaf(40.0)
    async with scene.session(ops) as (_, session):
        async with session.turn("hello") as turn:
            outcome = await turn.call_tool("deploy", {})
            assert (outcome.status, outcome.still_running) == ("timed_out", True)
            assert outcome.result.content == (
                "the tool deploy failed: no answer within 30 s; it was told to stop, and still runs"
            )
        await scene.auditor.hears("turn_end")
        (over,), (end,) = scene.told("post_tool_call"), scene.told("turn_end")
        assert (over["status"], over["still_running"]) == ("timed_out", True)
        assert end["still_running"] == [over["call_id"]]
        await trio.sleep(20)
        assert [end["how"] for end in scene.ends()] == ["ok"]
    assert scene.lines == [
        "ops was told to stop the tool deploy 0.5 s ago; still running",
        "ops went on with the tool deploy: ended 10.0 s after it was told to stop;"
        " it succeeded, so its work is done",
    ]


async def test_a_process_that_ends_takes_its_work_along(autojump_clock: MockClock) -> None:
    scene = Scene()
    ops = scene.deaf(60.0, hooks={"stop": CRASHES})
    async with scene.session(ops) as (_, session):
        await scene.interrupted(session)
        await trio.sleep(1)
        async with session.turn("again") as turn:
            await turn.stop()
        await trio.sleep(1)
        assert [(end["how"], end["tool_name"]) for end in scene.ends()] == [("killed", "deploy")]
        assert (
            "ops ended while the tool deploy still ran: killed; the work may be half done"
        ) in scene.lines
        await trio.sleep(100)  # the next process knows nothing of it
    assert len(scene.ends()) == 1
    assert sum("deploy" in line for line in scene.lines) == 2
    (killed,) = [one for one in scene.records if one.kind == "late"]
    assert (killed.method, killed.verdict) == ("tool/call", "killed")
    assert re.fullmatch(
        r"killed \d\.\d s after it was told to stop; its work may be half done", killed.note or ""
    )


async def test_the_end_of_the_host_while_a_tool_runs_is_told_to_the_user(
    autojump_clock: MockClock,
) -> None:
    """After `session_end` no plugin is told of anything."""
    scene = Scene()
    async with scene.session(scene.deaf(60.0)) as (_, session):
        await scene.interrupted(session)
        session.end("signal")
    assert scene.ends() == []
    assert scene.lines == [
        "ops ended while the tool deploy still ran: killed; the work may be half done"
    ]


async def test_a_second_interrupt_and_a_reset_say_nothing_more(autojump_clock: MockClock) -> None:
    scene = Scene()
    async with scene.session(scene.deaf(3.2)) as (_, session):
        await scene.interrupted(session)
        assert session.interrupt() is False
        session.reset("new_command")
        await trio.sleep(5)
        assert scene.ends() == []  # the call is none of the new session's
    assert len(scene.lines) == 2
    assert len(scene.told("post_tool_call")) == 1


async def test_what_was_never_sent_never_began(autojump_clock: MockClock) -> None:
    """The plugin starts again: the request waits in the host."""
    scene = Scene()
    ops = scene.deaf(3.2)
    async with scene.session(ops) as (host, session):
        ops.freeze()
        ops.crash()
        while host.plugins[0].state != "starting":  # noqa: ASYNC110 - there is no event for it
            await trio.sleep(0.01)
        async with session.turn("hello") as turn:
            with trio.move_on_after(0.2):
                await turn.call_tool("deploy", {}, model_call_id="m-1")
            assert turn.tools_begun == set()
        ops.thaw()
        await scene.auditor.hears("turn_end")
        await trio.sleep(5)
        (over,) = scene.told("post_tool_call")
        assert (over["started"], over["still_running"]) == (False, False)
        assert over["duration_ms"] is None
        assert scene.told("turn_end")[0]["still_running"] == []
    assert [line for line in scene.lines if "deploy" in line] == []


async def test_a_child_agents_tool_is_named_in_the_ends_of_all_its_parents(
    autojump_clock: MockClock,
) -> None:
    scene = Scene()

    async def child(turn: Any) -> Any:
        async with turn.subagent("deploy it") as inner:
            return await inner.call_tool("deploy", {})

    async with scene.session(scene.deaf(3.2)) as (_, session):
        await scene.interrupted(session, child)
        (stop,) = scene.told("subagent_stop")
        assert stop["status"] == "cancelled"
        assert len(stop["still_running"]) == 1
        assert scene.told("turn_end")[-1]["still_running"] == stop["still_running"]
        await trio.sleep(5)
        assert [end["call_id"] for end in scene.ends()] == stop["still_running"]


async def test_the_agents_own_tool_has_ended_when_its_call_returns(
    autojump_clock: MockClock,
) -> None:
    scene = Scene()
    steps: list[str] = []

    async def own(_: Any) -> str:
        scene.begun.set()
        try:
            await trio.sleep(3600)
        finally:
            steps.append("ended")
        return "never"

    async with scene.session() as (_, session):
        await scene.interrupted(session, lambda turn: turn.call_tool("mine", {}, run=own))
        assert steps == ["ended"]
        assert scene.told("post_tool_call")[0]["still_running"] is False
        await trio.sleep(5)
    assert scene.ends() == []
    assert scene.lines == []


async def test_a_command_and_a_hooks_handler_that_go_on(autojump_clock: MockClock) -> None:
    scene = Scene()

    async def deaf(_: Any) -> None:
        scene.begun.set()
        with trio.CancelScope(shield=True):
            await trio.sleep(2)

    ops = FakePlugin("ops", commands={"sync": deaf}, hooks={"user_prompt_submit": deaf})
    async with scene.session(ops) as (_, session):
        with trio.move_on_after(0.1):
            await session.run_command("sync", "")
        await trio.sleep(3)
        assert scene.lines == [
            "ops was told to stop the command /sync 0.5 s ago; still running",
            "ops went on with the command /sync: ended 1.9 s after it was told to stop;"
            " it succeeded, so its work is done",
        ]
        scene.lines.clear()
        await scene.interrupted(session, lambda turn: turn.submit())
        await trio.sleep(3)
        assert scene.lines == [
            "ops was told to stop its handler of user_prompt_submit 0.5 s ago; still running",
            "ops went on with its handler of user_prompt_submit: ended 2.0 s after it was told to"
            " stop; it succeeded, so its work is done",
        ]
    assert scene.ends() == []


async def test_lines_and_memory_are_bounded_however_much_goes_on(autojump_clock: MockClock) -> None:
    scene = Scene()
    ops = FakePlugin("ops", tools={"deploy": HANGS, "build": After(0.6, "done")})
    calls = MAX_UNFINISHED + 44
    async with scene.session(ops) as (host, session):
        async with trio.open_nursery() as nursery:

            @nursery.start_soon
            async def press() -> None:
                await ops.hears("tool/call", times=calls)
                session.interrupt()

            async with session.turn("hello") as turn, trio.open_nursery() as tools:
                nothing: dict[str, Any] = {}
                for _ in range(calls):
                    tools.start_soon(turn.call_tool, "deploy", nothing)
        await trio.sleep(1)
        assert scene.lines == ["ops was told to stop the tool deploy 0.5 s ago; still running"]
        await host.restart("ops")
        await trio.sleep(60)
        # of the oldest nothing is known any more
        assert [end["how"] for end in scene.ends()] == ["killed"] * MAX_UNFINISHED
    assert len(scene.lines) == 2


async def test_a_plugin_without_an_sdk_that_replies_when_it_is_done(shop: Workshop) -> None:
    """A process over pipes, as any language writes it: it replies after the next turn began."""
    lines: list[str] = []
    ops = shop.program(
        "ops",
        hears=["turn_start", "notification", "post_tool_call", "turn_end"],
        tools=["deploy"],
        before="""
        held = []
        def heard(message):
            if message.get("method") == "event/turn_start" and held:
                reply(held.pop(), {"content": "deployed"})
        """,
        on=case_of("tool/call", "held.append(id)\nreturn NOTHING"),
    )
    with trio.fail_after(120):
        async with (
            PluginHost([ops.path], on_problem=lambda _, line: lines.append(line)) as host,
            host.session() as session,
            trio.open_nursery() as nursery,
        ):

            @nursery.start_soon
            async def press() -> None:
                await ops.hears("tool/call")
                session.interrupt()

            async with session.turn("one") as turn:
                await turn.call_tool("deploy", {})
            assert turn.interrupted
            async with session.turn("two"):
                await ops.hears("event/notification")
    (over,), ends = ops.params("event/post_tool_call"), ops.params("event/notification")
    assert over["still_running"] is True
    assert [(end["late_end"]["call_id"], end["late_end"]["how"]) for end in ends] == [
        (over["call_id"], "ok")
    ]
    # how soon it is done depends on the machine
    words_of_ends = ("it succeeded, so its work is done", "returned a result for the tool deploy")
    await until(lambda: any(words in line for line in lines for words in words_of_ends))


async def test_a_turn_keeps_no_call_whose_work_has_ended(autojump_clock: MockClock) -> None:
    """A call holds its arguments, and a turn may last for days."""
    slow = FakePlugin("slow", tools={"deploy": After(100.0)})
    async with (
        PluginHost([slow]) as host,
        host.session() as session,
        session.turn("go on") as turn,
    ):
        for _ in range(3):
            assert (await turn.call_tool("deploy", {})).status == "timed_out"
            await trio.sleep(1.0)  # it has stopped by then
        assert len(turn.told_to_stop) == 1
