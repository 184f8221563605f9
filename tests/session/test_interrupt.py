"""An interrupt never waits, fires in the promised order, and leaves nothing of the turn behind."""

# An interrupt leaves a turn's block early; these tests know where it does.
# pyright: reportPossiblyUnboundVariable=false

from __future__ import annotations

import os
import signal
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio

from sliphook import Context, PluginHost, Session, Turn
from sliphook_sdk.protocol import Message, Usage
from tests.pairs import check_pairs
from tests.programs import EVERYTHING, WAIT_S, Program, Workshop, case_of, stop, until

AT_ONCE_S = 0.1
"""Far more than the bookkeeping takes, far less than any timeout of a plugin."""

ALL = [{"event": event, "subagents": True} for event in EVERYTHING]


@asynccontextmanager
async def conversation(*programs: Program) -> AsyncGenerator[tuple[PluginHost, Session]]:
    """A host with these plugins and one session."""
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([program.path for program in programs]) as host,
            host.session() as session,
        ):
            yield host, session


async def interrupted_turn(
    session: Session, body: Callable[[Turn], Any], when: Callable[[], bool]
) -> Turn:
    """Run a turn in a new task, interrupt it when `when` is true.

    Return it after its block is left.
    """
    turn = session.turn("hello")
    left = trio.Event()

    async def run() -> None:
        async with turn:
            await body(turn)
        left.set()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(run)
        await until(lambda: session.open_turn is turn and when())
        began = time.perf_counter()
        assert session.interrupt("user_stop", "stop_command") is True
        assert time.perf_counter() - began < AT_ONCE_S
        assert turn.outcome == "interrupted"
        assert session.open_turn is None
        await left.wait()
    return turn


def after(program: Program, method: str) -> list[str]:
    """The methods that came behind the last message of that method."""
    methods = program.methods()
    return methods[len(methods) - methods[::-1].index(method) :]


def hang_in(method: str) -> str:
    return case_of(method, "return NOTHING") + "\nreturn {}"


# -- where it strikes
# ------------------------------------------------------------------------------------------------


async def test_in_a_hook_that_is_asked_side_by_side(shop: Workshop) -> None:
    probe = shop.program(hears=EVERYTHING, on=hang_in("hook/user_prompt_submit"))
    async with conversation(probe) as (_, session):
        await interrupted_turn(
            session,
            lambda turn: turn.submit(),
            lambda: "hook/user_prompt_submit" in probe.methods(),
        )
    assert after(probe, "hook/user_prompt_submit") == [
        "event/agent_loop_stopped",
        "$/cancelRequest",
        "event/turn_end",
        "event/session_end",
        "shutdown",
        "exit",
    ]
    (hook,) = [
        message
        for message in probe.messages()
        if message.get("method") == "hook/user_prompt_submit"
    ]
    assert probe.params("$/cancelRequest") == [{"id": hook["id"]}]
    (stopped,) = probe.params("event/agent_loop_stopped")
    assert (stopped["reason"], stopped["invalidation_reason"]) == ("user_stop", "stop_command")
    assert stopped["inflight"] == {"llm": False, "tools": [], "requests": [hook["id"]]}
    (end,) = probe.params("event/turn_end")
    assert (end["outcome"], end["interrupt_count"]) == ("interrupted", 1)
    check_pairs(probe.fired())


async def test_in_a_hook_that_is_asked_in_sequence(shop: Workshop) -> None:
    first = shop.program(
        "first",
        subscriptions=[{"event": "pre_tool_call", "replaces": True}],
        on=hang_in("hook/pre_tool_call"),
        hears=["turn_end"],
    )
    second = shop.program(
        "second", hears=["pre_tool_call", "post_tool_call", "turn_end"], tools=["look"]
    )
    async with conversation(first, second) as (_, session):
        await interrupted_turn(
            session,
            lambda turn: turn.call_tool("look", {}),
            lambda: "hook/pre_tool_call" in first.methods(),
        )
    assert first.methods() == [
        "initialize",
        "hook/pre_tool_call",
        "$/cancelRequest",
        "event/turn_end",
        "shutdown",
        "exit",
    ]
    assert second.methods() == [
        "initialize",
        "event/post_tool_call",
        "event/turn_end",
        "shutdown",
        "exit",
    ]
    (post,) = second.params("event/post_tool_call")
    assert post["status"] == "cancelled"
    assert post["started"] is False
    assert post["result"] is None


