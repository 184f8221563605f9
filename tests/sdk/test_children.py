"""Plain functions in real processes, under every engine."""

from __future__ import annotations

import pytest

from tests.sdk.conftest import Start, patient, unhurried
from tests.sdk.driver import Child, command, payload, tool_call

PLUGIN = """
    import os, subprocess, sys, threading
    from sliphook_sdk import *

    plugin = Plugin("torture", version="2.0.0", sessions=list)
    released = threading.Event()

    @plugin.hook("pre_tool_call")
    def guard(call, *, ctx):
        do = call.arguments.get("do")
        if do == "deny":
            return deny("no")
        if do == "raise":
            raise ValueError("boom")
        if do == "raise nothing":
            raise ValueError
        if do == "exit":
            sys.exit(3)
        if do == "text":
            return "yes"
        if do == "forbidden":
            return continue_with("more")
        if do == "print":
            print("printed")
            os.write(1, b"written\\n")
            subprocess.run(["echo", "echoed"], check=True)
            return context(repr(sys.stdin.read()))
        if do == "release":
            released.set()
        if do == "seen":
            return context(*plugin.sessions[ctx.session_id])
        if do == "sessions":
            return context(*plugin.sessions)

    @plugin.on("turn_start")
    def slow(turn):
        plugin.sessions[turn.session_id].append("turn_start")
        assert released.wait(120)
        plugin.sessions[turn.session_id].append("turn_start done")

    @plugin.on("turn_end")
    def quick(turn):
        plugin.sessions[turn.session_id].append("turn_end")

    @plugin.on("session_end")
    def last(end, *, ctx):
        ctx.log("info", "last words", seen=plugin.sessions[end.session_id])

    @plugin.tool
    def until_cancelled(*, ctx) -> str:
        ctx.progress("waiting", 0.5)
        if ctx.wait(120):
            ctx.log("info", "cancelled", cancelled=ctx.cancelled)
        ctx.raise_if_cancelled()
        return "never"

    @plugin.tool
    def stuck(*, ctx) -> None:
        ctx.progress("begun")
        threading.Event().wait()

    @plugin.tool
    def fails(kind: str) -> None:
        raise ToolError("no such town") if kind == "told" else LookupError("no such key")

    @plugin.command
    def shout(arguments):
        return arguments.upper()
"""


@pytest.fixture
def child(start_each: Start) -> Child:
    child = start_each(unhurried(PLUGIN))
    child.initialize()
    return child


def do(what: str) -> dict[str, object]:
    return payload("pre_tool_call", arguments={"do": what})


def test_the_handshake_answers_the_manifest(start_each: Start) -> None:
    manifest = start_each(PLUGIN).initialize()
    assert manifest["protocol_version"] == 1
    assert (manifest["name"], manifest["version"]) == ("torture", "2.0.0")
    assert [subscription["event"] for subscription in manifest["subscriptions"]] == [
        "pre_tool_call",
        "turn_start",
        "turn_end",
        "session_end",
    ]
    assert [tool["name"] for tool in manifest["tools"]][:3] == ["until_cancelled", "stuck", "fails"]
    assert manifest["commands"] == [{"name": "shout", "description": None}]


def test_a_host_without_a_common_version_reads_both_sides(start_each: Start) -> None:
    child = start_each(PLUGIN)
    request = child.request(
        "initialize",
        {
            "protocol_versions": [7, 8],
            "host": {"name": "h", "version": "1"},
            "plugin": {"name": None, "data_dir": "/", "config": {}},
            "events": [],
        },
    )
    assert child.reply(request)["error"] == {
        "code": -32602,
        "message": "no common version: the plugin torture speaks 1, the host 7, 8",
    }


