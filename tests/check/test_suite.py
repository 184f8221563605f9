"""The suite passes what keeps to the protocol, and every check of it is seen to fail."""

from __future__ import annotations

import ctypes
import os
import sys
import textwrap
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import trio

from sliphook.check import Report, check_plugin, end_rules, running_rules, suite
from sliphook.check.session import Bench
from sliphook.check.suite import Check
from tests.docs.protocol_sentences.says import says

from .broken import write
from .conftest import Only

pytestmark = pytest.mark.usefixtures("short_patience")

ALL = [
    "handshake",
    "ping",
    "versions",
    "open-sessions",
    "byte-by-byte",
    "many-at-once",
    "length-in-bytes",
    "large-message",
    "misleading-text",
    "numbers-and-nesting",
    "largest-id",
    "traceparent",
    "unknown-request",
    "unknown-notification",
    "unknown-cancel",
    "hook pre_tool_call",
    "event pre_tool_call",
    "event turn_end",
    "event session_start",
    "cancel hook pre_tool_call",
    "tool add",
    "tool add, wrong arguments",
    "cancel tool add",
    "cancel-while-running",
    "ping-while-running",
    "request-while-running",
    "hook-while-running",
    "shutdown-while-running",
    "exit-while-running",
    "end-of-input-while-running",
    "tools-for-models",
    "unknown-tool",
    "command hello",
    "unknown-command",
    "utf-8",
    "escapes",
    "shutdown-after-events",
    "shutdown",
    "exit",
    "end-of-input",
    "half-a-message",
    "sigterm",
    "stdout-clean",
    "valid-messages",
    "one-reply-each",
    "unasked-messages",
    "near-misses",
    "no-process-left",
]

PROTOCOL = (Path(__file__).resolve().parents[2] / "protocol.md").read_text(encoding="utf-8")
HEADINGS = {
    line.lstrip("# ").replace("`", "") for line in PROTOCOL.splitlines() if line.startswith("#")
}

ONE_READ_ONE_MESSAGE = """
    def messages():
        while data := os.read(0, 65536):
            yield json.loads(data.split(b"\\r\\n\\r\\n", 1)[1])
"""
LINES_OF_PYTHON = """
    def messages():
        for line in sys.stdin.buffer:
            for part in line.decode().splitlines():
                if part.startswith("{"):
                    yield json.loads(part)
                elif '"jsonrpc"' in part:
                    sys.exit("torn")
"""
COUNTS_CHARACTERS = """
    def messages():
        import io
        text = io.TextIOWrapper(sys.stdin.buffer, "utf-8", newline="")
        while header := text.readline():
            assert header.startswith("Content-Length: "), header
            text.readline()
            yield json.loads(text.read(int(header[16:])))
"""


def answering(method: str, answer: str) -> str:
    """Another answer to one method."""
    return f"""
    _take = take
    def take(message):
        return {answer} if message["method"] == "{method}" else _take(message)
    """


