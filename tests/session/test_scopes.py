"""Sessions and turns as scopes: however the block ends, all that began ends once and in order."""

# An interrupt leaves a turn's block early; these tests know where it does.
# pyright: reportPossiblyUnboundVariable=false

from __future__ import annotations

from typing import NoReturn

import pytest
import trio

from sliphook import HostError, PluginHost, Session, Turn, TurnOpen
from sliphook_sdk.protocol import ToolResult
from tests.pairs import check_pairs
from tests.programs import EVERYTHING, WAIT_S, Program, Workshop

from .scopes import WHOLE_TURN, Fault, ends, whole_turn


async def test_a_whole_turn_in_the_order_of_the_grammar(probe: Program) -> None:
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([probe.path]) as host,
            host.session() as session,
            session.turn("hello") as turn,
        ):
            await whole_turn(turn)
    assert probe.names() == WHOLE_TURN
    assert ends(probe) == (["completed", "completed"], ["exit"])
    assert turn.outcome == "completed"
    (end,) = probe.params("event/session_end")
    assert end["turns"] == 1
    assert end["model_calls"] == 1
    assert end["tool_calls"] == 1


async def test_an_exception_leaves_all_three_blocks_as_it_is(probe: Program) -> None:
    fault = Fault("mine")
    with trio.fail_after(WAIT_S), pytest.raises(Fault) as caught:
        async with (
            PluginHost([probe.path]) as host,
            host.session() as session,
            session.turn("hello"),
        ):
            raise fault
    assert caught.value is fault
    assert ends(probe) == (["failed"], ["error"])


async def test_an_exception_of_a_child_agent(probe: Program) -> None:
    with trio.fail_after(WAIT_S), pytest.raises(Fault):
        async with (
            PluginHost([probe.path]) as host,
            host.session() as session,
            session.turn("hello") as turn,
            turn.subagent("dig"),
        ):
            raise Fault
    assert ends(probe) == (["failed", "failed"], ["error"])
    assert [one["status"] for one in probe.params("event/subagent_stop")] == ["failed"]


async def test_an_exception_in_a_tool_of_the_agents_own_is_a_result(probe: Program) -> None:
    """The model reads of it and can go on, and `post_tool_call` is fired."""

    async def broken(_: dict[str, object]) -> str:
        raise Fault("mine")

    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([probe.path]) as host,
            host.session() as session,
            session.turn("hello") as turn,
        ):
            outcome = await turn.call_tool("mine", {}, run=broken)
    assert (outcome.status, outcome.result.is_error) == ("error", True)
    assert [one["status"] for one in probe.params("hook/post_tool_call")] == ["error"]
    assert ends(probe) == (["completed"], ["exit"])


async def test_a_result_of_the_agents_own_that_is_no_json_is_the_tools_failure(
    probe: Program,
) -> None:
    async def own_tool(_: dict[str, object]) -> ToolResult:
        return ToolResult(content="done", data=object())

    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([probe.path]) as host,
            host.session() as session,
            session.turn("hello") as turn,
        ):
            outcome = await turn.call_tool("mine", {}, run=own_tool)
    assert outcome.status == "error"
    assert outcome.result.content.startswith(
        "the tool mine failed: Encoding objects of type object is unsupported"
    )
    assert [one["status"] for one in probe.params("hook/post_tool_call")] == ["error"]


async def test_cancelled_inside_of_a_tool_of_the_agents_own(probe: Program) -> None:
    async def cancel(_: dict[str, object]) -> NoReturn:
        scope.cancel()
        await trio.sleep_forever()

    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([probe.path]) as host,
            host.session() as session,
            session.turn("hello") as turn,
        ):
            with trio.CancelScope() as scope:
                await turn.call_tool("mine", {}, run=cancel)
            assert scope.cancelled_caught
            assert not turn.interrupted
    assert [one["status"] for one in probe.params("event/post_tool_call")] == ["cancelled"]
    assert ends(probe) == (["completed"], ["exit"])