async def test_in_a_tool_call(shop: Workshop) -> None:
    owner = shop.program("owner", hears=EVERYTHING, tools=["look"], on=hang_in("tool/call"))
    other = shop.program("other", hears=EVERYTHING)
    async with conversation(owner, other) as (_, session):
        await interrupted_turn(
            session, lambda turn: turn.call_tool("look", {}), lambda: "tool/call" in owner.methods()
        )
    ending = [
        "event/agent_loop_stopped",
        "$/cancelRequest",
        "event/post_tool_call",
        "event/turn_end",
        "event/session_end",
        "shutdown",
        "exit",
    ]
    assert after(owner, "tool/call") == ending
    assert after(other, "hook/pre_tool_call") == [
        method for method in ending if method != "$/cancelRequest"
    ]
    (call,) = [message for message in owner.messages() if message.get("method") == "tool/call"]
    tools = [call["params"]["call_id"]]
    assert owner.params("event/agent_loop_stopped")[0]["inflight"] == {
        "llm": False,
        "tools": tools,
        "requests": [call["id"]],
    }
    assert other.params("event/agent_loop_stopped")[0]["inflight"] == {
        "llm": False,
        "tools": tools,
        "requests": [],
    }
    (post,) = owner.params("event/post_tool_call")
    assert (post["status"], post["started"]) == ("cancelled", True)
    for program in (owner, other):
        check_pairs(program.fired())


async def test_in_a_model_call(shop: Workshop) -> None:
    probe = shop.program(hears=EVERYTHING)
    calling = trio.Event()

    async def body(turn: Turn) -> None:
        await turn.pre_llm_call(provider=None, model="m", messages=[], tools=[])
        calling.set()
        await trio.sleep_forever()

    async with conversation(probe) as (_, session):
        turn = await interrupted_turn(session, body, calling.is_set)
        turn.post_llm_call(
            provider=None,
            model="m",
            response=Message(role="assistant", content="late"),
            finish_reason=None,
            usage=Usage(),
            duration_ms=None,
        )
    (stopped,) = probe.params("event/agent_loop_stopped")
    assert stopped["inflight"] == {"llm": True, "tools": [], "requests": []}
    assert after(probe, "hook/pre_llm_call")[:2] == ["event/agent_loop_stopped", "event/turn_end"]
    assert "event/post_llm_call" not in probe.methods()


async def test_in_post_tool_call_every_plugin_still_hears_of_it_once(shop: Workshop) -> None:
    """The first of the sequence hangs.

    The later ones were not asked, and must learn of the tool's end.
    """
    replacer = shop.program(
        "replacer",
        subscriptions=[{"event": "post_tool_call", "replaces": True}],
        on=hang_in("hook/post_tool_call"),
    )
    asked = shop.program("asked", hears=EVERYTHING, tools=["look"])
    told = shop.program(
        "told",
        subscriptions=[
            {"event": event, "mode": "event"} for event in ("pre_tool_call", "post_tool_call")
        ],
    )
    async with conversation(replacer, asked, told) as (_, session):
        await interrupted_turn(
            session,
            lambda turn: turn.call_tool("look", {}),
            lambda: "hook/post_tool_call" in replacer.methods(),
        )
    check_pairs(asked.fired())
    assert [one["status"] for one in asked.params("event/post_tool_call")] == ["ok"]
    assert told.names() == ["pre_tool_call", "post_tool_call"]
    assert replacer.names() == ["post_tool_call"]