BROKEN = {
    "dies at the start": ("sys.exit('no config')", {"handshake"}),
    "a manifest that cannot be": ("MANIFEST['name'] = 'No Name'", {"handshake"}),
    "a subscription misspelt": (
        "MANIFEST['subscriptions'][0]['on_failur'] = 'open'",
        {"handshake"},
    ),
    "says the host's version": (
        """
        _take = take
        def take(message):
            if message["method"] == "initialize":
                version = message["params"]["protocol_versions"][0]
                return {"result": {**MANIFEST, "protocol_version": version}}
            return _take(message)
        """,
        {"versions"},
    ),
    "one read is one message": (
        ONE_READ_ONE_MESSAGE,
        {"byte-by-byte", "many-at-once", "large-message"},
    ),
    "lines end at more than LF": (LINES_OF_PYTHON, {"misleading-text"}),
    "the length counts characters": (COUNTS_CHARACTERS, {"length-in-bytes"}),
    "reads numbers of 64 bits": (
        """
        def integer(text):
            if abs(int(text)) >= 2**64:
                raise OverflowError(text)
            return int(text)
        def messages():
            for line in sys.stdin.buffer:
                if line.startswith(b"{"):
                    yield json.loads(line, parse_int=integer)
        """,
        {"numbers-and-nesting"},
    ),
    "reads 64 levels": (
        """
        def messages():
            for line in sys.stdin.buffer:
                if line.startswith(b"{") and b"[" * 64 not in line:
                    yield json.loads(line)
        """,
        {"numbers-and-nesting"},
    ),
    "does not know what it has answered": (
        "def cancel(id): RUNNING[id].set()",
        {"unknown-cancel", "cancel hook pre_tool_call", "cancel tool add"},
    ),
    "ids of 32 bits": (
        "_say = say\ndef say(id, **more): _say(id=id & 0xffffffff, **more)",
        {"largest-id", "one-reply-each"},
    ),
    "ids as texts": (
        "_say = say\ndef say(id, **more): _say(id=id if id < 100 else str(id), **more)",
        {"many-at-once", "largest-id", "one-reply-each"},
    ),
    "takes null for a value": (
        "def hook(params): return {'result': None} if None not in params.values() else fail(-32602)",
        {"hook pre_tool_call"},
    ),
    "has no handler for what it subscribes to": (
        answering("hook/pre_tool_call", "fail(-32601)"),
        {"hook pre_tool_call"},
    ),
    "knows no ping": (answering("ping", "None"), {"ping"}),
    "every request succeeds": ("def fail(code): return {'result': None}", {"unknown-request"}),
    "dies of an unknown notification": (
        "def told(message): message['method'] in ('exit', 'event/of_tomorrow') and sys.exit(0)",
        {"unknown-notification"},
    ),
    "a result as MCP has it": (
        answering("tool/call", "{'result': {'content': [{'type': 'text', 'text': 'x'}]}}"),
        {"tool add"},
    ),
    "a part that lacks a field": (
        answering("tool/call", "{'result': {'content': 'x', 'parts': [{'type': 'image'}]}}"),
        {"tool add"},
    ),
    "an answer misspelt": (
        answering("hook/pre_tool_call", "{'result': {'decison': 'deny'}}"),
        {"hook pre_tool_call"},
    ),
    "an answer that is not allowed": (
        answering("hook/pre_tool_call", "{'result': {'continue_with': 'x'}}"),
        {"hook pre_tool_call"},
    ),
    "sends model calls elsewhere and has not said so": (
        "    MANIFEST['subscriptions'] += [{'event': 'pre_llm_call', 'replaces': True}]\n"
        + answering("hook/pre_llm_call", "{'result': {'replace': {'route': {'api': 'openai'}}}}"),
        {"hook pre_llm_call"},
    ),
    "stumbles over an unknown field": (
        "def hook(params): return fail(-32602) if 'of_tomorrow' in params else {'result': None}",
        {"hook pre_tool_call"},
    ),
    "dies of the event of its hook": (
        "def told(message): message['method'] in ('exit', 'event/pre_tool_call') and sys.exit(0)",
        {"event pre_tool_call"},
    ),
    "a result without content": (
        answering("tool/call", "{'result': {'text': '2'}}"),
        {"tool add", "tool add, wrong arguments", "unknown-tool"},
    ),
    "does not know its tool": (
        answering("tool/call", "fail(-32601)"),
        {"tool add", "tool add, wrong arguments"},
    ),
    "dies of wrong arguments": (
        "def call(params): return {'result': str(params['arguments']['a'] + 1)}",
        {"tool add, wrong arguments"},
    ),
    "has every tool": (answering("tool/call", "{'result': 'done'}"), {"unknown-tool"}),
    "a command that answers a number": (
        answering("command/run", "{'result': 1}"),
        {"command hello"},
    ),
    "no reply to shutdown": (answering("shutdown", "None"), {"shutdown"}),
    "ignores exit": ("def told(message): pass", {"exit"}),
    "outlives its input": (
        "ENDS_WITH_INPUT = False\ndef told(message): message['method'] == 'exit' and os._exit(0)",
        {"end-of-input"},
    ),
    "ignores SIGTERM": ("signal.signal(signal.SIGTERM, signal.SIG_IGN)", {"sigterm"}),
    "prints": ("print('hello', flush=True)", {"stdout-clean"}),
    "no valid message": ("print('{\"id\":1}', flush=True)", {"valid-messages"}),
    "answers twice": (
        answering("ping", "say(id=message['id'], result=1) or {'result': None}"),
        {"one-reply-each"},
    ),
    "asks for what it may not": (
        answering("command/run", "say(id=1, method='host/interrupt', params={}) or {'result': {}}"),
        {"unasked-messages"},
    ),
    "params that do not fit": (
        answering(
            "command/run", "say(method='host/log', params={'level': 'loud'}) or {'result': {}}"
        ),
        {"unasked-messages"},
    ),
    "an unknown method": (
        answering("command/run", "say(id=1, method='host/nofity') or {'result': {}}"),
        {"unasked-messages"},
    ),
    "speaks before the manifest": (
        "say(id=1, method='host/notify', params={'level': 'info', 'message': 'x'})",
        {"unasked-messages"},
    ),
}