@pytest.mark.parametrize("level", ["turn", "session", "host"])
async def test_cancelled_from_outside(probe: Program, level: str) -> None:
    """The cancelled scope lies around the turn, the session or the host.

    The plugins hear the end.
    """
    scopes = {name: trio.CancelScope() for name in ("turn", "session", "host")}
    with trio.fail_after(WAIT_S):
        with scopes["host"]:
            async with PluginHost([probe.path]) as host:
                with scopes["session"]:
                    async with host.session() as session:
                        with scopes["turn"]:
                            async with session.turn("hello") as turn:
                                await turn.submit()
                                scopes[level].cancel()
                                await trio.sleep_forever()
    assert scopes[level].cancelled_caught
    assert turn.outcome == "interrupted"
    assert ends(probe) == (["interrupted"], ["exit" if level == "turn" else "shutdown"])
    assert probe.methods()[-2:] == ["shutdown", "exit"]


async def test_cancelled_from_outside_in_a_hook(shop: Workshop) -> None:
    probe = shop.program(
        hears=EVERYTHING, on='return NOTHING if method == "hook/user_prompt_submit" else {}'
    )
    with trio.fail_after(WAIT_S):
        async with trio.open_nursery() as nursery:

            async def agent() -> None:
                async with (
                    PluginHost([probe.path]) as host,
                    host.session() as session,
                    session.turn("hello") as turn,
                ):
                    await turn.submit()

            nursery.start_soon(agent)
            await probe.hears("hook/user_prompt_submit")
            nursery.cancel_scope.cancel()
    assert ends(probe) == (["interrupted"], ["shutdown"])
    assert probe.methods().count("$/cancelRequest") == 1


async def test_the_host_closes_under_a_task_that_is_still_in_a_turn(probe: Program) -> None:
    inside = trio.Event()

    async def converse(session: Session) -> None:
        async with session, session.turn("hello") as turn:
            await turn.submit()
            inside.set()
            await trio.sleep_forever()
        with pytest.raises(HostError, match="ended"):
            async with session.turn("again"):
                pass

    with trio.fail_after(WAIT_S):
        async with trio.open_nursery() as nursery, PluginHost([probe.path]) as host:
            nursery.start_soon(converse, host.session())
            await inside.wait()
    assert ends(probe) == (["interrupted"], ["shutdown"])


async def test_a_session_closed_from_outside_takes_no_more_turns(probe: Program) -> None:
    with trio.fail_after(WAIT_S):
        async with PluginHost([probe.path]) as host, host.session() as session:
            session.close("exit")
            with pytest.raises(HostError, match="session"):
                async with session.turn("hello"):
                    pass
            session.notification("warning", "too late")
            session.reset()
            assert session.interrupt() is False
    assert probe.names() == ["session_start", "session_end"]


async def test_a_turn_in_a_turn_is_refused_and_changes_nothing(probe: Program) -> None:
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([probe.path]) as host,
            host.session() as session,
            session.turn("one") as turn,
        ):
            with pytest.raises(TurnOpen):
                async with session.turn("two"):
                    pass
            await turn.submit()
    assert ends(probe) == (["completed"], ["exit"])


async def test_a_new_message_interrupts_where_it_is_told_to(probe: Program) -> None:
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([probe.path]) as host,
            host.session() as session,
            trio.open_nursery() as nursery,
        ):

            async def first() -> None:
                async with session.turn("one") as turn:
                    await turn.submit()
                    started.set()
                    await trio.sleep_forever()

            started = trio.Event()
            nursery.start_soon(first)
            await started.wait()
            async with session.turn("two", interrupt=True) as second:
                await second.submit()
    assert ends(probe) == (["interrupted", "completed"], ["exit"])
    assert [
        (one["reason"], one["invalidation_reason"])
        for one in probe.params("event/agent_loop_stopped")
    ] == [("new_message", "new_message")]
    assert [one["index"] for one in probe.params("event/turn_start")] == [1, 2]


async def test_reset_ends_one_session_and_begins_another(probe: Program) -> None:
    with trio.fail_after(WAIT_S):
        async with PluginHost([probe.path]) as host, host.session() as session:
            old = session.session_id
            async with session.turn("one"):
                session.reset()
                await trio.sleep_forever()
            new = session.session_id
            async with session.turn("two") as turn:
                await turn.submit()
    assert old != new
    assert probe.names(old) == [
        "session_start",
        "turn_start",
        "agent_loop_stopped",
        "turn_end",
        "session_end",
    ]
    assert probe.names(new) == [
        "session_reset",
        "session_start",
        "turn_start",
        "user_prompt_submit",
        "turn_end",
        "session_end",
    ]
    check_pairs(probe.fired(old))
    check_pairs(probe.fired(new))
    assert probe.params("event/session_reset")[0]["old_session_id"] == old
    assert [one["source"] for one in probe.params("hook/session_start")] == ["startup", "reset"]