def test_hooks_commands_pings_and_unknown_methods(child: Child) -> None:
    assert child.ask("hook/pre_tool_call", do("deny")) == {"decision": "deny", "reason": "no"}
    assert child.ask("hook/pre_tool_call", do("nothing")) is None
    assert child.ask("command/run", command("shout", "hey")) == {"text": "HEY"}
    assert child.ask("ping", {}) == {}
    assert child.reply(child.request("hook/stop", payload("stop")))["error"]["code"] == -32601
    assert child.reply(child.request("command/run", command("gone", "")))["error"]["code"] == -32602
    assert child.reply(child.request("hook/pre_tool_call", {"seq": "x"}))["error"]["code"] == -32602


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("raise", "guard: ValueError: boom"),
        ("raise nothing", "guard: ValueError"),
        ("exit", "guard: SystemExit: 3"),
        ("text", "guard: returned str; return None, or what allow(), deny() and the like make"),
        (
            "forbidden",
            "guard: pre_tool_call takes no continue_with(); "
            "it takes allow(), deny(), ask(), replace(arguments=...), "
            "substitute(result=...), context()",
        ),
    ],
)
def test_a_failing_hook_answers_its_message_and_logs_the_rest(
    child: Child, what: str, message: str
) -> None:
    reply = child.reply(child.request("hook/pre_tool_call", do(what)))
    assert reply["error"] == {"code": -32603, "message": message}
    log = child.said("host/log")
    assert (log["level"], log["message"]) == ("error", message)
    assert log["fields"]["handler"] == "guard"
    assert "plugin_0.py:" in log["fields"]["where"]
    if what == "raise":
        assert log["fields"]["traceback"].startswith("Traceback (most recent call last):\n")
        assert 'raise ValueError("boom")' in log["fields"]["traceback"]
        assert "sliphook_sdk" not in log["fields"]["traceback"]
    assert child.ask("ping", {}) == {}


def test_a_failing_tool_is_a_result_that_the_model_reads(child: Child) -> None:
    assert child.ask("tool/call", tool_call("fails", kind="told")) == {
        "content": "no such town",
        "is_error": True,
        "data": None,
    }
    assert child.unasked == []
    assert child.ask("tool/call", tool_call("fails", kind="raised")) == {
        "content": "LookupError: no such key",
        "is_error": True,
        "data": None,
    }
    assert "LookupError: no such key" in child.said("host/log")["fields"]["traceback"]
    assert child.ask("tool/call", tool_call("fails", kind=3)) == {
        "content": "the arguments do not fit: Expected `str`, got `int` - at `$.kind`, which is 3",
        "is_error": True,
        "data": None,
    }


def test_nothing_that_is_printed_reaches_the_host(child: Child) -> None:
    assert child.ask("hook/pre_tool_call", do("print")) == {"context": ["''"]}
    child.close_input()
    assert child.ended() == 0
    assert child.stray() == b""
    assert child.stderr().splitlines() == ["printed", "written", "echoed"]


def test_a_cancel_reaches_the_handler_and_is_answered_when_it_stops(child: Child) -> None:
    request = child.request("tool/call", tool_call("until_cancelled"))
    assert child.said("$/progress") == {
        "id": request,
        "message": "waiting",
        "fraction": 0.5,
        "_id": None,
    }
    child.notify("$/cancelRequest", {"id": request})
    assert child.reply(request)["error"] == {"code": -32800, "message": "request cancelled"}
    assert child.said("host/log")["fields"] == {"cancelled": True}
    assert (child.ask("ping", {}), child.replies, child.unasked) == ({}, {}, [])


def test_cancels_of_what_is_not_under_way_are_ignored(child: Child) -> None:
    done = child.request("hook/pre_tool_call", do("deny"))
    child.reply(done)
    for params in ({"id": done}, {"id": 999}, {"id": "x"}, {}, {"id": None}):
        child.notify("$/cancelRequest", params)
    assert child.ask("hook/pre_tool_call", do("deny")) == {"decision": "deny", "reason": "no"}
    assert child.replies == {}


def test_slow_tools_hold_no_hook(child: Child) -> None:
    tools = [child.request("tool/call", tool_call("stuck")) for _ in range(5)]
    assert child.ask("hook/pre_tool_call", do("deny")) == {"decision": "deny", "reason": "no"}
    # a call that no thread has begun is answered when it is cancelled
    assert {child.said("$/progress")["id"] for _ in tools} == set(tools)
    for tool in tools:
        child.notify("$/cancelRequest", {"id": tool})
    assert child.ask("ping", {}) == {}
    assert child.replies == {}  # they still run, and a reply would say that they do not


def test_what_comes_in_one_write_overlaps_too(child: Child) -> None:
    """A quick call does not wait behind slow ones, at any place in the read."""
    slow = [child.asking("tool/call", tool_call("stuck")) for _ in range(3)]
    quick = [child.asking("hook/pre_tool_call", do("deny")) for _ in range(40)]
    child.write(*slow[:2], *quick[:20], slow[2], *quick[20:])
    for message in quick:
        assert child.result(message["id"]) == {"decision": "deny", "reason": "no"}


