"""`async def` handlers in real processes, and what handlers ask of the host."""

from __future__ import annotations

import pytest

from tests.sdk.conftest import Start, patient, unhurried
from tests.sdk.driver import Child, Message, payload, tool_call

PLUGIN = """
    import asyncio, functools, threading, time
    from sliphook_sdk import *

    plugin = Plugin("torture", uses=["notify", "inject", "interrupt", "tools"])
    seen = []

    @functools.lru_cache
    def released():  # made inside the loop: Python 3.9 binds an Event to the loop that it finds
        return asyncio.Event()

    @plugin.hook("pre_tool_call")
    async def guard(call, *, ctx):
        do = call.arguments.get("do")
        if do == "raise":
            raise ValueError("boom")
        if do == "cancel itself":
            raise asyncio.CancelledError
        if do == "release":
            released().set()
        if do == "ask":
            await ctx.notify("warning", "look")
            await ctx.inject("a text")
            return context(str(await ctx.interrupt("enough")))
        if do == "block":
            plugin.set_tools([])
        if do == "seen":
            return context(*seen)
        if do == "wait":
            ctx.progress("waiting")
            await asyncio.sleep(120)
        await asyncio.sleep(0)
        return deny("no")

    @plugin.hook("stop")
    def plain(stop):
        return continue_with(threading.current_thread().name.split("_")[0])

    @plugin.on("turn_start")
    async def slow(turn):
        seen.append("turn_start")
        await asyncio.wait_for(released().wait(), 120)
        seen.append("turn_start done")

    @plugin.on("turn_end")
    def quick(turn):
        seen.append("turn_end")

    @plugin.tool
    async def until_cancelled(*, ctx) -> str:
        ctx.progress("waiting")
        try:
            await asyncio.sleep(120)
        except asyncio.CancelledError:
            ctx.log("info", "cancelled", cancelled=ctx.cancelled)
            raise

    @plugin.tool
    async def tidies_up(*, ctx) -> str:
        ctx.progress("waiting")
        try:
            await asyncio.sleep(120)
        finally:
            await asyncio.wait_for(released().wait(), 120)
            ctx.log("info", "tidy")

    @plugin.tool
    def blocks(*, ctx) -> None:
        ctx.log("info", "begun")
        ctx.wait(120)

    @plugin.on("notification")
    async def says_nothing(alert):
        class Mute(Exception):
            def __str__(self): raise ValueError
        raise Mute

    @plugin.tool
    async def deaf(*, ctx) -> str:
        ctx.progress("waiting")
        try:
            await asyncio.sleep(120)
        except asyncio.CancelledError:
            ctx.log("info", "not I")
        return "late"

    @plugin.tool
    async def asks(*, ctx) -> str:
        await ctx.inject("a text")

    @plugin.tool
    async def stops_the_loop(*, ctx) -> None:
        ctx.progress("waiting")
        time.sleep(60)
"""


@pytest.fixture
def child(start: Start) -> Child:
    child = start(unhurried(PLUGIN))
    child.initialize()
    return child


def do(what: str) -> dict[str, object]:
    return payload("pre_tool_call", arguments={"do": what})


def test_async_and_plain_handlers_side_by_side(child: Child) -> None:
    assert child.ask("hook/pre_tool_call", do("deny")) == {"decision": "deny", "reason": "no"}
    assert child.ask("hook/stop", payload("stop")) == {"continue_with": "handler"}


def test_failures_are_answered_with_their_message(child: Child) -> None:
    reply = child.reply(child.request("hook/pre_tool_call", do("raise")))
    assert reply["error"] == {"code": -32603, "message": "guard: ValueError: boom"}
    assert 'raise ValueError("boom")' in child.said("host/log")["fields"]["traceback"]
    reply = child.reply(child.request("hook/pre_tool_call", do("cancel itself")))
    assert reply["error"] == {"code": -32603, "message": "guard: CancelledError"}


@pytest.mark.parametrize(
    ("tool", "log", "answered"),
    [
        (
            "until_cancelled",
            "cancelled",
            {"error": {"code": -32800, "message": "request cancelled"}},
        ),
        ("deaf", "not I", {"result": {"content": "late", "is_error": False, "data": None}}),
    ],
)
def test_a_cancel_raises_in_the_handler_and_is_answered_when_it_ends(
    child: Child, tool: str, log: str, answered: dict[str, object]
) -> None:
    request = child.request("tool/call", tool_call(tool))
    child.said("$/progress")
    child.notify("$/cancelRequest", {"id": request})
    reply = child.reply(request)
    assert {key: reply.get(key) for key in answered} == answered
    assert child.said("host/log")["message"] == log
    assert child.ask("ping", {}) == {}
    assert (child.replies, child.unasked) == ({}, [])


