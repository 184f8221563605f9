"""What is left of an interrupt: nothing in the turn, and no answer for the next one."""

# An interrupt leaves a turn's block early; these tests know where it does.
# pyright: reportPossiblyUnboundVariable=false

from __future__ import annotations

import os
import signal
from collections.abc import Iterable
from typing import Any

import pytest
import trio

from sliphook import PluginHost, Turn
from sliphook.trace.record import TraceRecord
from sliphook_sdk.protocol import Message, Usage
from tests.pairs import check_pairs
from tests.programs import EVERYTHING, WAIT_S, Workshop, until

from .interrupting import conversation, hang_in, interrupted_turn


async def test_what_the_agent_cannot_say_keeps_no_turn_open(shop: Workshop) -> None:
    """Its own mistake, a value that is no JSON, comes out where the plugins are told of it."""
    probe = shop.program(hears=["agent_loop_stopped", "post_tool_call", "turn_end"])
    said: list[str] = []

    async def own_tool(_: dict[str, Any]) -> str:
        meta["handle"] = object()
        try:
            session.interrupt()
        except TypeError as error:
            said.append(str(error))
        del meta["handle"]
        await trio.sleep_forever()

    meta: dict[str, Any] = {}
    async with conversation(probe) as (host, _), host.session(meta=meta) as session:
        async with session.turn("one") as turn:
            await turn.call_tool("mine", {}, run=own_tool)
        assert turn.interrupted
        async with session.turn("two") as turn:
            await turn.submit()
        assert turn.outcome == "completed"
    assert said == ["Encoding objects of type object is unsupported"]
    assert probe.names()[-1] == "turn_end"


async def test_a_second_interrupt_says_nothing(shop: Workshop) -> None:
    probe = shop.program(hears=EVERYTHING)
    async with conversation(probe) as (_, session):
        assert session.interrupt() is False
        async with session.turn("hello"):
            assert session.interrupt() is True
            assert session.interrupt() is False
            assert session.interrupt("reset") is False
        assert session.interrupt() is False
    assert probe.names() == [
        "session_start",
        "turn_start",
        "agent_loop_stopped",
        "turn_end",
        "session_end",
    ]


async def test_an_answer_that_comes_late_is_not_taken_for_the_next(shop: Workshop) -> None:
    """The plugin answers the first turn's hook in the second: each answer goes to its own turn."""
    probe = shop.program(
        hears=EVERYTHING,
        before="held = []",
        on="""
        if method == "hook/user_prompt_submit":
            if not held:
                held.append(id)
                return NOTHING
            reply(held[0], {"decision": "deny", "reason": "late"})
            return {"context": ["in time"]}
        """,
    )
    async with conversation(probe) as (_, session):
        await interrupted_turn(
            session,
            lambda turn: turn.submit(),
            lambda: "hook/user_prompt_submit" in probe.methods(),
        )
        async with session.turn("two") as turn:
            prompt = await turn.submit()
    assert (prompt.denied, [context.text for context in prompt.context]) == (False, ["in time"])
    check_pairs(probe.fired())


async def test_a_task_that_the_interrupt_does_not_reach_gets_no_permission(shop: Workshop) -> None:
    """It waits outside of the turn's block: nothing is raised, the outcome is a denial."""
    probe = shop.program(hears=EVERYTHING, on=hang_in("hook/pre_tool_call"))
    results: list[str] = []

    async def outside(turn: Turn) -> None:
        outcome = await turn.call_tool("mine", {}, run=lambda _: pytest.fail("it ran"))
        results.append(outcome.status)

    async with (
        conversation(probe) as (_, session),
        trio.open_nursery() as nursery,
        session.turn("hello") as turn,
    ):
        nursery.start_soon(outside, turn)
        await probe.hears("hook/pre_tool_call")
        session.interrupt()
    assert results == ["cancelled"]
    assert [one["status"] for one in probe.params("event/post_tool_call")] == ["cancelled"]
    check_pairs(probe.fired())


async def test_a_healthy_plugin_beside_a_hanging_one_hears_at_once(shop: Workshop) -> None:
    hanging = shop.program("hanging", hears=["pre_tool_call"], on="time.sleep(30)")
    healthy = shop.program("healthy", hears=EVERYTHING)

    async def body(turn: Turn) -> None:
        await turn.call_tool("mine", {}, run=lambda _: pytest.fail("it ran"))

    async with conversation(hanging, healthy) as (host, session):
        await interrupted_turn(
            session,
            body,
            lambda: all("hook/pre_tool_call" in one.methods() for one in (healthy, hanging)),
        )
        await healthy.hears("event/turn_end")
        pid = host.plugins[0].pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
    check_pairs(healthy.fired())


class _Records(list[TraceRecord]):
    """A trace in memory."""

    def record(self, record: TraceRecord) -> None:
        self.append(record)

    def hide(self, secrets: Iterable[str]) -> None:
        """Nothing of it is shown."""


async def test_the_trace_of_an_interrupt_is_whole_and_in_order(shop: Workshop) -> None:
    """Its records are made when `interrupt()` has returned; the next turn's come behind them."""
    probe = shop.program(hears=EVERYTHING, on=hang_in("hook/pre_tool_call"))
    trace = _Records()
    before = at_once = 0
    with trio.fail_after(WAIT_S):
        async with PluginHost([probe.path], trace=trace) as host, host.session() as session:
            await session.ready()  # else its answer may come behind the interrupt
            async with session.turn("one") as turn, trio.open_nursery() as nursery:
                nursery.start_soon(lambda: turn.call_tool("mine", {}, run=_returns))
                await probe.hears("hook/pre_tool_call")
                before = len(trace)
                session.interrupt()
                at_once = len(trace)
            async with session.turn("two"):
                await until(lambda: any(one.kind == "settled" for one in trace))
    records = [(one.kind, one.method, one.verdict) for one in trace[before:] if one.plugin]
    assert at_once - before <= 1  # that of the fire; those of the plugins' wires come later
    assert records[:6] == [
        ("message", "event/agent_loop_stopped", None),
        ("message", "$/cancelRequest", None),
        ("message", "event/post_tool_call", None),
        ("message", "event/turn_end", None),
        ("settled", "hook/pre_tool_call", "cancelled"),
        ("message", "event/turn_start", None),
    ]
    times = [one.mono_s for one in trace]
    assert times == sorted(times)


async def _returns(_: dict[str, Any]) -> str:
    return "done"


async def test_the_end_is_told_whatever_the_model_said_last(shop: Workshop) -> None:
    """JSON writes this text in more bytes than a message may have."""
    probe = shop.program(hears=["turn_end"])
    async with conversation(probe) as (_, session), session.turn("one") as turn:
        await turn.pre_llm_call(provider=None, model=None, messages=[], tools=[])
        turn.post_llm_call(
            provider=None,
            model=None,
            response=Message(role="assistant", content="\x01" * 1_000_000),
            finish_reason=None,
            usage=Usage(),
            duration_ms=1.0,
        )
        session.interrupt()
    [told] = [event["params"] for event in probe.fired()]
    assert told["last_assistant_message"] == "\x01" * 32_768
