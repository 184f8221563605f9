"""`sliphook.aio`: the host for asyncio.

Cancelling goes both ways, and an interrupt cancels the task that is inside of the turn.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from sliphook import ApprovalRequest, Context, HostError, Submission, TurnOpen, aio
from sliphook.aio import PluginHost, Session, Turn
from sliphook.blocking import PluginHost as BlockingHost
from sliphook.blocking import Session as BlockingSession
from sliphook.blocking import Turn as BlockingTurn
from sliphook.portal import task_caller
from sliphook.portal.portal import HostClosed
from sliphook.session import turn as trio_turn
from sliphook.testing import HANGS, FakePlugin
from sliphook_sdk.protocol import Message, Usage
from sliphook_sdk.protocol.payloads import TurnStart
from tests.pairs import check_pairs
from tests.programs import EVERYTHING, WAIT_S, Workshop


def run(test: Coroutine[Any, Any, None]) -> None:
    """Run one test in asyncio, bounded."""
    asyncio.run(asyncio.wait_for(test, WAIT_S))


def probe(**fields: Any) -> FakePlugin:
    """Hears everything, child agents too."""
    return FakePlugin(
        "probe",
        subscriptions=[{"event": event, "subagents": True} for event in EVERYTHING],
        **fields,
    )


def outcomes(plugin: FakePlugin) -> list[str]:
    check_pairs(
        [{"method": message.method, "params": message.params} for message in plugin.fired()]
    )
    return [payload.outcome for payload in plugin.payloads("turn_end")]


async def shell(arguments: dict[str, Any]) -> str:
    await asyncio.sleep(0)
    return f"ran {arguments['command']}"


async def until(done: Callable[[], bool]) -> None:
    async with asyncio.timeout(WAIT_S):
        while not done():  # noqa: ASYNC110 - what happens in the host's thread sets no event here
            await asyncio.sleep(0.002)


@pytest.mark.parametrize(
    ("face", "other"),
    [(PluginHost, BlockingHost), (Session, BlockingSession), (Turn, BlockingTurn)],
)
def test_it_offers_what_the_blocking_face_offers(face: type, other: type) -> None:
    assert {name for name in dir(other) if not name.startswith("_")} - set(dir(face)) == set()


def test_a_whole_turn() -> None:
    plugin = probe(
        hooks={"session_start": {"context": ["be brief"]}},
        tools={"look": "fine"},
        commands={"hello": {"text": "hi"}},
    )

    async def test() -> None:
        async with PluginHost([plugin]) as host:
            assert [(status.name, status.state) for status in host.plugins] == [("probe", "ready")]
            assert [offer.name for offer in host.tools()] == ["look"]
            async with host.session(model="m") as session:
                assert await session.ready() == [Context("probe", "be brief")]
                assert await session.run_command("hello") == "hi"
                async with session.turn("hello") as turn:
                    assert (await turn.submit()).text == "hello"
                    assert not (
                        await turn.pre_llm_call(provider=None, model="m", messages=[], tools=[])
                    ).denied
                    answer = Message(role="assistant", content="done")
                    turn.post_llm_call(
                        provider=None,
                        model="m",
                        response=answer,
                        finish_reason="stop",
                        usage=Usage(),
                        duration_ms=1.0,
                    )
                    assert (await turn.call_tool("look", {}, model_call_id="m-1")).text() == "fine"
                    assert turn.tools_begun == {"m-1"}
                    assert (
                        await turn.call_tool("shell", {"command": "ls"}, run=shell)
                    ).text() == "ran ls"
                    async with turn.subagent("look around") as child:
                        child.summary = "nothing there"
                    assert await turn.stop() is None
                assert (turn.outcome, turn.interrupted) == ("completed", False)

    run(test())
    assert plugin.names() == [
        "session_start",
        "turn_start",
        "user_prompt_submit",
        "pre_llm_call",
        "post_llm_call",
        "pre_tool_call",
        "post_tool_call",
        "pre_tool_call",
        "post_tool_call",
        "subagent_start",
        "turn_start",
        "turn_end",
        "subagent_stop",
        "stop",
        "turn_end",
        "session_end",
    ]
    assert outcomes(plugin) == ["completed", "completed"]


def test_a_real_process(shop: Workshop) -> None:
    program = shop.program("real", hears=["turn_start", "turn_end"], tools=["look"])

    async def test() -> None:
        async with (
            PluginHost([program.path]) as host,
            host.session() as session,
            session.turn("x") as turn,
        ):
            assert (await turn.call_tool("look", {})).text() == "fine"

    run(test())
    assert program.names() == ["turn_start", "turn_end"]


def test_the_loop_goes_on_while_a_hook_is_waited_for() -> None:
    plugin = probe(hooks={"stop": HANGS})
    ticks: list[int] = []

    async def tick(session: Session) -> None:
        for number in range(5):
            ticks.append(number)
            await asyncio.sleep(0.002)
        session.interrupt()

    async def test() -> None:
        async with PluginHost([plugin]) as host, host.session() as session:
            ticking = asyncio.create_task(tick(session))
            async with session.turn("x") as turn:
                await turn.stop()
            await ticking
            assert turn.interrupted

    run(test())
    assert ticks == [0, 1, 2, 3, 4]


def test_errors_are_the_hosts() -> None:
    async def test() -> None:
        async with PluginHost([FakePlugin("p")]) as host, host.session() as session:
            with pytest.raises(HostError, match="there is no command /hello"):
                await session.run_command("hello")
            async with session.turn("one"):
                with pytest.raises(TurnOpen):
                    async with session.turn("two"):
                        pass
        with pytest.raises(HostClosed):
            await session.ready()
        assert session.interrupt() is False

    run(test())


# -- the agent's own code
# ------------------------------------------------------------------------------------------------


def test_tools_approver_and_callbacks_run_in_the_asyncio_loop() -> None:
    where: list[asyncio.AbstractEventLoop] = []

    async def approve(request: ApprovalRequest) -> bool:
        where.append(asyncio.get_running_loop())
        return request.tool_name == "shell"

    async def own(_: dict[str, Any]) -> str:
        where.append(asyncio.get_running_loop())
        return "ran"

    def show(*_: str) -> None:
        where.append(asyncio.get_running_loop())

    async def notify(_: object) -> None:
        await plugin.ask("host/notify", level="warning", message="x")

    plugin = FakePlugin(
        "p", hooks={"pre_tool_call": {"decision": "ask"}, "turn_start": notify}, uses=["notify"]
    )

    async def test() -> None:
        async with (
            PluginHost([plugin], approver=approve, on_notify=show) as host,
            host.session() as session,
            session.turn("x") as turn,
        ):
            assert (await turn.call_tool("shell", {}, run=own)).status == "ok"
            assert (await turn.call_tool("other", {}, run=own)).status == "denied"
            await until(lambda: len(where) == 4)
            assert set(where) == {asyncio.get_running_loop()}

    run(test())


def test_a_tool_that_raises_is_a_result() -> None:
    async def broken(_: dict[str, Any]) -> str:
        raise LookupError("no such file")

    async def test() -> None:
        async with PluginHost([]) as host, host.session() as session, session.turn("x") as turn:
            outcome = await turn.call_tool("shell", {}, run=broken)
            assert (outcome.status, outcome.text()) == (
                "error",
                "the tool shell failed: no such file",
            )

    run(test())


def test_tools_side_by_side() -> None:
    barrier = asyncio.Barrier(3)

    async def together(arguments: dict[str, Any]) -> str:
        await barrier.wait()
        return await shell(arguments)

    async def test() -> None:
        async with PluginHost([]) as host, host.session() as session, session.turn("x") as turn:
            done = await asyncio.gather(
                *(turn.call_tool("shell", {"command": str(n)}, run=together) for n in range(3))
            )
            assert [outcome.text() for outcome in done] == ["ran 0", "ran 1", "ran 2"]

    run(test())


# -- interrupts
# -------------------------------------------------------------------------------------------------


def test_an_interrupt_cancels_whatever_the_turn_waits_for() -> None:
    plugin = probe()

    async def test() -> None:
        async with PluginHost([plugin]) as host, host.session() as session:
            async with session.turn("x") as turn:
                asyncio.get_running_loop().call_later(0.02, session.interrupt)
                await asyncio.sleep(WAIT_S * 2)  # a model's answer
                raise AssertionError("an interrupted turn does not go on")
            assert turn.outcome == "interrupted"
            task = asyncio.current_task()
            assert task is not None
            assert task.cancelling() == 0
            async with session.turn("next"):
                await asyncio.sleep(0)

    run(test())
    assert outcomes(plugin) == ["interrupted", "completed"]


def test_an_interrupt_from_another_thread() -> None:
    plugin = probe(hooks={"stop": HANGS})
    done: list[bool] = []

    async def test() -> None:
        async with PluginHost([plugin]) as host, host.session() as session:
            thread = threading.Timer(0.02, lambda: done.append(session.interrupt()))
            async with session.turn("x") as turn:
                thread.start()
                await turn.stop()
                raise AssertionError("a call of an interrupted turn does not return")
            await asyncio.to_thread(thread.join)
            assert turn.interrupted

    run(test())
    assert (done, outcomes(plugin)) == ([True], ["interrupted"])


def test_an_interrupt_from_another_thread_reaches_a_task_in_a_models_answer() -> None:
    plugin = probe()

    async def test() -> None:
        async with PluginHost([plugin]) as host, host.session() as session:
            thread = threading.Timer(0.02, session.interrupt)
            async with session.turn("x") as turn:
                thread.start()
                await asyncio.sleep(WAIT_S * 2)  # no call of the host's, which would end by itself
                raise AssertionError("an interrupted turn does not go on")
            await asyncio.to_thread(thread.join)
            assert turn.interrupted

    run(test())
    assert outcomes(plugin) == ["interrupted"]


@pytest.mark.parametrize("how", ["interrupt", "reset"])
def test_inside_of_the_block_it_ends_at_the_next_await(how: str) -> None:
    plugin, reached = probe(), [0]

    async def test() -> None:
        async with PluginHost([plugin]) as host, host.session() as session:
            async with session.turn("x"):
                if how == "interrupt":
                    assert session.interrupt() is True
                else:
                    session.reset()
                reached.append(1)
                await asyncio.sleep(0)
                reached.append(2)
            reached.append(3)

    run(test())
    assert reached == [0, 1, 3]


def test_an_interrupt_cancels_the_agents_own_tool_and_calls_in_other_tasks() -> None:
    plugin = probe()
    running, ended = asyncio.Barrier(4), list[str]()

    async def slow(_: dict[str, Any]) -> str:
        await running.wait()
        try:
            await asyncio.sleep(WAIT_S * 2)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise
        return "too late"

    async def test() -> None:
        async with PluginHost([plugin]) as host, host.session() as session:
            async with session.turn("x") as turn, asyncio.TaskGroup() as group:
                for _ in range(3):
                    group.create_task(turn.call_tool("slow", {}, run=slow))
                await running.wait()
                session.interrupt()
            assert turn.interrupted
            await until(lambda: len(ended) == 3)

    run(test())
    assert [payload.status for payload in plugin.payloads("post_tool_call")] == ["cancelled"] * 3
    assert outcomes(plugin) == ["interrupted"]


def test_a_child_is_interrupted_with_its_parent() -> None:
    plugin = probe()

    async def test() -> None:
        async with PluginHost([plugin]) as host, host.session() as session:
            async with session.turn("x") as turn:
                child = turn.subagent("look")
                async with child:
                    asyncio.get_running_loop().call_later(0.02, session.interrupt)
                    await asyncio.sleep(WAIT_S * 2)
                await asyncio.sleep(WAIT_S * 2)
            assert turn.interrupted
            task = asyncio.current_task()
            assert task is not None
            assert task.cancelling() == 0

    run(test())
    assert outcomes(plugin) == ["interrupted", "interrupted"]


# -- cancellation from outside
# -----------------------------------------------------------------------------------------------


def test_a_cancelled_task_withdraws_its_call() -> None:
    # the hook's timeout would cancel the request as well, but later
    plugin = FakePlugin(
        "probe",
        hooks={"stop": HANGS},
        subscriptions=[{"event": "stop", "timeout_s": WAIT_S * 2}, {"event": "turn_end"}],
    )

    async def test() -> None:
        async with (
            PluginHost([plugin]) as host,
            host.session() as session,
            session.turn("x") as turn,
        ):
            began = time.monotonic()
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.02):
                    await turn.stop()
            assert time.monotonic() - began < WAIT_S, "it waited for the hook's timeout"
            assert not turn.interrupted, "one call was given up, the turn goes on"
            assert (await turn.call_tool("shell", {"command": "ls"}, run=shell)).status == "ok"
            await until(
                lambda: any(message.method == "$/cancelRequest" for message in plugin.received)
            )

    run(test())
    assert [payload.outcome for payload in plugin.payloads("turn_end")] == ["completed"]


def test_a_cancelled_task_goes_on_only_when_its_tool_has_ended() -> None:
    """The agent's own tool may need a moment to put down what it holds."""
    begun, ended = asyncio.Event(), list[str]()

    async def tool(_: dict[str, Any]) -> str:
        begun.set()
        try:
            await asyncio.sleep(WAIT_S * 2)
        finally:
            await asyncio.sleep(0.02)
            ended.append("tool")
        return ""

    async def calls(turn: Turn) -> None:
        try:
            await turn.call_tool("slow", {}, run=tool)
        finally:
            ended.append("task")

    async def test() -> None:
        async with (
            PluginHost() as host,
            host.session() as session,
            session.turn("x") as turn,
        ):
            task = asyncio.create_task(calls(turn))
            await begun.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    run(test())
    assert ended == ["tool", "task"]


