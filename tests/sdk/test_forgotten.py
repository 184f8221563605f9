"""What the author has forgotten is in the log, with its file and line, and the plugin lives."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sdk.conftest import Start
from tests.sdk.driver import Child, payload, tool_call

PLUGIN = """
    import asyncio, threading, time
    from sliphook_sdk import *

    plugin = Plugin("torture")

    async def upload():
        raise ConnectionError("no network")

    @plugin.tool
    def forgets() -> str:
        upload()
        return "done"

    @plugin.tool
    async def forgets_too() -> str:
        upload()
        return "done"

    @plugin.tool
    async def starts() -> str:
        asyncio.create_task(upload())
        await asyncio.sleep(0)
        return "done"

    def work():
        raise LookupError("no such job")

    @plugin.tool
    def in_a_thread() -> str:
        thread = threading.Thread(target=work, name="worker")
        thread.start()
        thread.join()
        return "done"
"""


@pytest.mark.parametrize(
    ("tool", "message", "place"),
    [
        ("forgets", "RuntimeWarning: coroutine 'upload' was never awaited", 12),
        ("forgets_too", "RuntimeWarning: coroutine 'upload' was never awaited", 17),
        ("starts", "Task exception was never retrieved", 8),
        ("in_a_thread", "worker ended: LookupError: no such job", 27),
    ],
)
def test_it_is_logged_with_its_line(start: Start, tool: str, message: str, place: int) -> None:
    child = start(PLUGIN)
    child.initialize()
    assert child.ask("tool/call", tool_call(tool))["content"] == "done"
    log = child.said("host/log")
    assert log["level"] in ("warning", "error")
    assert message in log["message"]
    said = f"{log['message']}\n{log['fields'].get('traceback')}"
    assert f'plugin_0.py", line {place}' in said or f"plugin_0.py:{place}:" in said
    assert child.ask("ping", {}) == {}
    child.close_input()
    assert child.ended() == 0
    assert child.stderr() == ""


def test_logging_of_the_author_is_left_alone(start: Start) -> None:
    child = start(f"import logging\nlogging.basicConfig()\n{PLUGIN}".replace("\n    ", "\n"))
    child.initialize()
    child.ask("tool/call", tool_call("in_a_thread"))
    child.close_input()
    assert child.ended() == 0
    assert child.unasked == []
    assert "LookupError: no such job" in child.stderr()


LATE = """
    import asyncio, threading, time
    from sliphook_sdk import *

    plugin = Plugin("torture")

    def goes_on(ctx):
        while not ctx.cancelled:
            time.sleep(0.005)
        time.sleep(0.6)

    @plugin.tool
    def late(*, ctx) -> str:
        ctx.progress("begun")
        goes_on(ctx)
        return "done all the same"

    @plugin.hook("pre_tool_call")
    def guard(call, *, ctx):
        ctx.progress("begun")
        goes_on(ctx)
        raise ValueError("too late")

    released = threading.Event()

    @plugin.tool
    def deaf(*, ctx) -> str:
        ctx.progress("begun")
        released.wait()
        return "done all the same"

    @plugin.tool
    def release() -> None:
        released.set()

    @plugin.tool
    def stops(*, ctx) -> str:
        ctx.progress("begun")
        while not ctx.wait(10):
            pass
        ctx.raise_if_cancelled()
"""
ASYNC_LATE = """
    @plugin.tool
    async def swallows(*, ctx) -> str:
        ctx.progress("begun")
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            time.sleep(0.6)
        return "done all the same"
"""


def cancelled(child: Child, method: str, params: dict[str, object]) -> dict[str, Any]:
    """Cancel a request that runs, and return the reply."""
    request = child.request(method, params)
    child.said("$/progress")
    child.notify("$/cancelRequest", {"id": request})
    return child.reply(request)


STOPPED = {"code": -32800, "message": "request cancelled"}
DONE = {"content": "done all the same", "is_error": False, "data": None}


def test_a_handler_that_goes_on_after_its_cancel_is_logged_once(start_each: Start) -> None:
    child = start_each(LATE)
    child.initialize()
    calls = {
        "late": ("tool", "tool/call", tool_call("late"), ("result", DONE)),
        "guard": ("hook", "hook/pre_tool_call", payload("pre_tool_call"), ("error", STOPPED)),
    }
    for name, (kind, method, params, (verb, said)) in calls.items():
        # the reply tells when it has ended, and whether it was done all the same
        assert cancelled(child, method, params)[verb] == said
        log = child.said("host/log")
        assert log["level"] == "warning"
        assert log["message"].startswith(f"{kind} {name} went on for ")
        assert log["message"].endswith(" s after it was cancelled; look at ctx.cancelled")
        assert log["fields"]["handler"] == name
        assert "plugin_0.py:" in log["fields"]["where"]
        assert log["fields"]["late_s"] >= 0.6
    assert cancelled(child, "tool/call", tool_call("stops"))["error"] == STOPPED
    assert child.ask("shutdown", {}) == {}
    child.close_input()
    assert child.ended() == 0
    # on a busy machine, the one that stops may be late too
    assert [line for line in child.unasked if line["params"]["fields"]["handler"] != "stops"] == []


def test_while_a_tool_goes_on_after_its_cancel_others_are_said_to_run(start_each: Start) -> None:
    """Else the host would take the plugin for stuck: it replies to nothing that came before."""
    child = start_each(LATE)
    child.initialize()
    deaf, beside = (child.request("tool/call", tool_call(name)) for name in ("deaf", "stops"))
    begun = {child.said("$/progress")["id"] for _ in range(2)}
    assert begun == {deaf, beside}
    child.notify("$/cancelRequest", {"id": deaf})
    assert child.said("$/progress")["id"] == beside
    later = child.request("tool/call", tool_call("release"))
    assert child.said("$/progress")["id"] == later
    assert child.reply(deaf)["result"] == DONE
    child.reply(later)
    child.notify("$/cancelRequest", {"id": beside})
    assert child.reply(beside)["error"] == STOPPED
    assert {message["method"] for message in child.unasked} <= {"host/log"}


def test_an_async_def_that_swallows_its_cancel_is_logged_too(start: Start) -> None:
    child = start(f"{LATE}{ASYNC_LATE}")
    child.initialize()
    assert cancelled(child, "tool/call", tool_call("swallows"))["result"] == DONE
    message = child.said("host/log")["message"]
    assert message.startswith("tool swallows went on for ")
    assert message.endswith(" s after it was cancelled; let CancelledError through")
