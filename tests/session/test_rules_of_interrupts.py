"""Rules of interrupts through the public face: on fakes, on a clock that jumps."""

from __future__ import annotations

from typing import Any

import pytest
import trio
import trio.testing
from trio.testing import MockClock

from sliphook import Context, Outcome, PluginHost, Turn, TurnOpen
from sliphook.dispatch.fast_path import SingleFire
from sliphook.dispatch.fire import Fire
from sliphook.session.interrupt import interrupt_turns
from sliphook.session.session import Session
from sliphook.testing import HANGS, After, FakePlugin
from sliphook_sdk.protocol import Answer
from sliphook_sdk.protocol.payloads import PreToolCall
from tests.pairs import check_pairs
from tests.programs import EVERYTHING

from .shell import fired, shell


async def test_everything_is_said_in_order_before_interrupt_returns(
    autojump_clock: MockClock,
) -> None:
    plugin = FakePlugin(
        "probe",
        hears=["turn_start", "agent_loop_stopped", "post_tool_call", "turn_end", "pre_tool_call"],
        tools={"slow": HANGS},
    )
    async with (
        PluginHost([plugin]) as host,
        host.session() as session,
        trio.open_nursery() as nursery,
    ):

        async def stop() -> None:
            await plugin.hears("tool/call")
            before = len(plugin.received)
            assert session.interrupt("user_stop", "stop_command")
            assert turn.outcome == "interrupted"
            await trio.testing.wait_all_tasks_blocked()
            said = [message.method for message in plugin.received[before:]]
            assert said == [
                "event/agent_loop_stopped",
                "$/cancelRequest",
                "event/post_tool_call",
                "event/turn_end",
            ]

        nursery.start_soon(stop)
        async with session.turn("x") as turn:
            await turn.call_tool("slow", {})
    (stopped,) = plugin.payloads("agent_loop_stopped")
    (call,) = plugin.payloads("pre_tool_call")
    (request,) = (message.id for message in plugin.received if message.method == "tool/call")
    assert (stopped.reason, stopped.invalidation_reason) == ("user_stop", "stop_command")
    assert (stopped.inflight.tools, stopped.inflight.requests) == ([call.call_id], [request])