async def test_while_a_child_agent_is_at_work_the_innermost_ends_first(shop: Workshop) -> None:
    probe = shop.program(subscriptions=ALL, tools=["look"], on=hang_in("tool/call"))

    async def body(turn: Turn) -> None:
        async with turn.subagent("outer") as outer, outer.subagent("inner") as inner:
            await inner.call_tool("look", {})

    async with conversation(probe) as (_, session):
        await interrupted_turn(session, body, lambda: "tool/call" in probe.methods())
    assert after(probe, "$/cancelRequest") == [
        "event/post_tool_call",
        "event/turn_end",
        "event/subagent_stop",
        "event/turn_end",
        "event/subagent_stop",
        "event/turn_end",
        "event/session_end",
        "shutdown",
        "exit",
    ]
    assert [one["agent_depth"] for one in probe.params("event/turn_end")] == [2, 1, 0]
    assert [(one["agent_depth"], one["status"]) for one in probe.params("event/subagent_stop")] == [
        (1, "cancelled"),
        (0, "cancelled"),
    ]
    check_pairs(probe.fired())


async def test_while_a_child_agent_is_announced(shop: Workshop) -> None:
    """The child's turn has not begun: `subagent_stop` follows, and no `turn_end`."""
    probe = shop.program(subscriptions=ALL, on=hang_in("hook/subagent_start"))

    async def body(turn: Turn) -> None:
        async with turn.subagent("dig"):
            pytest.fail("it has begun")

    async with conversation(probe) as (_, session):
        await interrupted_turn(session, body, lambda: "hook/subagent_start" in probe.methods())
    assert after(probe, "$/cancelRequest")[:2] == ["event/subagent_stop", "event/turn_end"]
    check_pairs(probe.fired())


async def test_a_child_cancelled_while_it_is_announced(shop: Workshop) -> None:
    probe = shop.program(subscriptions=ALL, on=hang_in("hook/subagent_start"))

    async def start_child(turn: Turn) -> None:
        async with turn.subagent("dig"):
            pytest.fail("it has begun")

    async with conversation(probe) as (_, session), session.turn("hello") as turn:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(start_child, turn)
            await probe.hears("hook/subagent_start")
            nursery.cancel_scope.cancel()
        assert not turn.ended
        assert turn.children == []
    assert [one["status"] for one in probe.params("event/subagent_stop")] == ["cancelled"]
    check_pairs(probe.fired())


async def test_while_the_session_start_is_not_answered(shop: Workshop) -> None:
    """It belongs to the session, not to the turn: it is not withdrawn, and its answer counts."""
    go = shop.flag("go")
    answer = "wait_for_flag('go')\nreturn {'context': ['be brief']}"
    probe = shop.program(
        hears=["session_start", "turn_start"], on=case_of("hook/session_start", answer)
    )
    async with conversation(probe) as (_, session):
        await interrupted_turn(
            session, lambda turn: turn.submit(), lambda: "hook/session_start" in probe.methods()
        )
        go.touch()
        assert [context.text for context in await session.ready()] == ["be brief"]
    assert "$/cancelRequest" not in probe.methods()


async def test_all_who_wait_for_the_session_start_are_woken_by_its_timeout(shop: Workshop) -> None:
    """One of them reads the plugin's pipe itself, in which nothing comes."""
    probe = shop.program(
        subscriptions=[{"event": "session_start", "timeout_s": 0.2}], on="return NOTHING"
    )
    answers: list[list[Context]] = []
    async with conversation(probe) as (_, session):

        async def wait() -> None:
            answers.append(await session.ready())

        with trio.fail_after(WAIT_S / 4):
            async with trio.open_nursery() as nursery:
                for _ in range(3):
                    nursery.start_soon(wait)
    assert answers == [[], [], []]