def test_a_cancel_while_the_block_is_left_is_raised_after_it() -> None:
    plugin = probe()

    async def one_turn(session: Session) -> None:
        async with session.turn("x"):
            task = asyncio.current_task()
            assert task is not None
            asyncio.get_running_loop().call_soon(task.cancel)

    async def test() -> None:
        async with PluginHost([plugin]) as host, host.session() as session:
            with pytest.raises(asyncio.CancelledError):
                await asyncio.create_task(one_turn(session))

    run(test())
    assert outcomes(plugin) == ["completed"]


def test_a_task_that_is_cancelled_ends_its_turn_and_stays_cancelled() -> None:
    plugin = probe(hooks={"stop": HANGS})

    async def one_turn(session: Session) -> None:
        async with session.turn("x") as turn:
            await turn.stop()

    async def test() -> None:
        async with PluginHost([plugin]) as host, host.session() as session:
            task = asyncio.create_task(one_turn(session))
            await until(lambda: "stop" in plugin.names())
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    run(test())
    assert outcomes(plugin) == ["interrupted"]
    assert [payload.reason for payload in plugin.payloads("agent_loop_stopped")] == ["shutdown"]


def test_a_cancel_from_outside_is_not_lost_in_an_interrupt() -> None:
    plugin = probe()

    async def one_turn(session: Session) -> None:
        async with session.turn("x"):
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
            session.interrupt()
            await asyncio.sleep(WAIT_S * 2)

    async def test() -> None:
        async with PluginHost([plugin]) as host, host.session() as session:
            with pytest.raises(asyncio.CancelledError):
                await asyncio.create_task(one_turn(session))

    run(test())
    assert outcomes(plugin) == ["interrupted"]