def test_a_hook_that_is_cancelled_is_answered_once(child: Child) -> None:
    request = child.request("hook/pre_tool_call", do("wait"))
    child.said("$/progress")
    child.notify("$/cancelRequest", {"id": request})
    assert child.reply(request)["error"] == {"code": -32800, "message": "request cancelled"}
    assert child.ask("hook/pre_tool_call", do("deny")) == {"decision": "deny", "reason": "no"}
    assert (child.replies, child.unasked) == ({}, [])


def test_a_request_cancelled_in_the_same_write_is_answered_once(child: Child) -> None:
    request = child.asking("tool/call", tool_call("until_cancelled"))
    child.write(request, {"method": "$/cancelRequest", "params": {"id": request["id"]}})
    assert child.reply(request["id"])["error"]["code"] == -32800
    assert child.ask("hook/pre_tool_call", do("deny")) == {"decision": "deny", "reason": "no"}
    assert child.replies == {}


def test_a_cancel_while_the_host_is_asked(child: Child) -> None:
    """The plugin's own request is withdrawn; its late result is dropped without harm."""
    request = child.request("tool/call", tool_call("asks"))
    asked = child.said("host/inject")
    child.notify("$/cancelRequest", {"id": request})
    assert child.said("$/cancelRequest")["id"] == asked["_id"]
    assert child.reply(request)["error"]["code"] == -32800
    child.write({"id": asked["_id"], "result": {"queued": True}})
    assert child.ask("ping", {}) == {}
    assert child.unasked == []


def test_many_at_once_overlap(child: Child) -> None:
    slow = [child.asking("tool/call", tool_call("until_cancelled")) for _ in range(100)]
    quick = [child.asking("hook/pre_tool_call", do("deny")) for _ in range(100)]
    child.write(*slow, *quick)
    assert [child.result(message["id"])["reason"] for message in quick] == ["no"] * 100


def test_events_run_in_order_and_hold_no_hook(child: Child) -> None:
    child.write(
        {"method": "event/turn_start", "params": payload("turn_start")},
        {"method": "event/turn_end", "params": payload("turn_end")},
    )
    shutdown = child.request("shutdown", {})
    assert child.ask("hook/pre_tool_call", do("deny")) == {"decision": "deny", "reason": "no"}
    assert child.ask("hook/pre_tool_call", do("seen")) == {"context": ["turn_start"]}
    child.ask("hook/pre_tool_call", do("release"))
    assert child.result(shutdown) == {}
    assert child.ask("hook/pre_tool_call", do("seen")) == {
        "context": ["turn_start", "turn_start done", "turn_end"]
    }


def test_requests_to_the_host_are_awaited(child: Child) -> None:
    request = child.request("hook/pre_tool_call", do("ask"))
    notify = child.said("host/notify")
    assert (notify["level"], notify["message"]) == ("warning", "look")
    child.write({"id": notify["_id"], "result": {}})
    inject = child.said("host/inject")
    assert (inject["session_id"], inject["text"]) == ("s-1", "a text")
    child.write({"id": inject["_id"], "result": {"queued": True}})
    interrupt = child.said("host/interrupt")
    assert interrupt["session_id"] == "s-1"
    assert interrupt["turn_id"] == "t-1"
    assert interrupt["reason"] == "enough"
    child.write({"id": interrupt["_id"], "result": {"interrupted": True}})
    assert child.result(request) == {"context": ["True"]}


def test_a_request_that_the_host_refuses_raises(child: Child) -> None:
    request = child.request("hook/pre_tool_call", do("ask"))
    notify = child.said("host/notify")
    child.write({"id": notify["_id"], "error": {"code": -32004, "message": "too many alerts"}})
    assert child.reply(request)["error"] == {
        "code": -32603,
        "message": "guard: HostRefused: too many alerts",
    }


def test_what_would_stop_the_loop_says_so(child: Child) -> None:
    message = child.reply(child.request("hook/pre_tool_call", do("block")))["error"]["message"]
    assert message == (
        "guard: RuntimeError: host/tools would stop the event loop; in an `async def` "
        "await the method of its ctx or of `plugin.async_host`"
    )


