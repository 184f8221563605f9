"""An interrupt waits for no plugin, and what was not read yet is still in order."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import pytest
import trio

from sliphook import Turn
from tests.pairs import check_pairs
from tests.programs import EVERYTHING, Workshop, stop, until

from .interrupting import AT_ONCE_S, conversation, hang_in, interrupted_turn


def without_a_checkpoint(coroutine: Any) -> Any:
    """Run a coroutine that must not wait; returns its value."""
    with pytest.raises(StopIteration) as done:
        coroutine.send(None)
    return done.value.value


async def test_a_stopped_plugin_holds_neither_the_interrupt_nor_the_next_turn(
    shop: Workshop,
) -> None:
    frozen = shop.program("frozen", hears=EVERYTHING, on=hang_in("hook/user_prompt_submit"))
    async with conversation(frozen) as (host, session):
        pid = host.plugins[0].pid
        assert pid is not None
        await session.ready()
        stop(pid)
        try:
            for _ in range(5):
                first = session.turn("one")
                without_a_checkpoint(first.__aenter__())
                fire = session.hooks.begin("user_prompt_submit", first, source="user", text="one")
                began = time.perf_counter()
                assert session.interrupt() is True
                second = session.turn("two")
                without_a_checkpoint(second.__aenter__())
                assert time.perf_counter() - began < AT_ONCE_S
                assert fire.outcome is not None or not first.fires
                without_a_checkpoint(second.__aexit__(None, None, None))
                without_a_checkpoint(first.__aexit__(None, None, None))
        finally:
            os.kill(pid, signal.SIGCONT)
        await frozen.hears("event/turn_end", times=10)
    one_round = [
        "turn_start",
        "user_prompt_submit",
        "agent_loop_stopped",
        "turn_end",
        "turn_start",
        "turn_end",
    ]
    assert frozen.names() == ["session_start", *one_round * 5, "session_end"]
    check_pairs(frozen.fired())


def deaf_until(flag: str) -> str:
    """A main program that shakes hands, then reads nothing until the flag is there."""
    return f"reply(receive()['id'], MANIFEST)\nwait_for_flag({flag!r})\nserve()"


FULL = 200
"""Notifications of 1,000 characters that more than fill a pipe, and what a program reads ahead."""


async def test_what_was_not_written_is_taken_out_and_events_keep_their_order(
    shop: Workshop,
) -> None:
    go = shop.flag("go")
    deaf = shop.program("deaf", hears=EVERYTHING, main=deaf_until("go"))
    async with conversation(deaf) as (_, session):
        async with session.turn("one") as turn:
            for _ in range(FULL):
                session.notification("info", "x" * 1000)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(
                    lambda: session.hooks.ask("user_prompt_submit", turn, source="user", text="one")
                )
                await until(lambda: len(turn.fires) == 1)
                session.interrupt()
        async with session.turn("two") as turn:
            pass
        go.touch()
        await deaf.hears("event/turn_end", times=2)
    names = deaf.names()
    assert names == [
        "session_start",
        "turn_start",
        *["notification"] * FULL,
        "agent_loop_stopped",
        "turn_end",
        "turn_start",
        "turn_end",
        "session_end",
    ]
    assert "$/cancelRequest" not in deaf.methods()
    check_pairs(deaf.fired(), gapless=False)


async def test_the_end_of_a_turn_overtakes_what_waits_of_another_session(shop: Workshop) -> None:
    go = shop.flag("go")
    deaf = shop.program("deaf", hears=EVERYTHING, main=deaf_until("go"))
    async with conversation(deaf) as (host, session), host.session() as other, other.turn("theirs"):
        async with session.turn("one"):
            for _ in range(FULL):
                other.notification("info", "x" * 1000)
            session.interrupt()
        go.touch()
        await until(lambda: deaf.names().count("notification") == FULL)
    names = deaf.names()
    end = names.index("agent_loop_stopped")
    assert names[end : end + 2] == ["agent_loop_stopped", "turn_end"]
    assert "notification" in names[end:], "the others' events waited, or nothing was overtaken"


async def test_a_tool_is_over_also_for_a_plugin_that_did_not_read_of_it(shop: Workshop) -> None:
    """`post_tool_call` waits unwritten and is withdrawn.

    The plugin gets it as an event all the same.
    """
    go = shop.flag("go")
    deaf = shop.program("deaf", hears=EVERYTHING, main=deaf_until("go"))

    async with conversation(deaf) as (_, session):
        with trio.CancelScope() as scope:
            async with session.turn("one") as turn, trio.open_nursery() as nursery:
                for _ in range(FULL):
                    session.notification("info", "x" * 1000)
                tool: dict[str, Any] = {
                    "call_id": "c",
                    "model_call_id": None,
                    "tool_name": "t",
                    "origin": "agent",
                    "arguments": {},
                }
                over: dict[str, Any] = {
                    "started": True,
                    "status": "ok",
                    "duration_ms": 1.0,
                    "substituted_by": None,
                    "result": None,
                }
                nursery.start_soon(
                    lambda: session.hooks.ask("post_tool_call", turn, **tool, **over)
                )
                await until(lambda: len(turn.fires) == 1)
                scope.cancel()
        go.touch()
        await deaf.hears("event/turn_end")
    assert scope.cancelled_caught
    assert deaf.names().count("post_tool_call") == 1
    assert "event/post_tool_call" in deaf.methods()


async def test_a_session_that_begins_unread_stays_before_its_turns(shop: Workshop) -> None:
    """Its `session_start` still waits at the interrupt: urgent messages must not overtake it."""
    go = shop.flag("go")
    deaf = shop.program("deaf", hears=EVERYTHING, main=deaf_until("go"))
    async with conversation(deaf) as (host, filler):
        for _ in range(FULL):
            filler.notification("info", "x" * 1000)
        async with host.session() as session:
            async with session.turn("one"):
                session.interrupt()
            go.touch()
            await deaf.hears("event/turn_end")
    assert deaf.names(session.session_id) == [
        "session_start",
        "turn_start",
        "agent_loop_stopped",
        "turn_end",
        "session_end",
    ]
    check_pairs(deaf.fired(session.session_id))


async def test_a_session_that_ends_unread_is_told_whole(shop: Workshop) -> None:
    go = shop.flag("go")
    deaf = shop.program("deaf", hears=EVERYTHING, main=deaf_until("go"))
    async with conversation(deaf) as (host, filler):
        for _ in range(FULL):
            filler.notification("info", "x" * 1000)
        async with host.session() as session:
            pass
        go.touch()
        await deaf.hears("event/session_end")
    assert deaf.names(session.session_id) == ["session_start", "session_end"]


async def test_a_plugin_that_is_not_ready_holds_nothing(shop: Workshop) -> None:
    """It has died and is being started again; a closed hook waits for it."""
    late = shop.flag("late")
    guard = shop.program(
        "guard",
        hears=["pre_tool_call", "turn_end"],
        before="if not set_flag('started'): wait_for_flag('late')",
        on="os._exit(1)",
    )

    async def body(turn: Turn) -> None:
        await turn.call_tool("mine", {}, run=lambda _: pytest.fail("it ran"))

    async with conversation(guard) as (host, session):
        async with session.turn("one") as turn:
            outcome = await turn.call_tool("mine", {}, run=lambda _: pytest.fail("it ran"))
            assert outcome.status == "denied"
        await until(lambda: host.plugins[0].state == "starting")
        await interrupted_turn(
            session, body, lambda: session.open_turn is not None and bool(session.open_turn.fires)
        )
        late.touch()
        await until(lambda: host.plugins[0].state == "ready")
    assert guard.methods().count("hook/pre_tool_call") == 1