def test_a_host_that_is_cancelled_while_it_opens() -> None:
    async def test() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05), PluginHost([FakePlugin("p", initialize=HANGS)]):
                raise AssertionError("it does not open")

    run(test())


async def _interrupted_on_the_way_in(monkeypatch: pytest.MonkeyPatch) -> None:
    entered = task_caller.enter

    async def enter_and_be_interrupted(block: Any) -> Any:
        inner = await entered(block)
        if isinstance(inner, trio_turn.Turn):
            session.interrupt()
            # what the interrupt asked the loop for comes before the turn's block has begun
            await asyncio.sleep(0.01)
        return inner

    monkeypatch.setattr("sliphook.aio.enter", enter_and_be_interrupted)
    async with aio.PluginHost() as host, host.session() as session:
        async with session.turn("x") as turn:
            await asyncio.sleep(WAIT_S)
            pytest.fail("the turn was interrupted before its block began")
        assert turn.interrupted


def test_an_interrupt_between_the_turn_and_its_block_ends_the_block(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run(_interrupted_on_the_way_in(monkeypatch))


def test_messages_of_plugins() -> None:
    async def submits(start: TurnStart) -> None:
        await plugin.ask("host/submit", session_key="main", text=f"more {start.index}")

    plugin = probe(hooks={"turn_start": submits}, uses=["submit"])

    async def test() -> None:
        inbox: asyncio.Queue[Submission] = asyncio.Queue()
        async with (
            PluginHost([plugin], on_submit=inbox.put_nowait) as host,
            host.session() as session,
        ):
            async with session.turn("hello"):
                await until(lambda: not inbox.empty())
            async with session.turn(await inbox.get()) as turn:
                assert (await turn.submit()).text == "more 1"
            session.drop_submission(await inbox.get(), "refused")

    run(test())
    assert [end.outcome for end in plugin.payloads("submission_end")] == ["completed", "refused"]


def test_text_before_the_answer_comes_in_the_asyncio_loop() -> None:
    shown: list[tuple[str, bool]] = []
    here = threading.get_ident()
    pieces = [f"{number} " for number in range(200)]

    async def say(_: object) -> dict[str, Any]:
        for piece in pieces:
            await plugin.say(piece)
        return {"substitute": {"response": {"role": "assistant", "content": "done"}}}

    def show(text: str) -> None:
        shown.append((text, threading.get_ident() == here))

    asked = {"event": "pre_llm_call", "replaces": True}
    plugin = FakePlugin("cache", hooks={"pre_llm_call": say}, subscriptions=[asked])

    async def test() -> None:
        async with (
            PluginHost([plugin]) as host,
            host.session() as session,
            session.turn("x") as turn,
        ):
            gate = await turn.pre_llm_call(
                provider=None, model=None, messages=[], tools=[], on_text=show
            )
            assert gate.shown == "".join(pieces)

    run(test())
    assert shown == [(piece, True) for piece in pieces]
