"""If the system gives no more threads, a plugin still answers what it can, and ends."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.sdk.conftest import Start
from tests.sdk.driver import Child, command, payload, tool_call

PLUGIN = """
    import sys, threading
    from sliphook_sdk import *

    plugin = Plugin("torture")
    run = []
    start = threading.Thread.start

    def limit(more):
        def limited(thread):
            if len(begun) >= more:
                raise RuntimeError("can't start new thread")
            begun.append(thread)
            start(thread)
        begun = []
        threading.Thread.start = limited

    @plugin.tool
    def slow(*, ctx) -> None:
        ctx.progress("begun")
        ctx.wait(60)

    @plugin.hook("pre_tool_call")
    def guard(call):
        run.append(call.arguments["name"])
        return context(*run)

    @plugin.on("turn_start")
    def told(turn):
        run.append("told")
"""


def limited(start: Start, more: int, more_source: str = "") -> Child:
    child = start(f"{PLUGIN}\n    limit({more})\n    {more_source}")
    child.initialize()
    return child


def asked(name: str) -> dict[str, object]:
    return payload("pre_tool_call", arguments={"name": name})


@pytest.mark.parametrize("more", [1, 2])
def test_the_thread_that_reads_goes_on_reading_while_another_runs_handlers(
    start: Start, more: int
) -> None:
    child = limited(start, more)
    slow = [child.request("tool/call", tool_call("slow")) for _ in range(more)]
    for _ in slow:
        child.said("$/progress")
    waits = child.request("hook/pre_tool_call", asked("waits"))
    assert (
        child.said("host/log")["message"]
        == "no thread is left to read with: can't start new thread"
    )
    child.ask("ping", {})
    assert waits not in child.replies
    child.notify("$/cancelRequest", {"id": slow[0]})
    assert child.result(waits) == {"context": ["waits"]}


def leave(child: Child) -> None:
    child.write({"method": "exit"})


@pytest.mark.parametrize("end", [Child.close_input, Child.terminate, leave])
@pytest.mark.parametrize("more", [1, 2])
def test_it_ends(start: Start, more: int, end: Callable[[Child], None]) -> None:
    """With one more thread none is left to wait for handlers; with two, none to clean up."""
    child = limited(start, more)
    assert child.ask("hook/pre_tool_call", asked("first")) == {"context": ["first"]}
    end(child)
    assert child.ended() == 0


def test_what_came_with_the_end_is_answered(start: Start) -> None:
    child = limited(start, 1)
    shutdown = child.asking("shutdown", {})
    child.write(shutdown, {"method": "exit"})
    assert child.ended() == 0
    assert child.replies == {shutdown["id"]: {"jsonrpc": "2.0", "id": shutdown["id"], "result": {}}}


ASYNC = """@plugin.command
    async def free(arguments): threading.Thread.start = start
"""


def test_beside_asyncio_a_plain_function_is_refused_and_then_never_runs(start: Start) -> None:
    child = limited(start, 1, ASYNC)
    message = child.reply(child.request("hook/pre_tool_call", asked("refused")))["error"]["message"]
    assert message == "the SDK failed in hook/pre_tool_call: RuntimeError: can't start new thread"
    child.notify("event/turn_start", payload("turn_start"))
    assert child.said("host/log")["message"] == message
    assert (
        child.said("host/log")["message"]
        == "the SDK failed in an event: RuntimeError: can't start new thread"
    )
    child.ask("command/run", command("free", ""))
    assert "refused" not in child.ask("hook/pre_tool_call", asked("taken"))["context"]
    assert child.ask("shutdown", {}) == {}


FAILS = """
    import threading
    from sliphook_sdk import *
    from sliphook_sdk.engine import poller

    plugin = Plugin("torture")

    @plugin.hook("pre_tool_call")
    def guard(call):
        return deny("no")

    def failing(wait):
        def fails(self, timeout_s):
            if threading.current_thread() is not threading.main_thread():
                raise MemoryError
            return wait(self, timeout_s)
        return fails

    for kind in (poller.EpollPoller, poller.LockPoller):
        kind.wait = failing(kind.wait)
"""


def test_what_ends_a_thread_that_reads_ends_the_plugin(start: Start) -> None:
    """With a reader less it would live on and answer nothing: the host starts another."""
    child = start(FAILS)
    child.initialize()
    child.request("hook/pre_tool_call", asked("x"))
    assert child.ended() == 1
    assert "MemoryError" in child.stderr()