AT_ONCE = {"command hello", "shutdown", "exit", "many-at-once", "unknown-request"}
"""Checks that take no time, and bring about what is looked for through all checks."""

AT_A_COMMAND = """
    _take = take
    def take(message):
        if message["method"] == "command/run":
            {do}
        return _take(message)
"""
WAITING = """
    _take = take
    def take(message):
        while RUNNING and message["method"] == "{method}":
            time.sleep(0.01)
        return _take(message)
"""
EXAMPLES = "MANIFEST['tools'][0]['input_schema']['properties']['seconds']['examples'] = {}"
DEAF = "def cancel(id): pass\n"
EARLY = """
    def late():
        time.sleep(0.3)
        say(method="host/log", params={"level": "info", "message": "the turn is over"})
    _told = told
    def told(message):
        if message["method"] == "event/turn_end":
            threading.Thread(target=late, daemon=True).start()
        _told(message)
"""

ALONE = {
    "never answers what is cancelled": (
        f"{DEAF}MANIFEST['tools'][0]['timeout_s'] = 9",
        "cancel-while-running",
        "no reply within 9 s",
    ),
    "answers ping when the tool is done": (
        EXAMPLES.format([0, 0.8]) + textwrap.dedent(WAITING.format(method="ping")),
        "ping-while-running",
        "a ping was answered only after the tool call",
    ),
    "answers ping long after": (
        WAITING.format(method="ping"),
        "ping-while-running",
        "no reply within 3 s",
    ),
    "answers others when the tool is done": (
        WAITING.format(method="of_tomorrow/do"),
        "request-while-running",
        "no reply within 3 s",
    ),
    "answers hooks when the tool is done": (
        WAITING.format(method="hook/pre_tool_call"),
        "hook-while-running",
        "no reply within 3 s",
    ),
    "ends when its tools are done": (
        """
        _told = told
        def told(message):
            while RUNNING and message["method"] == "exit":
                time.sleep(0.01)
            _told(message)
        """,
        "exit-while-running",
        "it lives on after 3 s",
    ),
    "ends with its input when its tools are done": (
        """
        _messages = messages
        def messages():
            yield from _messages()
            while RUNNING:
                time.sleep(0.01)
        """,
        "end-of-input-while-running",
        "it lives on after 3 s",
    ),
    "has every command": (
        answering("command/run", "{'result': {}}"),
        "unknown-command",
        "{}",
    ),
    "denies in the words of another protocol": (
        """
        def hook(params):
            risky = "rm -rf" in str(params["arguments"])
            return {"result": {"decision": "block" if risky else "allow"}}
        """,
        "hook pre_tool_call",
        '{"decision": "block"}',
    ),
    "writes line ends as they are": (
        r"""
        def say(**message):
            text = json.dumps({"jsonrpc": "2.0", **message}).replace(r"\n", "\n")
            with _writing:
                sys.stdout.write(text + "\n")
                sys.stdout.flush()
        """,
        "escapes",
        "unknown method of_tomorrow/k7",
    ),
    "reads Latin-1": (
        """
        def messages():
            for line in sys.stdin.buffer:
                if line.startswith(b"{"):
                    yield json.loads(line.decode("latin-1"))
        """,
        "utf-8",
        "UTF-8 was read as Latin-1: k7Ã¼",
    ),
    "reads ASCII": (
        """
        def messages():
            for line in sys.stdin.buffer:
                if line.startswith(b"{"):
                    yield json.loads(line.decode("ascii", "replace"))
        """,
        "utf-8",
        "each byte outside ASCII became U+FFFD",
    ),
    "dies of open sessions": (
        """
        _take = take
        def take(message):
            if message["method"] == "initialize" and message["params"].get("sessions"):
                sys.exit("too many")
            return _take(message)
        """,
        "open-sessions",
        "exited with status 1; its last words on stderr: too many",
    ),
    "a strict envelope": (
        """
        _take = take
        def take(message):
            unknown = message.keys() - {"jsonrpc", "id", "method", "params"}
            return sys.exit(f"unknown: {unknown}") if unknown else _take(message)
        """,
        "traceparent",
        "unknown: {'traceparent'}",
    ),
    "progress of no request": (
        AT_A_COMMAND.format(do="say(method='$/progress', params={'id': 999_999})"),
        "unasked-messages",
        "$/progress of the request 999999, which was never sent",
    ),
    "takes any version": (
        "_take = take\ndef take(message):\n"
        "    return {'result': MANIFEST} if message['method'] == 'initialize' else _take(message)",
        "versions",
        '"protocol_version": 1',
    ),
    "refuses an unknown version with another code": (
        "_fail = fail\ndef fail(code, *more): return _fail(-32600 if code == -32602 else code, *more)",
        "versions",
        "the error -32600",
    ),
    "answers notifications": (
        """
        _told = told
        def told(message):
            _told(message)
            if "of_tomorrow" in message["method"]:
                say(id=None, **fail(-32601))
        """,
        "unknown-notification",
        "null",
    ),
    "both a result and an error": (
        AT_A_COMMAND.format(do="say(id=999_999, result=1, **fail(-32603))"),
        "valid-messages",
        "both a result and an error",
    ),
    "an id of 129 characters": (
        AT_A_COMMAND.format(do="say(id='x' * 129, method='host/notify', params={})"),
        "valid-messages",
        "129 characters",
    ),
    "an id that was never sent": (
        AT_A_COMMAND.format(do="say(id=999_999, result=1)"),
        "one-reply-each",
        "999999, which was never sent",
    ),
    "an id as a text": (
        AT_A_COMMAND.format(do="say(id=str(message['id']), result=1)"),
        "one-reply-each",
        "came back as the string",
    ),
    "a last word on stdout": (
        "def told(message): message['method'] == 'exit' and (print('bye'), sys.exit(0))",
        "stdout-clean",
        "bye",
    ),
    "decodes each read by itself": (
        """
        def messages():
            rest = ""
            while data := os.read(0, 65536):
                *lines, rest = (rest + data.decode()).split("\\n")
                yield from (json.loads(line) for line in lines if line.startswith("{"))
        """,
        "large-message",
        "exited with status 1",
    ),
    "waits for the rest of a message": (
        """
        def messages():
            for line in sys.stdin.buffer:
                if not line.endswith(b"\\n"):
                    time.sleep(100)
                elif line.startswith(b"{"):
                    yield json.loads(line)
        """,
        "half-a-message",
        "it lives on",
    ),
}
"""Faults that one check alone sees: the code, the check, and what is said that the plugin did."""