async def test_finish_names_the_outcome_and_end_the_reason(probe: Program) -> None:
    with trio.fail_after(WAIT_S):
        async with PluginHost([probe.path]) as host, host.session() as session:
            async with session.turn("hello") as turn:
                turn.finish("max_iterations")
            session.end("reset")
    assert ends(probe) == (["max_iterations"], ["reset"])


async def test_a_denied_prompt(shop: Workshop) -> None:
    probe = shop.program(
        hears=EVERYTHING,
        on=(
            'return {"decision": "deny", "reason": "no"} if method == '
            '"hook/user_prompt_submit" else {}'
        ),
    )
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([probe.path]) as host,
            host.session() as session,
            session.turn("hello") as turn,
        ):
            prompt = await turn.submit()
    assert (prompt.denied, prompt.reason) == (True, "probe: no")
    assert ends(probe) == (["denied"], ["exit"])


async def test_the_tools_of_a_turn_in_a_nursery(probe: Program) -> None:
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([probe.path]) as host,
            host.session() as session,
            session.turn("hello") as turn,
            trio.open_nursery() as nursery,
        ):
            for _ in range(20):
                nursery.start_soon(lambda: turn.call_tool("look", {}))
    assert probe.methods().count("tool/call") == 20
    assert ends(probe) == (["completed"], ["exit"])


async def test_a_child_that_outlives_its_parent_is_cancelled(probe: Program) -> None:
    """The agent runs a child in a task outside of the turn's block, and leaves the block early."""
    begun = trio.Event()
    status: list[bool] = []

    async def child(turn: Turn) -> None:
        async with turn.subagent("dig") as own:
            begun.set()
            await trio.sleep_forever()
        status.append(own.interrupted)

    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([probe.path]) as host,
            host.session() as session,
            trio.open_nursery() as nursery,
            session.turn("hello") as turn,
        ):
            nursery.start_soon(child, turn)
            await begun.wait()
    assert status == [True]
    assert ends(probe) == (["interrupted", "completed"], ["exit"])


async def test_a_child_of_a_turn_that_has_ended_does_not_begin(probe: Program) -> None:
    with trio.fail_after(WAIT_S):
        async with PluginHost([probe.path]) as host, host.session() as session:
            async with session.turn("hello") as turn:
                pass
            with pytest.raises(HostError, match="ended"):
                async with turn.subagent("late"):
                    pass
    assert "subagent_start" not in probe.names()
    assert ends(probe) == (["completed"], ["exit"])


async def test_what_is_called_on_a_turn_that_has_ended_says_nothing(probe: Program) -> None:
    """A thread or task of the old turn still works: it fires nothing and is allowed nothing."""
    with trio.fail_after(WAIT_S):
        async with PluginHost([probe.path]) as host, host.session() as session:
            async with session.turn("hello") as turn:
                pass
            await probe.hears("event/turn_end")
            before = probe.names()
            assert (await turn.submit()).denied
            assert (await turn.pre_llm_call(provider=None, model="m", messages=[], tools=[])).denied
            tool = await turn.call_tool("look", {})
            assert tool.status in ("denied", "cancelled")
            assert await turn.stop() is None
            turn.llm_call_failed(attempt=1, kind="x", status=None, message="", will_retry=False)
            assert (await turn.decide("question", "?", None)).why == "the turn has ended"
            await host.fire(
                "notification",
                session.stamp(
                    "notification", None, {"level": "info", "message": "", "source": "x"}
                ),
            )
            await probe.hears("event/notification")
    assert turn.outcome == "completed"
    assert [name for name in probe.names() if name not in before] == ["notification", "session_end"]


async def test_two_sessions_count_for_themselves(probe: Program) -> None:
    async def converse(session: Session) -> None:
        async with session, session.turn("hello") as turn:
            await whole_turn(turn)

    with trio.fail_after(WAIT_S):
        async with PluginHost([probe.path]) as host, trio.open_nursery() as nursery:
            sessions = [host.session(session_key=str(number)) for number in range(5)]
            for session in sessions:
                nursery.start_soon(converse, session)
    for session in sessions:
        assert probe.names(session.session_id) == WHOLE_TURN
        check_pairs(probe.fired(session.session_id))