def test_pings_and_cancels_are_heard_with_every_thread_stuck(child: Child) -> None:
    """64 handlers run at the same time; further calls wait, and can still be cancelled."""
    stuck = [child.asking("tool/call", tool_call("stuck")) for _ in range(80)]
    child.write(*stuck)
    assert child.ask("ping", {}) == {}
    child.said("$/progress")  # one runs; a call that no thread has begun is answered when cancelled
    child.write(
        *({"method": "$/cancelRequest", "params": {"id": message["id"]}} for message in stuck)
    )
    assert child.ask("ping", {}) == {}
    # at most 64 run, and are not answered; which ones is up to the threads
    assert all(reply["error"]["code"] == -32800 for reply in child.replies.values())
    assert 16 <= len(child.replies) < 80
    child.close_input()
    assert child.ended() == 0


def test_a_message_may_come_byte_by_byte(child: Child) -> None:
    message = child.asking(
        "hook/pre_tool_call",
        payload("pre_tool_call", tool_name="é", arguments={"do": "deny", "text": "→ 𝄞"}),
    )
    for byte in child.frame(message):
        child.write_raw(bytes([byte]))
    assert child.result(message["id"]) == {"decision": "deny", "reason": "no"}


def test_events_run_in_order_and_hold_no_hook(child: Child) -> None:
    child.write(
        {"method": "event/turn_start", "params": payload("turn_start")},
        {"method": "event/turn_end", "params": payload("turn_end")},
        {"method": "event/unheard_of", "params": {}},
    )
    shutdown = child.request("shutdown", {})
    assert child.ask("hook/pre_tool_call", do("seen")) in (
        None,
        {"context": []},
        {"context": ["turn_start"]},
    )
    assert shutdown not in child.replies
    child.ask("hook/pre_tool_call", do("release"))
    assert child.result(shutdown) == {}
    assert child.ask("hook/pre_tool_call", do("seen")) == {
        "context": ["turn_start", "turn_start done", "turn_end"]
    }


def test_the_state_of_a_session_goes_after_its_last_handler(child: Child) -> None:
    child.notify("event/turn_end", payload("turn_end"))
    child.notify("event/turn_end", payload("turn_end", session_id="s-2"))
    child.notify("event/session_end", payload("session_end"))
    assert child.said("host/log")["fields"] == {"seen": ["turn_end"]}
    child.ask("shutdown", {})
    assert child.ask("hook/pre_tool_call", do("sessions")) == {"context": ["s-2"]}


def test_a_hook_told_as_an_event_runs_its_handler(child: Child) -> None:
    child.notify("event/pre_tool_call", do("raise"))
    assert child.said("host/log")["message"] == "guard: ValueError: boom"


def test_the_end_of_the_input_ends_the_process_with_handlers_stuck(child: Child) -> None:
    for _ in range(3):
        child.request("tool/call", tool_call("stuck"))
    child.notify("event/turn_start", payload("turn_start"))
    assert child.ask("ping", {}) == {}
    child.close_input()
    assert child.ended() == 0


def test_what_was_asked_before_the_end_of_the_input_is_answered(start_each: Start) -> None:
    child = start_each(patient(PLUGIN))
    child.initialize()
    requests = [child.request("hook/pre_tool_call", do("deny")) for _ in range(20)]
    child.close_input()
    assert child.ended() == 0
    assert [child.replies[request]["result"]["reason"] for request in requests] == ["no"] * 20


@pytest.mark.parametrize("stuck", [False, True])
def test_exit_ends_the_process(child: Child, stuck: bool) -> None:
    if stuck:
        child.request("tool/call", tool_call("stuck"))
    assert child.ask("shutdown", {}) == {}
    child.notify("exit", {})
    assert child.ended() == 0


@pytest.mark.parametrize("stuck", [False, True])
def test_sigterm_is_a_shutdown(child: Child, stuck: bool) -> None:
    if stuck:
        child.request("tool/call", tool_call("stuck"))
        child.notify("event/turn_start", payload("turn_start"))
        child.ask("ping", {})
    child.terminate()
    assert child.ended() == 0


def test_a_stream_that_is_no_protocol_ends_the_process(child: Child) -> None:
    child.write_raw(b"GET / HTTP/1.1\r\n\r\n")
    assert child.ended() == 1
    assert "GET / HTTP/1.1" in child.said("host/log")["message"]


def test_messages_that_are_not_valid_are_logged_and_passed_over(child: Child) -> None:
    bodies = (
        b"42",
        b"null",
        b'{"jsonrpc":"2.0"}',
        b'{"jsonrpc":"2.0","id":null,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":7,"result":1,"error":{}}',
    )
    for body in bodies:
        child.write_raw(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        assert child.said("host/log")["level"] == "error"
    assert child.ask("ping", {}) == {}
