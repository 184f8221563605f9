"""Several calls in one read: which threads run them.

No times are measured: a backlog is judged at once, or in a minute.
"""

from __future__ import annotations

import pytest

from tests.sdk.conftest import ENGINES, Start
from tests.sdk.driver import Child, Message, command, payload, tool_call

PLUGIN = """
    import threading, time
    import sliphook_sdk.engine.backlog as backlog
    import sliphook_sdk.engine.threads as engine
    from sliphook_sdk import *

    plugin = Plugin("busy")
    released = threading.Event()

    def judge_after(seconds):
        backlog.WATCH_S = engine.WATCH_S = seconds

    judge_after(60)

    @plugin.hook("pre_tool_call")
    def guard(call):
        time.sleep(0.001)  # so that another thread could take the next call, if it would
        return context(str(threading.get_ident()))

    @plugin.on("turn_start")
    def slow(turn):
        assert released.wait(60)

    @plugin.tool
    def stuck(*, ctx) -> None:
        ctx.progress("begun")
        assert released.wait(60)

    together = threading.Barrier(6)

    @plugin.tool
    def meets() -> str:
        together.wait(60)  # so that six threads must be in it at the same time
        return "met"

    @plugin.command
    def release(arguments):
        judge_after(60)
        released.set()

    @plugin.command
    def judge_soon(arguments):
        judge_after(0.001)
"""


@pytest.fixture(params=["epoll", "lock"])
def child(start: Start, request: pytest.FixtureRequest) -> Child:
    child = start(f"{PLUGIN}\n    {ENGINES[request.param].replace(chr(10), chr(10) + '    ')}")
    child.initialize()
    return child


def hooks(child: Child, count: int) -> list[Message]:
    return [child.asking("hook/pre_tool_call", payload("pre_tool_call")) for _ in range(count)]


def threads(child: Child, asked: list[Message]) -> set[str]:
    """Which threads have answered."""
    return {child.result(message["id"])["context"][0] for message in asked}


def threads_of_twelve_quick_calls(child: Child) -> set[str]:
    quick = hooks(child, 12)
    child.write(*quick)
    return threads(child, quick)


def test_quick_calls_of_one_read_stay_in_one_thread(child: Child) -> None:
    for _ in range(3):
        assert len(threads_of_twelve_quick_calls(child)) == 1


def test_behind_slow_calls_every_call_gets_a_thread_and_then_one_is_enough_again(
    child: Child,
) -> None:
    child.ask("command/run", command("judge_soon", ""))
    slow = [child.asking("tool/call", tool_call("stuck")) for _ in range(3)]
    six = [child.asking("tool/call", tool_call("meets")) for _ in range(6)]
    child.write(*slow[:2], *six[:3], slow[2], *six[3:])
    assert [child.result(message["id"])["content"] for message in six] == ["met"] * 6
    assert not child.replies.keys() & {message["id"] for message in slow}
    child.ask("command/run", command("release", ""))
    for message in slow:
        child.result(message["id"])
    # "again" is not at once: a thread of the six may still be on its way to rest
    assert any(len(threads_of_twelve_quick_calls(child)) == 1 for _ in range(50))


def test_a_call_of_the_next_read_waits_for_no_judgement(child: Child) -> None:
    """The thread that reads takes the oldest call, here the one that it has read."""
    slow = child.request("tool/call", tool_call("stuck"))
    child.said("$/progress")  # so that it comes in its own read
    quick = hooks(child, 1)
    child.write(*quick)
    threads(child, quick)
    child.ask("command/run", command("release", ""))
    child.result(slow)


def test_what_is_asked_behind_events_waits_for_no_judgement(child: Child) -> None:
    quick = hooks(child, 2)
    child.write({"method": "event/turn_start", "params": payload("turn_start")}, *quick)
    threads(child, quick)
    child.ask("command/run", command("release", ""))
    assert child.ask("shutdown", {}) == {}