async def checked(path: Path) -> Report:
    with trio.fail_after(600):
        return await check_plugin(path)


def named(report: Report, verdict: str) -> set[str]:
    return {finding.name for finding in report.findings if finding.verdict == verdict}


@says(
    "It sends messages as a host would, and in ways that break small readers, fires every subscription, calls every tool and command, cancels, and ends the plugin in every possible way.",
)
async def test_a_plugin_that_keeps_to_the_protocol(tmp_path: Path) -> None:
    report = await checked(write(tmp_path))
    assert [finding.name for finding in report.findings] == ALL
    assert {finding.verdict for finding in report.findings} == {"passed"}, report
    assert report.name == "torture"


@says(
    "Read by headers or by lines, but split at LF only.",
    "Write only messages to standard output, whole ones, flushed, from one place;",
    "Answer `initialize` first ([start](#start)).",
    "Check that a handler exists for every subscription that you declare.",
    "Accept `event/NAME` for every hook that you subscribe to.",
    "Answer unknown requests with -32601, an unknown tool or command with -32602, and `ping` with anything; ignore unknown notifications and unknown fields.",
    "On `exit` or the end of input: end ([end](#end)).",
    "Take null for absent where you read,",
)
@pytest.mark.parametrize("how", BROKEN)
async def test_a_broken_plugin_is_found_out(tmp_path: Path, only: Only, how: str) -> None:
    broken, expected = BROKEN[how]
    only(*expected, *AT_ONCE)
    report = await checked(write(tmp_path, broken))
    assert expected <= named(report, "failed"), report
    assert not named(report, "broken"), report
    for finding in report.findings:
        if finding.verdict == "failed":
            assert finding.sent
            assert finding.came
            assert finding.advice


