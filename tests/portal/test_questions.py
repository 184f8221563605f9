"""Questions in the faces for threads and for asyncio: who asks, and what an interrupt ends."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from sliphook import ApprovalRequest, AskRequest, aio, blocking
from tests.programs import WAIT_S, Program, Workshop

ASKS = """
if method == "tool/call":
    request("q", "host/ask", session_id=params["session_id"], prompt="Where to?")
    while True:
        message = receive()
        if message.get("id") == "q":
            return json.dumps(message["result"])
"""
APPROVES = """
import json

def heard(message):
    params = message.get("params", {})
    if params.get("kind") == "approval" and "prompt" in params:
        request("a", "host/answer", session_id=params["session_id"],
                question_id=params["question_id"], choice="allow")
"""


@pytest.fixture
def asker(shop: Workshop) -> Program:
    """Its tool asks the user; it approves whatever is asked."""
    return shop.program(
        hears=["user_input_required"],
        tools=["deploy"],
        before=APPROVES,
        on=ASKS,
        uses=["ask", "approve"],
    )


@pytest.fixture
def guard(shop: Workshop) -> Program:
    on = 'if method == "hook/pre_tool_call": return {"decision": "ask"}'
    return shop.program("guard", hears=["pre_tool_call"], on=on)


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as pool:
        yield pool


ANSWERED = '{"outcome": "answered", "answer": "Bonn"}'


def test_the_asker_of_the_blocking_face_has_a_thread_of_its_own(asker: Program) -> None:
    seen: list[tuple[str, bool]] = []

    def ask(request: AskRequest) -> str:
        seen.append((request.prompt, threading.current_thread() is threading.main_thread()))
        return "Bonn"

    with (
        blocking.PluginHost([asker.path], asker=ask) as host,
        host.session() as session,
        session.turn("x") as turn,
    ):
        assert turn.call_tool("deploy", {}).text() == ANSWERED
    assert seen == [("Where to?", False)]


@pytest.mark.parametrize(
    "error", [SystemExit(1), KeyboardInterrupt(), blocking.Interrupted("x")], ids=repr
)
def test_an_asker_that_ends_its_thread_ends_no_host(
    asker: Program, error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    def ask(request: AskRequest) -> str:
        raise error

    outcomes: list[str] = []
    with (
        blocking.PluginHost([asker.path], asker=ask) as host,
        host.session() as session,
        session.turn("x") as turn,
    ):
        outcomes += [turn.call_tool("deploy", {}).text() for _ in range(2)]
    assert outcomes == ['{"outcome": "nobody", "answer": null}'] * 2
    messages = [record.message for record in caplog.records if record.exc_info]
    assert messages == ["the person could not be asked"] * 2


def test_an_interrupt_does_not_wait_for_the_thread_of_the_asker(
    asker: Program, threads: ThreadPoolExecutor
) -> None:
    asked, go_on = threading.Event(), threading.Event()

    def ask(_: AskRequest) -> str:
        asked.set()
        go_on.wait(WAIT_S)
        return "too late"

    try:
        with blocking.PluginHost([asker.path], asker=ask) as host, host.session() as session:

            def interrupts() -> bool:
                assert asked.wait(WAIT_S)
                return session.interrupt()

            interrupted = threads.submit(interrupts)
            with session.turn("x") as turn:
                turn.call_tool("deploy", {})
            assert interrupted.result(WAIT_S)
            assert turn.interrupted
            # the next question is asked while the old function still waits
            asked.clear()
            with session.turn("y") as turn:
                go_on.set()
                assert "too late" in turn.call_tool("deploy", {}).text()
    finally:
        go_on.set()


def test_a_plugin_approves_while_the_approver_waits(guard: Program, asker: Program) -> None:
    """The calling thread is busy with the approver; the call goes on when that has returned."""
    answered = threading.Event()

    def approve(_: Any) -> bool:
        assert answered.wait(WAIT_S)
        return False

    def notify(plugin: str, level: str, message: str) -> None:
        answered.set()

    with (
        blocking.PluginHost([guard.path, asker.path], approver=approve, on_notify=notify) as host,
        host.session() as session,
        session.turn("x") as turn,
    ):
        assert turn.call_tool("shell", {}, run=lambda _: "ran").text() == "ran"


def test_an_approver_that_queues_is_asked_of_several_threads_at_once(
    guard: Program, threads: ThreadPoolExecutor
) -> None:
    both = threading.Barrier(2)

    def approve(_: ApprovalRequest) -> bool:
        both.wait(WAIT_S)
        return True

    with (
        blocking.PluginHost([guard.path], approver=approve, approver_queues=True) as host,
        host.session() as session,
        session.turn("x") as turn,
    ):
        calls = [threads.submit(turn.call_tool, "shell", {}, run=lambda _: "ran") for _ in range(2)]
        assert [call.result(WAIT_S).text() for call in calls] == ["ran", "ran"]


def test_decide_in_the_calling_thread(asker: Program) -> None:
    with (
        blocking.PluginHost([asker.path]) as host,
        host.session() as session,
        session.turn("x") as turn,
    ):
        here = threading.current_thread()
        verdict = turn.decide("question", "Go on?", lambda _: threading.current_thread() is here)
        assert (verdict.allowed, verdict.by) == (True, "user")


def test_the_asker_of_the_asyncio_face_is_a_task(asker: Program) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()

        async def ask(request: AskRequest) -> str:
            assert asyncio.get_running_loop() is loop
            await asyncio.sleep(0)
            return "Bonn"

        async def go_on(_: str) -> bool:
            return asyncio.get_running_loop() is loop

        async with (
            aio.PluginHost([asker.path], asker=ask) as host,
            host.session() as session,
            session.turn("x") as turn,
        ):
            assert (await turn.call_tool("deploy", {})).text() == ANSWERED
            assert (await turn.decide("question", "Go on?", go_on)).allowed

    asyncio.run(asyncio.wait_for(main(), WAIT_S))


NOBODY = '{"outcome": "nobody", "answer": null}'


def test_where_no_one_can_be_asked_no_asker_is_called(shop: Workshop) -> None:
    """In both faces `can_ask` is called in the host's thread."""
    path = shop.program("asking", tools=["deploy"], on=ASKS, uses=["ask"]).path
    threads: list[bool] = []
    said: list[str] = []

    def can_ask(request: AskRequest) -> bool:
        threads.append(threading.current_thread() is threading.main_thread())
        return False

    def ask(request: AskRequest) -> str:
        raise AssertionError("no one can be asked")

    async def ask_later(request: AskRequest) -> str:
        raise AssertionError("no one can be asked")

    async def in_asyncio() -> None:
        async with (
            aio.PluginHost([path], asker=ask_later, can_ask=can_ask) as host,
            host.session() as session,
            session.turn("x") as turn,
        ):
            said.append((await turn.call_tool("deploy", {})).text())

    with (
        blocking.PluginHost([path], asker=ask, can_ask=can_ask) as host,
        host.session() as session,
        session.turn("x") as turn,
    ):
        said.append(turn.call_tool("deploy", {}).text())
    asyncio.run(asyncio.wait_for(in_asyncio(), WAIT_S))
    assert said == [NOBODY, NOBODY]
    assert threads == [False, False]