async def test_the_next_turn_may_begin_at_once_and_what_comes_late_stays_out_of_it(
    autojump_clock: MockClock,
) -> None:
    plugin = FakePlugin(
        "probe", hears=["turn_start", "turn_end", "pre_tool_call", "post_tool_call"]
    )
    running, late = trio.Event(), list[str]()

    async def stubborn(_: dict[str, Any]) -> str:
        running.set()
        with trio.CancelScope(shield=True):
            await trio.sleep(3.0)
        late.append("it ran on")
        return "too late"

    async def first(session: Session) -> None:
        async with session.turn("one") as turn:
            await turn.call_tool("stubborn", {}, run=stubborn)

    async with (
        PluginHost([plugin]) as host,
        host.session() as session,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(first, session)
        await running.wait()
        async with session.turn("two", interrupt=True):
            assert late == []
            await trio.sleep(5.0)
            assert late == ["it ran on"]
    check_pairs(fired(plugin), gapless=False)
    assert plugin.names() == [
        "turn_start",
        "pre_tool_call",
        "post_tool_call",
        "turn_end",
        "turn_start",
        "turn_end",
    ]
    assert [payload.status for payload in plugin.payloads("post_tool_call")] == ["cancelled"]


async def test_a_second_interrupt_sends_nothing_and_without_a_turn_nothing_is_fired(
    autojump_clock: MockClock,
) -> None:
    plugin = FakePlugin("probe", hears=["agent_loop_stopped", "turn_end"])
    async with PluginHost([plugin]) as host, host.session() as session:
        assert session.interrupt() is False
        async with session.turn("x"):
            assert (session.interrupt(), session.interrupt()) == (True, False)
            await trio.lowlevel.checkpoint()
        assert session.interrupt() is False
    assert plugin.names() == ["agent_loop_stopped", "turn_end"]


async def test_a_turn_that_is_open_refuses_another(autojump_clock: MockClock) -> None:
    async with PluginHost([]) as host, host.session() as session, session.turn("one"):
        with pytest.raises(TurnOpen):
            async with session.turn("two"):
                raise AssertionError


async def test_new_only_queues(autojump_clock: MockClock) -> None:
    """The agent does not wait for plugins to take leave of the old session."""
    plugin = FakePlugin(
        "slow",
        hooks={"session_start": After(3.0, {"context": ["hello"]})},
        hears=["session_end", "session_reset"],
    )
    async with PluginHost([plugin]) as host, host.session() as session:
        old_id, began = session.session_id, trio.current_time()
        session.reset()
        assert trio.current_time() == began
        async with session.turn("x") as turn:
            await turn.submit()
            assert trio.current_time() - began == 3.0
    assert plugin.names() == [
        "session_start",
        "session_end",
        "session_reset",
        "session_start",
        "session_end",
    ]
    (reset,) = plugin.payloads("session_reset")
    assert (reset.old_session_id, reset.session_id != old_id) == (old_id, True)


async def test_texts_that_wait_do_not_outlive_new() -> None:
    """They were meant for the model of the old conversation."""
    async with PluginHost([]) as host, host.session() as session:
        assert session.inject(Context("p", "old"))
        session.reset()
        assert session.take_injected() == []


async def test_a_plugin_may_interrupt_from_inside_its_own_hook(autojump_clock: MockClock) -> None:
    async def enough(call: PreToolCall) -> Answer:
        await plugin.ask(
            "host/interrupt", session_id=call.session_id, turn_id=call.turn_id, reason="enough"
        )
        return Answer()

    plugin = FakePlugin(
        "p", hooks={"pre_tool_call": enough}, hears=["agent_loop_stopped"], uses=["interrupt"]
    )
    async with PluginHost([plugin]) as host, host.session() as session, session.turn("x") as turn:
        await turn.call_tool("shell", {"command": "ls"}, run=shell)
    assert turn.interrupted
    assert [payload.reason for payload in plugin.payloads("agent_loop_stopped")] == ["plugin"]


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (HANGS, ["slow did not answer stop: no answer within 5 s; it counts as no opinion"]),
        (
            {"decison": "deny"},
            [
                "slow did not answer stop: the answer has an unknown field 'decison'; did "
                "you mean decision?; it counts as no opinion"
            ],
        ),
        ({"continue_with": "more"}, []),
        (None, []),
    ],
)
async def test_a_failure_that_counts_as_none_is_said(
    autojump_clock: MockClock, answer: Any, says: list[str]
) -> None:
    problems: list[str] = []
    slow = FakePlugin("slow", hooks={"stop": answer})
    async with (
        PluginHost([slow], on_problem=lambda _, message: problems.append(message)) as host,
        host.session() as session,
        session.turn("hello") as turn,
    ):
        await turn.stop()
    assert problems == says