@says(
    "Read while handlers run: a cancel, a hook during a tool call and `exit` must get through.",
    "On `$/cancelRequest`: stop the handler if you can, and reply when it has ended: -32800 if it was stopped, else with its result ([cancel](#cancel-and-interrupt)).",
)
@pytest.mark.parametrize("how", ALONE)
async def test_a_fault_is_found_by_its_own_check(tmp_path: Path, how: str) -> None:
    broken, expected, came = ALONE[how]
    report = await checked(write(tmp_path, broken))
    assert named(report, "failed") == {expected}, report
    assert named(report, "passed") == set(ALL) - {expected}
    (finding,) = (finding for finding in report.findings if finding.verdict == "failed")
    assert came in finding.came
    assert finding.sent
    assert finding.advice


@pytest.mark.parametrize(
    ("broken", "came"),
    [
        (
            "MANIFEST['tools'][0]['inputSchema'] = {}",
            "the tool add has the unknown field 'inputSchema', which is ignored",
        ),
        ("MANIFEST['descripton'] = 'x'", "did you mean description?"),
        (
            """
            _take = take
            def take(message):
                answer = _take(message)
                if message["method"] == "tool/call" and isinstance(answer.get("result"), str):
                    answer = {"result": {"content": answer["result"], "isError": False}}
                return answer
            """,
            "the result of a tool has the unknown field 'isError', which is ignored;"
            " did you mean is_error?",
        ),
        (
            "_told = told\n"
            "def told(message):\n"
            "    if message['method'] == 'event/turn_end': say(method='host/log',"
            " params={'level': 'info', 'message': 'm', 'feilds': {}})\n"
            "    _told(message)",
            "host/log has the unknown field 'feilds', which is ignored; did you mean fields?",
        ),
    ],
)
async def test_a_near_miss_is_a_warning(tmp_path: Path, broken: str, came: str) -> None:
    report = await checked(write(tmp_path, broken))
    assert named(report, "failed") == set(), report
    assert named(report, "warned") == {"near-misses"}
    (finding,) = (finding for finding in report.findings if finding.verdict == "warned")
    assert came in finding.came


async def test_a_cancelled_call_that_fails_at_once_was_not_said_to_be_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running_rules, "STOPS_S", 2.0)  # a busy machine is late
    broken = """
    def run(message):
        id = message["id"]
        stopped = RUNNING[id].wait(seconds_of(message))
        del RUNNING[id]
        say(id=id, **(fail(-32603) if stopped else take(message)))
    """
    report = await checked(write(tmp_path, broken))
    assert named(report, "failed") == set()
    assert named(report, "warned") == {"cancel-while-running"}
    (finding,) = (found for found in report.findings if found.verdict == "warned")
    assert finding.came.startswith("the error -32603 ")


async def test_a_cancel_that_is_late_once_may_be_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running_rules, "CANCEL_S", 2.0)
    late = tmp_path / "late"
    broken = f"""
    def run(message):
        id = message["id"]
        stopped = RUNNING[id].wait(seconds_of(message))
        if stopped and not os.path.exists({str(late)!r}):
            open({str(late)!r}, "w").close()
            time.sleep(2.5)
        del RUNNING[id]
        say(id=id, **(fail(-32800) if stopped else take(message)))
    """
    report = await checked(write(tmp_path, broken))
    assert late.exists()
    assert named(report, "warned") == named(report, "failed") == set()


@says("What breaks a MUST of this page fails, and what breaks a SHOULD is a warning.")
async def test_a_tool_that_ends_as_late_as_without_its_cancel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """protocol.md says SHOULD, so it is a warning."""
    monkeypatch.setattr(running_rules, "CANCEL_S", 0.4)
    report = await checked(write(tmp_path, DEAF + EXAMPLES.format([0, 1.0])))
    assert named(report, "warned") == {"cancel-while-running"}
    assert named(report, "passed") == set(ALL) - {"cancel-while-running"}
    (finding,) = (found for found in report.findings if found.verdict == "warned")
    assert "as late as without a cancel" in finding.came


@says(
    "On `shutdown`: finish the event handlers, then reply.",
)
async def test_a_shutdown_that_is_answered_before_its_handlers_are_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """protocol.md says SHOULD, so it is a warning."""
    monkeypatch.setattr(end_rules, "AFTER_S", 5.0)  # a busy machine is late
    report = await checked(write(tmp_path, EARLY))
    assert named(report, "warned") == {"shutdown-after-events"}
    assert named(report, "passed") == set(ALL) - {"shutdown-after-events"}
    (finding,) = (found for found in report.findings if found.verdict == "warned")
    assert "the turn is over" in finding.came