@pytest.mark.parametrize("tool", ["until_cancelled", "stops_the_loop"])
def test_the_end_of_the_input_ends_the_process(child: Child, tool: str) -> None:
    child.request("tool/call", tool_call(tool))
    child.said("$/progress")
    child.close_input()
    assert child.ended() == 0


def but_progress(child: Child) -> list[Message]:
    """What came unasked, without the word that a handler is still at work, as on a busy machine."""
    return [message for message in child.unasked if message["method"] != "$/progress"]


def test_the_end_waits_for_a_cancelled_handler_that_tidies_up(start: Start) -> None:
    child = start(patient(PLUGIN))
    child.initialize()
    request = child.request("tool/call", tool_call("tidies_up"))
    child.said("$/progress")
    child.notify("$/cancelRequest", {"id": request})
    child.ask("ping", {})
    child.terminate()
    child.ask("hook/pre_tool_call", do("release"))
    assert child.ended() == 0
    assert [message["params"]["message"] for message in but_progress(child)] == ["tidy"]


def test_a_plain_function_that_is_cancelled_while_it_waits_for_a_thread_does_not_begin(
    child: Child,
) -> None:
    blocking = [child.request("tool/call", tool_call("blocks")) for _ in range(64)]
    for _ in blocking:
        child.said("host/log")
    waiting = child.request("tool/call", tool_call("blocks"))
    for request in (waiting, *blocking):
        child.notify("$/cancelRequest", {"id": request})
        child.reply(request)
    child.ask("hook/stop", payload("stop"))  # in one of the threads, behind it
    assert but_progress(child) == []


def test_an_exception_that_cannot_be_told_holds_up_no_event(child: Child) -> None:
    child.notify("event/notification", payload("notification"))
    assert child.said("host/log")["message"] == "says_nothing: Mute"
    child.notify("event/notification", payload("notification"))
    assert child.ask("shutdown", {}) == {}


def test_sigterm_ends_a_process_whose_loop_stands_still(child: Child) -> None:
    child.request("tool/call", tool_call("stops_the_loop"))
    child.said("$/progress")
    child.terminate()
    assert child.ended() == 0


def test_sigterm_waits_for_events(start: Start) -> None:
    child = start(patient(PLUGIN))
    child.initialize()
    child.notify("event/turn_start", payload("turn_start"))
    assert child.ask("hook/pre_tool_call", do("seen")) == {"context": ["turn_start"]}
    child.terminate()
    child.ask("hook/pre_tool_call", do("release"))
    assert child.ended() == 0


SYNC_ASKER = """
    import logging
    from sliphook_sdk import *

    plugin = Plugin("torture", uses=["notify", "tools"])

    def late(*, ctx) -> str:
        return "here I am"

    async def late_async(*, ctx) -> str:
        await ctx.notify("info", "from a loop of its own")
        return "and here"

    @plugin.tool
    def early() -> str: ...

    @plugin.hook("pre_tool_call")
    def guard(call, *, ctx):
        do = call.arguments["do"]
        if do == "notify":
            ctx.notify("info", "look")
        if do == "inject":
            ctx.inject("a text")
        if do == "tools":
            ctx.set_tools([late, Tool(late_async, name="later")], session_id=call.session_id)
        if do == "log":
            logging.getLogger("mine").info("told %s", "you")
            try:
                1 / 0
            except ZeroDivisionError:
                logging.exception("failed")
            ctx.log("debug", "odd \\udc80", value=guard)
"""


def test_plain_handlers_block_until_the_host_has_answered(start_each: Start) -> None:
    child = start_each(SYNC_ASKER)
    child.initialize()
    request = child.request("hook/pre_tool_call", do("notify"))
    notify = child.said("host/notify")
    assert child.ask("ping", {}) == {}
    assert request not in child.replies
    child.write({"id": notify["_id"], "result": {}})
    assert child.result(request) is None
    request = child.request("hook/pre_tool_call", do("notify"))
    child.write({"id": child.said("host/notify")["_id"], "error": {"code": 0, "message": ""}})
    assert child.reply(request)["error"]["message"] == "guard: HostRefused: no reason given"


def test_what_was_not_asked_for_in_uses_is_refused_without_the_host(start: Start) -> None:
    child = start(SYNC_ASKER)
    child.initialize()
    reply = child.reply(child.request("hook/pre_tool_call", do("inject")))
    assert (
        reply["error"]["message"]
        == 'guard: HostRefused: inject() needs uses=["inject"] in Plugin(...)'
    )