@pytest.mark.parametrize(
    ("kind", "plugins"), [(SingleFire, ["guard"]), (Fire, ["guard", "second"])]
)
async def test_an_answer_that_an_interrupt_overtakes_permits_nothing(
    kind: type[SingleFire | Fire], plugins: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The turn ends after the last answer, before the waiting task can run.

    That task is outside of the turn's block.
    """
    guards = [FakePlugin(name, hooks={"pre_tool_call": {"decision": "allow"}}) for name in plugins]
    came: list[tuple[str | None, bool]] = []
    finish = kind._finish  # pyright: ignore[reportPrivateUsage]

    with trio.fail_after(120):
        async with (
            PluginHost(guards) as host,
            host.session() as session,
            trio.open_nursery() as nursery,
        ):

            def finish_and_interrupt(fire: SingleFire | Fire, outcome: Outcome) -> None:
                finish(fire, outcome)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
                if isinstance(outcome.payload, PreToolCall):
                    session.interrupt()

            monkeypatch.setattr(kind, "_finish", finish_and_interrupt)
            async with session.turn("x") as turn:

                async def outside() -> None:
                    call: dict[str, Any] = {
                        "call_id": "c",
                        "model_call_id": None,
                        "tool_name": "shell",
                        "origin": "agent",
                        "arguments": {},
                    }
                    outcome = await session.hooks.ask("pre_tool_call", turn, **call)
                    came.append((outcome.decision, outcome.cancelled))

                nursery.start_soon(outside)
                await trio.sleep_forever()
    assert came == [("deny", True)]


async def test_a_stale_turn_id_interrupts_nothing() -> None:
    plugin = FakePlugin("budget", hears=["agent_loop_stopped"], uses=["interrupt"])
    came: list[Any] = []
    with trio.fail_after(120):
        async with (
            PluginHost([plugin]) as host,
            host.session() as session,
            trio.open_nursery() as nursery,
        ):
            async with session.turn("one") as first:
                pass

            async def interrupt(
                turn_id: str,
            ) -> None:  # outside of the turn's block, so that it sees what comes of it
                asked = {"session_id": session.session_id, "reason": "the budget is spent"}
                came.append(await plugin.ask("host/interrupt", turn_id=first.turn_id, **asked))
                came.append(await plugin.ask("host/interrupt", turn_id=turn_id, **asked))
                came.append(await plugin.ask("host/interrupt", **asked))

            async with session.turn("two") as second:
                nursery.start_soon(interrupt, second.turn_id)
                await trio.sleep_forever()
    assert came == [{"interrupted": False}, {"interrupted": True}, {"interrupted": False}]
    assert plugin.names() == ["agent_loop_stopped"]


async def test_an_interrupt_inside_of_an_interrupt_only_counts(autojump_clock: MockClock) -> None:
    """As by a callback of the agent that interrupts, called while an interrupt is at work."""
    plugin = FakePlugin("probe", hears=EVERYTHING)
    async with PluginHost([plugin]) as host, host.session() as session:
        async with session.turn("x") as turn:
            session.interrupt()
            interrupt_turns(turn.hooks, turn, "user_stop", "again")
        assert turn.interrupt_count == 2
    assert plugin.names() == [
        "session_start",
        "turn_start",
        "agent_loop_stopped",
        "turn_end",
        "session_end",
    ]


async def test_a_text_of_several_lines_is_logged_line_by_line() -> None:
    logged: list[tuple[str, str]] = []
    plugin = FakePlugin("probe", uses=["notify"])
    with trio.fail_after(120):
        async with PluginHost(
            [plugin], on_log=lambda _, level, message: logged.append((level, message))
        ):
            fields = {"where": "a.py:7", "traceback": "Traceback\n  \x1b[31mboom\n" + "deep\n" * 60}
            await plugin.tell("host/log", level="error", message="it failed", fields=fields)
            await plugin.ask("host/notify", level="info", message="behind the log")
    lines = [message for level, message in logged if level == "error"]
    assert lines[:3] == ['it failed {"where":"a.py:7"}', "  Traceback", "    \\x1b[31mboom"]
    assert len(lines) == 50


@pytest.mark.parametrize("others", [0, 1])
@pytest.mark.parametrize("tool", ["shell", "deploy"])
@pytest.mark.parametrize("how", ["disabled", "removed"])
async def test_an_interrupt_waits_for_no_plugin_that_is_being_ended(
    autojump_clock: MockClock, how: str, tool: str, others: int
) -> None:
    """It is killed seconds later; a caller outside of the turn's block is free at once, too."""
    match = {"event": "pre_tool_call", "match": {"tool_name": "shell"}}
    guard = FakePlugin(
        "guard", hooks={"pre_tool_call": HANGS}, subscriptions=[match], tools={"deploy": HANGS}
    )
    rest = [FakePlugin(f"other{index}", hears=["pre_tool_call"]) for index in range(others)]
    free_at: list[float] = []
    with trio.fail_after(120):
        async with (
            PluginHost([guard, *rest]) as host,
            host.session() as session,
            trio.open_nursery() as nursery,
        ):

            async def call(turn: Turn) -> None:
                outcome = await turn.call_tool(
                    tool, {"command": "ls"}, run=shell if tool == "shell" else None
                )
                free_at.append(trio.current_time())
                assert outcome.status == "cancelled"

            async with session.turn("x") as turn:
                nursery.start_soon(call, turn)
                await guard.hears("pre_tool_call" if tool == "shell" else "tool/call")
                guard.freeze()
                if how == "disabled":
                    nursery.start_soon(host.disable, "guard")
                else:
                    nursery.start_soon(host.update, rest)
                await trio.sleep(0.5)
                session.interrupt()
            assert (turn.interrupted, trio.current_time()) == (True, 0.5)
    assert free_at == [0.5]


async def test_no_two_events_have_the_same_id_also_where_one_is_told_of_a_session_again(
    autojump_clock: MockClock,
) -> None:
    plugin = FakePlugin("probe", hears=["session_start", "turn_start", "turn_end"])
    async with PluginHost([plugin]) as host, host.session() as session:
        for _ in range(2):
            async with session.turn("x"):
                await plugin.hears("turn_start")
            await trio.sleep(1)
            plugin.crash()
            await trio.sleep(5)
    seen = [(message.name, message.params["event_id"]) for message in plugin.fired()]
    assert [name for name, _ in seen] == [
        *["session_start", "turn_start", "turn_end"] * 2,
        "session_start",
    ]
    assert len({event_id for _, event_id in seen}) == 7