async def test_a_shutdown_that_waits_for_tools(tmp_path: Path) -> None:
    """protocol.md says SHOULD, so it is a warning."""
    report = await checked(write(tmp_path, WAITING.format(method="shutdown")))
    assert named(report, "warned") == {"shutdown-while-running"}
    assert named(report, "passed") == set(ALL) - {"shutdown-while-running"}


@says(
    "Name a sample that the tool takes, and a slow one to cancel, by `examples` in its `input_schema`.",
)
async def test_where_every_tool_is_too_quick_it_is_said_how_to_name_a_slow_sample(
    tmp_path: Path,
) -> None:
    report = await checked(write(tmp_path, EXAMPLES.format([0])))
    assert named(report, "failed") == set()
    notes = [finding.note for finding in report.findings if finding.verdict == "skipped"]
    assert len(notes) == 7
    assert all(note.startswith("too quick: no tool call ran for 0.3 s") for note in notes)
    assert '"examples": [{"seconds": 3}]' in notes[0]


async def test_a_sample_that_is_late_once_is_not_taken_for_a_slow_one(
    tmp_path: Path, only: Only
) -> None:
    late = tmp_path / "late"
    broken = f"""
    _call = call
    def call(params):
        if not os.path.exists({str(late)!r}):
            open({str(late)!r}, "w").close()
            time.sleep(1)
        return _call(params)
    """
    only("ping-while-running", "request-while-running")
    report = await checked(write(tmp_path, broken))
    assert late.exists()
    assert {"ping-while-running", "request-while-running"} <= named(report, "passed")


@says(
    "`sliphook check PATH` starts an executable in any language several times.",
    "It really calls the tools, so do not use it on a plugin that reaches something which must not change.",
)
async def test_it_is_started_several_times_and_its_tools_are_called(
    tmp_path: Path, only: Only
) -> None:
    notes = tmp_path / "notes"
    broken = f"""
    def note(what):
        with open({str(notes)!r}, "a") as file:
            file.write(what + "\\n")
    note("a start")
    _call = call
    def call(params):
        note(params["name"])
        return _call(params)
    """
    only("tool add", *AT_ONCE)
    await checked(write(tmp_path, broken))
    lines = notes.read_text(encoding="utf-8").splitlines()
    assert lines.count("a start") == 4
    assert lines.count("add") == 1


async def test_what_a_guard_denies_is_asked_about_nothing_that_there_is(
    tmp_path: Path, only: Only
) -> None:
    notes = tmp_path / "notes"
    broken = f"""
    MANIFEST["subscriptions"] += [{{"event": "stop"}}]
    _take = take
    def take(message):
        if message["method"].startswith("hook/"):
            command = message["params"].get("arguments", {{}}).get("command", "")
            with open({str(notes)!r}, "a") as file:
                print(message["method"], command.partition("rm -rf")[2], file=file)
        return {{"result": None}} if message["method"] == "hook/stop" else _take(message)
    """
    only("hook pre_tool_call", "hook stop")
    report = await checked(write(tmp_path, broken))
    assert named(report, "failed") == set()
    assert notes.read_text(encoding="utf-8").splitlines() == [
        "hook/pre_tool_call ",
        "hook/pre_tool_call  /of-tomorrow/nothing-is-here",
        "hook/stop ",
    ]


async def test_half_a_message_is_shown(tmp_path: Path) -> None:
    write_half = "print('{\"jsonrpc\":\"2.0\"', end='', flush=True), time.sleep(99)"
    report = await checked(write(tmp_path, AT_A_COMMAND.format(do=write_half)))
    (finding,) = (finding for finding in report.findings if finding.name == "command hello")
    assert finding.verdict == "failed"
    assert 'half a message came, and no end of it: {"jsonrpc":"2.0"' in finding.came


@pytest.mark.parametrize(
    "flood",
    [
        "say(id=1, method='host/notify', params={'level': 'info', 'message': 'x'})",
        "print('x' * 200, flush=True)",
        "print(n := n + 1, 'x' * 200, flush=True)",
        "say(id=(n := n + 1), result=n)",
        "print('x' * 200, file=sys.stderr, flush=True)",
    ],
)
async def test_a_plugin_that_floods_holds_no_check(tmp_path: Path, flood: str) -> None:
    broken = f"""
    _take = take
    def take(message):
        n = 0
        while message["method"] == "ping":
            {flood}
        return _take(message)
    """
    report = await checked(write(tmp_path, broken))
    assert named(report, "failed")
    assert not named(report, "broken"), report
    assert [finding.name for finding in report.findings] == ALL
    assert max(len(finding.came) for finding in report.findings) <= 500
    if "result=n" in flood:
        killed = "it was killed, as it broke a rule 10,000 times"
        assert killed in {finding.came for finding in report.findings}


