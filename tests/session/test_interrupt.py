"""An interrupt never waits, fires in the promised order, and leaves nothing of the turn behind."""

# An interrupt leaves a turn's block early; these tests know where it does.
# pyright: reportPossiblyUnboundVariable=false

from __future__ import annotations

import pytest
import trio

from sliphook import Context, Turn
from sliphook_sdk.protocol import Message, Usage
from tests.pairs import check_pairs
from tests.programs import EVERYTHING, WAIT_S, Workshop, case_of

from .interrupting import ALL, after, conversation, hang_in, interrupted_turn

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