def test_tools_that_come_at_run_time(start_each: Start) -> None:
    child = start_each(SYNC_ASKER)
    child.initialize()
    request = child.request("hook/pre_tool_call", do("tools"))
    tools = child.said("host/tools")
    assert (tools["session_id"], [tool["name"] for tool in tools["tools"]]) == (
        "s-1",
        ["late", "later"],
    )
    child.write({"id": tools["_id"], "result": {}})
    assert child.result(request) is None
    assert child.ask("tool/call", tool_call("late"))["content"] == "here I am"
    later = child.request("tool/call", tool_call("later"))
    child.write({"id": child.said("host/notify")["_id"], "result": {}})
    assert child.result(later)["content"] == "and here"
    other = child.reply(child.request("tool/call", tool_call("late", session_id="s-2")))
    assert other["error"] == {"code": -32602, "message": "there is no tool 'late' here"}
    child.notify("event/session_end", payload("session_end"))
    child.ask("shutdown", {})
    assert child.reply(child.request("tool/call", tool_call("late")))["error"]["code"] == -32602
    assert child.ask("tool/call", tool_call("early"))["is_error"] is False


def test_tools_that_the_host_refuses_do_not_stay(start_each: Start) -> None:
    child = start_each(SYNC_ASKER)
    child.initialize()
    request = child.request("hook/pre_tool_call", do("tools"))
    child.write(
        {
            "id": child.said("host/tools")["_id"],
            "error": {"code": -32602, "message": "`late` is taken"},
        }
    )
    assert child.reply(request)["error"]["message"] == "guard: HostRefused: `late` is taken"
    assert child.reply(child.request("tool/call", tool_call("late")))["error"]["code"] == -32602


def test_logging_goes_to_the_plugins_log(start_each: Start) -> None:
    child = start_each(SYNC_ASKER)
    child.initialize()
    child.ask("hook/pre_tool_call", do("log"))
    assert child.said("host/log") == {
        "level": "info",
        "message": "told you",
        "fields": {"logger": "mine"},
        "_id": None,
    }
    failed = child.said("host/log")
    assert (failed["level"], failed["message"]) == ("error", "failed")
    assert failed["fields"]["traceback"].endswith("ZeroDivisionError: division by zero")
    odd = child.said("host/log")
    assert (odd["level"], odd["message"]) == ("debug", "odd \\udc80")
    assert odd["fields"]["value"].startswith("<function guard at 0x")


def test_code_that_cancels_all_tasks_loses_no_event_and_no_end(start: Start) -> None:
    """As cleanup code of libraries does: the SDK's own tasks are among them."""
    child = start(
        """
        import asyncio
        from sliphook_sdk import *

        plugin = Plugin("torture")
        begun = []

        @plugin.on("turn_start")
        def blocks(turn, *, ctx):
            begun.append(1)
            ctx.log("info", "turn_start")
            ctx.wait(1)

        @plugin.on("turn_end")
        async def told(turn, *, ctx):
            ctx.log("info", "turn_end")

        @plugin.hook("stop")
        async def cancels(stop):
            for task in asyncio.all_tasks() - {asyncio.current_task()}:
                task.cancel()
        """
    )
    child.initialize()
    child.notify("event/turn_start", payload("turn_start"))
    assert child.said("host/log")["message"] == "turn_start"
    stop = child.asking("hook/stop", payload("stop"))
    # the events come before the loop has begun to run the task that is cancelled, and behind it
    child.write(stop, {"method": "event/turn_end", "params": payload("turn_end")})
    assert child.result(stop["id"]) is None
    assert child.said("host/log")["message"] == "turn_end"
    child.notify("event/turn_end", payload("turn_end"))
    assert child.said("host/log")["message"] == "turn_end"
    assert child.ask("shutdown", {}) == {}


def test_a_hook_is_not_run_before_an_event_that_came_before_it(start: Start) -> None:
    """Also when the event comes while the one before it is just over."""
    child = start(
        """
        from sliphook_sdk import *

        plugin = Plugin("torture")
        told = []

        @plugin.on("turn_end")
        async def ended(turn):
            told.append(1)

        @plugin.hook("pre_tool_call")
        async def count(call):
            return deny(str(len(told)))
        """
    )
    child.initialize()
    event = {"method": "event/turn_end", "params": payload("turn_end")}
    told: list[int] = []
    for _ in range(20):
        asked = [child.asking("hook/pre_tool_call", payload("pre_tool_call")) for _ in range(20)]
        for call in asked:
            child.write(event)
            child.write(event, call)
        told += [int(child.result(call["id"])["reason"]) for call in asked]
    assert [number for number in range(400) if told[number] < 2 * (number + 1)] == []