async def test_all_checks_together_have_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suite, "ALL_S", -1.0)
    report = await checked(write(tmp_path))
    notes = {finding.note for finding in report.findings if finding.verdict == "skipped"}
    assert notes == {"all checks together may take -1 s, which are over"}
    assert "handshake" in named(report, "passed")


async def test_a_check_that_takes_too_long_is_the_plugins_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suite, "CHECK_S", 1.0)
    broken = answering("command/run", "time.sleep(99)")
    report = await checked(write(tmp_path, broken))
    (finding,) = (finding for finding in report.findings if finding.name == "command hello")
    assert (finding.verdict, finding.came) == ("failed", "it was not over after 1 s")


@pytest.mark.parametrize(
    ("schema", "verdict"),
    [
        ({"properties": []}, "handshake"),
        ({"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, "warned"),
    ],
)
async def test_a_schema_that_is_none_breaks_no_check(
    tmp_path: Path, schema: dict[str, Any], verdict: str
) -> None:
    broken = f"MANIFEST['tools'][0]['input_schema'] = {schema!r}"
    report = await checked(write(tmp_path, broken))
    assert not named(report, "broken"), report
    if verdict == "handshake":
        assert named(report, "failed") == {"handshake"}
    else:
        assert "tools-for-models" in named(report, verdict)


async def test_what_a_guard_guards_is_said(tmp_path: Path) -> None:
    broken = "MANIFEST['subscriptions'][0]['match'] = {'tool_name': ['shell', 'write_*']}"
    report = await checked(write(tmp_path, broken))
    (finding,) = (found for found in report.findings if found.name == "hook pre_tool_call")
    assert finding.verdict == "passed"
    assert finding.note.endswith("; guards nothing but shell, write_*")


async def test_every_tool_that_a_provider_refuses_is_named(tmp_path: Path) -> None:
    broken = """
    named = {"type": "object", "properties": {"größe": {}}}
    MANIFEST["tools"] += [{"name": name, "input_schema": named} for name in ("b", "c")]
    MANIFEST["tools"] += [{"name": "d", "input_schema": {"anyOf": [{"type": "object"}]}}]
    """
    report = await checked(write(tmp_path, broken))
    (finding,) = (found for found in report.findings if found.name == "tools-for-models")
    assert finding.verdict == "warned"
    assert finding.sent == "the tool b to a model of anthropic"
    assert finding.came.endswith("; likewise c, d")
    assert "größe" in finding.came


async def test_a_guard_that_no_tool_can_reach_is_refused(tmp_path: Path) -> None:
    broken = "MANIFEST['subscriptions'][0]['match'] = {'tool_name': 'say|weather'}"
    report = await checked(write(tmp_path, broken))
    assert named(report, "failed") == {"handshake"}
    assert "has '|', but patterns know" in report.findings[0].advice


def test_every_check_is_seen_to_fail() -> None:
    seen = set[str]().union(*(expected for _, expected in BROKEN.values()))
    seen |= {expected for _, expected, _ in ALONE.values()}
    # the events are alike; the others warn, and have tests of their own
    assert set(ALL) - seen == {
        "shutdown-after-events",
        "shutdown-while-running",
        "event turn_end",
        "event session_start",
        "near-misses",
        "no-process-left",
        "tools-for-models",
    }


async def test_a_tool_that_a_provider_of_models_refuses_is_a_warning(tmp_path: Path) -> None:
    broken = "MANIFEST['tools'][0]['input_schema']['properties']['größe'] = {}"
    report = await checked(write(tmp_path, broken))
    assert named(report, "warned") == {"tools-for-models"}
    assert named(report, "failed") == set()


async def test_what_a_plugin_leaves_behind_is_a_warning(tmp_path: Path) -> None:
    broken = (
        "subprocess.Popen(['sleep', '30'], stdin=subprocess.DEVNULL, "
        "stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)"
    )
    report = await checked(write(tmp_path, broken))
    assert named(report, "warned") == {"no-process-left"}
    assert named(report, "failed") == set()


@pytest.fixture
def subreaper() -> Iterator[None]:
    """Orphans become children of this process, which leaves them to be zombies until the end."""
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
    yield
    ctypes.CDLL(None).prctl(36, 0, 0, 0, 0)
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone tells zombies from others")
@pytest.mark.usefixtures("subreaper")
async def test_a_zombie_is_no_process_that_is_left(tmp_path: Path, only: Only) -> None:
    only(*AT_ONCE)
    report = await checked(write(tmp_path, "os.fork() or os._exit(0)"))
    assert named(report, "warned") == set()
    assert named(report, "failed") == set()


async def test_to_die_of_an_error_when_told_to_end_is_a_warning(tmp_path: Path) -> None:
    report = await checked(
        write(
            tmp_path, "def told(message): message['method'] == 'exit' and sys.exit('it went wrong')"
        )
    )
    assert named(report, "warned") == {"shutdown", "exit"}
    assert named(report, "failed") == set()
    came = {finding.came for finding in report.findings if finding.verdict == "warned"}
    assert came == {"the process exited with status 1; its last words on stderr: it went wrong"}


async def test_last_words_that_come_after_the_end_are_told(tmp_path: Path, only: Only) -> None:
    only("shutdown")
    late = "sh -c 'exec >&-; sleep 0.2; echo late words >&2'"
    report = await checked(
        write(
            tmp_path,
            "import shlex\n"
            "def told(message):\n"
            "    if message['method'] == 'exit':\n"
            f"        subprocess.Popen(shlex.split({late!r}), start_new_session=True)\n"
            "        os._exit(1)",
        )
    )
    came = {finding.came for finding in report.findings if finding.verdict == "warned"}
    assert came == {"the process exited with status 1; its last words on stderr: late words"}


async def test_a_plugin_that_leaves_itself_out_is_asked_for_nothing(tmp_path: Path) -> None:
    report = await checked(write(tmp_path, "MANIFEST['disabled'] = 'git is not installed'"))
    assert named(report, "passed") == {
        *ALL[: ALL.index("hook pre_tool_call")],
        "utf-8",
        "escapes",
        *ALL[ALL.index("shutdown") :],
    }


async def test_without_ping_the_checks_that_need_it_are_skipped(tmp_path: Path) -> None:
    report = await checked(write(tmp_path, answering("ping", "None")))
    assert named(report, "failed") == {"ping"}
    assert {"many-at-once", "event turn_end", "cancel tool add"} <= named(report, "skipped")


@pytest.mark.parametrize(
    "match", [{"source": ["re?u*"]}, {"session_key": "*", "cwd": ["/?/*/z", "y"]}]
)
async def test_the_sample_fits_the_match(tmp_path: Path, match: dict[str, Any]) -> None:
    report = await checked(write(tmp_path, f"MANIFEST['subscriptions'][2]['match'] = {match!r}"))
    assert named(report, "skipped") == set()
    assert named(report, "failed") == set()


async def test_a_plugin_without_its_sdk_is_told_what_to_do(tmp_path: Path) -> None:
    report = await checked(write(tmp_path, "import sliphook_sdk"))
    finding = report.findings[0]
    assert (finding.name, finding.verdict) == ("handshake", "failed")
    assert "ModuleNotFoundError: No module named 'sliphook_sdk' (" in finding.came
    assert finding.advice.startswith("the Python that its #! line finds has no sliphook-sdk")


async def test_what_cannot_be_started(tmp_path: Path) -> None:
    path = write(tmp_path)
    path.chmod(0o600)
    (finding,) = (await checked(path)).findings
    assert (finding.name, finding.verdict) == ("starts", "failed")
    assert "not executable" in finding.came


async def test_a_fault_of_the_suite_is_not_the_plugins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def bad(bench: Bench) -> str:
        raise KeyError("mine")

    monkeypatch.setattr("sliphook.check.suite._WIRE", ())
    monkeypatch.setattr("sliphook.check.suite._END", (Check("shutdown", "End", bad),))
    report = await checked(write(tmp_path))
    assert named(report, "broken") == {"shutdown"}
    assert named(report, "failed") == set()
    xml = ElementTree.fromstring(report.junit())
    assert xml.get("tests") == str(len(report.findings))
    assert xml.get("errors") == "1"
    assert xml.get("failures") == "0"


@says(
    "Each finding names the section of this document that asks for it;",
)
async def test_every_finding_names_a_section_of_the_protocol(tmp_path: Path) -> None:
    for report in (await checked(write(tmp_path)), await check_plugin(tmp_path / "nothing")):
        assert report.findings
        assert [finding for finding in report.findings if finding.section not in HEADINGS] == []