def test_an_approver_that_queues_is_asked_of_several_tasks_at_once(guard: Program) -> None:
    async def main() -> list[str]:
        asked, both, texts = list[ApprovalRequest](), asyncio.Event(), list[str]()

        async def approve(request: ApprovalRequest) -> bool:
            asked.append(request)
            if len(asked) == 2:
                both.set()
            await both.wait()
            return True

        async def run(_: object) -> str:
            return "ran"

        async with (
            aio.PluginHost([guard.path], approver=approve, approver_queues=True) as host,
            host.session() as session,
            session.turn("x") as turn,
        ):
            calls = (turn.call_tool("shell", {}, run=run) for _ in range(2))
            for outcome in await asyncio.gather(*calls):
                texts.append(outcome.text())
        return texts

    assert asyncio.run(asyncio.wait_for(main(), WAIT_S)) == ["ran", "ran"]


def test_an_interrupt_cancels_the_task_of_the_asker(asker: Program) -> None:
    async def main() -> list[str]:
        asked, withdrawn, notes = asyncio.Event(), asyncio.Event(), list[str]()

        async def ask(_: AskRequest) -> str:
            asked.set()
            try:
                await asyncio.sleep(3_600)
            except asyncio.CancelledError:
                notes.append("withdrawn")
                withdrawn.set()
                raise
            raise AssertionError

        async with (
            aio.PluginHost([asker.path], asker=ask) as host,
            host.session() as session,
        ):
            turn = session.turn("x")

            async def interrupts() -> None:
                await asked.wait()
                notes.append(str(session.interrupt()))

            task = asyncio.create_task(interrupts())
            async with turn:
                await turn.call_tool("deploy", {})
            assert turn.interrupted
            await task
            await withdrawn.wait()
        return notes

    assert asyncio.run(asyncio.wait_for(main(), WAIT_S)) == ["True", "withdrawn"]