async def test_by_the_loop_itself_between_two_steps(shop: Workshop) -> None:
    """Nothing that the interrupted code still calls is heard, up to the checkpoint that ends it."""
    probe = shop.program(hears=EVERYTHING, tools=["look"])
    reached = "nothing"

    async def body(turn: Turn, step: str) -> None:
        nonlocal reached
        reached = step
        if step == "tool":
            await turn.call_tool("look", {})
        elif step == "model":
            await turn.pre_llm_call(provider=None, model="m", messages=[], tools=[])
        elif step == "child":
            async with turn.subagent("dig"):
                pass
        else:
            await turn.stop()
        pytest.fail("an interrupted turn went on")

    async with conversation(probe) as (_, session):
        for step in ("tool", "model", "child", "stop"):
            async with session.turn(step) as turn:
                session.interrupt()
                await body(turn, step)
            assert (reached, turn.interrupted) == (step, True)
    assert probe.names() == [
        "session_start",
        *["turn_start", "agent_loop_stopped", "turn_end"] * 4,
        "session_end",
    ]
    check_pairs(probe.fired())


# -- who does it
# -------------------------------------------------------------------------------------------------


async def test_from_a_thread(shop: Workshop) -> None:
    probe = shop.program(hears=EVERYTHING, tools=["look"], on=hang_in("tool/call"))
    async with conversation(probe) as (host, session), trio.open_nursery() as nursery:

        async def run() -> None:
            async with session.turn("hello") as turn:
                await turn.call_tool("look", {})

        nursery.start_soon(run)
        await probe.hears("tool/call")
        await trio.to_thread.run_sync(host.interrupt_from_thread, session.session_id)
        await trio.to_thread.run_sync(host.interrupt_from_thread, "no such session")
    assert [one["reason"] for one in probe.params("event/agent_loop_stopped")] == ["user_stop"]
    check_pairs(probe.fired())


async def test_from_the_plugin_that_is_in_the_hook(shop: Workshop) -> None:
    probe = shop.program(
        hears=EVERYTHING,
        uses=["interrupt"],
        on="""
        if method == "hook/user_prompt_submit":
            session, turn = params["session_id"], params["turn_id"]
            request("stale", "host/interrupt", session_id=session, turn_id="another", reason="x")
            request("now", "host/interrupt", session_id=session, turn_id=turn, reason="x")
            return NOTHING
        """,
    )
    async with conversation(probe) as (_, session):
        async with session.turn("hello") as turn:
            await turn.submit()
            pytest.fail("it was not interrupted")
        await probe.has_reply("now")
        async with session.turn("again"):
            pass
    assert probe.replies()["stale"]["result"] == {"interrupted": False}
    assert probe.replies()["now"]["result"] == {"interrupted": True}
    assert [one["reason"] for one in probe.params("event/agent_loop_stopped")] == ["plugin"]
    assert [one["outcome"] for one in probe.params("event/turn_end")] == [
        "interrupted",
        "completed",
    ]
    check_pairs(probe.fired())


# -- what it does not wait for
# ----------------------------------------------------------------------------------------


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


# -- what is left of it
# -----------------------------------------------------------------------------------------------


async def test_what_the_agent_cannot_say_keeps_no_turn_open(shop: Workshop) -> None:
    """Its own mistake, arguments that are no JSON, comes out where it is told of them."""
    probe = shop.program(hears=["agent_loop_stopped", "post_tool_call", "turn_end"])
    said: list[str] = []

    async def own_tool(_: dict[str, Any]) -> str:
        try:
            session.interrupt()
        except TypeError as error:
            said.append(str(error))
        await trio.sleep_forever()

    async with conversation(probe) as (_, session):
        async with session.turn("one") as turn:
            await turn.call_tool("mine", {"handle": object()}, run=own_tool)
        assert turn.interrupted
        async with session.turn("two") as turn:
            await turn.submit()
        assert turn.outcome == "completed"
    assert said == ["Encoding objects of type object is unsupported"]
    assert probe.names()[0] == "agent_loop_stopped"


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
