"""A finding names its cause first, and says what the author can do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import trio

from sliphook.check import CheckFinding, Report, check_plugin, end_rules, text_rules

from .broken import write
from .conftest import Only
from .test_suite import ALL, AT_A_COMMAND, COUNTS_CHARACTERS, EXAMPLES, named

pytestmark = pytest.mark.usefixtures("short_patience")


async def checked(path: Path) -> Report:
    with trio.fail_after(600):
        return await check_plugin(path)


def finding(report: Report, name: str) -> CheckFinding:
    (found,) = (one for one in report.findings if one.name == name)
    return found


NEEDS_A_CITY = """
    MANIFEST["tools"][0]["input_schema"]["properties"]["city"] = {"type": "string"}
    def call(params):
        if params["name"] != "add":
            return fail(-32602)
        return {answer}
"""


@pytest.mark.parametrize(
    ("answer", "came"),
    [
        ("fail(-32603, 'there is no city text')", "the error -32603: there is no city text"),
        (
            "{'result': {'content': 'there is no city text', 'is_error': True}}",
            "is_error: there is no city text",
        ),
    ],
)
async def test_a_tool_that_refuses_its_sample(tmp_path: Path, answer: str, came: str) -> None:
    broken = NEEDS_A_CITY.replace("{answer}", answer) + "    " + EXAMPLES.format([0])
    report = await checked(write(tmp_path, broken))
    assert named(report, "failed") == set()
    assert named(report, "warned") == {"tool add"}
    found = finding(report, "tool add")
    assert found.sent == 'tool/call add {"a":1,"seconds":0}'
    assert found.came == came
    assert found.advice.startswith(
        "name a sample that the tool takes, as examples in its input_sch"
    )
    assert '"examples": [{"seconds": 0, "a": 1}]' not in found.advice
    # and nobody is told that it is too quick
    notes = [one.note for one in report.findings if one.verdict == "skipped"]
    assert len(notes) == 7
    assert notes[0].startswith(f"the tool add answers {came}, to each sample; name a sample that")
    assert not any("too quick" in note for note in notes)


async def test_a_result_that_json_cannot_hold_is_the_tools_fault(tmp_path: Path) -> None:
    """Whatever the SDK: the words are those of both."""
    content = "mean: returned float, which JSON cannot hold: $ is NaN"
    answer = f"{{'result': {{'content': '{content}', 'is_error': True}}}}"
    broken = NEEDS_A_CITY.replace("{answer}", answer) + "    " + EXAMPLES.format([0])
    report = await checked(write(tmp_path, broken))
    assert named(report, "failed") == {"tool add"}
    found = finding(report, "tool add")
    assert found.came == f"is_error: {content}"
    assert found.advice == (
        "return what JSON has: text, true and false, null, lists, objects with texts as keys, and"
        " numbers without NaN and infinity"
    )


async def test_a_number_that_cannot_be_read_is_told_as_it_is(tmp_path: Path) -> None:
    broken = """
    def call(params):
        return {"result": 1.5}
    dump = json.dumps
    json.dumps = lambda *given, **named: dump(*given, **named).replace("1.5", "1e400")
    """
    report = await checked(write(tmp_path, broken))
    assert named(report, "failed") >= {"tool add", "unknown-tool"}
    assert finding(report, "unknown-tool").came == "1e400"


@pytest.mark.parametrize(
    ("dies", "came", "advice"),
    [
        (
            "raise ValueError('guard() cannot match that')",
            "the process exited with status 1; its last words on stderr: ValueError: guard()"
            " cannot match that (FILE)",
            "it ended by itself: mend what its last words say; run alone, it shows all of them",
        ),
        ("os._exit(3)", "the process exited with status 3", "live until you are told to end"),
    ],
)
async def test_what_a_plugin_says_when_it_dies_at_its_start_is_to_be_mended(
    tmp_path: Path, dies: str, came: str, advice: str
) -> None:
    found = finding(await checked(write(tmp_path, dies)), "handshake")
    where = re.sub(r" \(/\S+:\d+\)$", " (FILE)", found.came)
    assert (found.verdict, where) == ("failed", came)
    assert found.advice == advice


async def test_a_length_in_characters_is_named_first(tmp_path: Path) -> None:
    report = await checked(write(tmp_path, COUNTS_CHARACTERS))
    assert named(report, "failed") == {"length-in-bytes"}
    assert finding(report, "length-in-bytes").advice.startswith(
        "Content-Length counts bytes, not characters"
    )
    for name in ("large-message", "misleading-text"):
        assert finding(report, name).note == "it counts characters, as said above"


WRITES_CHARACTERS = """
    def say(**message):
        text = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False)
        with _writing:
            os.write(1, f"Content-Length: {len(text)}\\r\\n\\r\\n{text}".encode())
"""


async def test_a_length_that_is_written_in_characters_is_named_first(
    tmp_path: Path, only: Only, monkeypatch: pytest.MonkeyPatch
) -> None:
    # no reply can be read: what was written of it must come within this time
    monkeypatch.setattr(text_rules, "_WAIT_S", 6.0)
    only("utf-8")
    report = await checked(write(tmp_path, WRITES_CHARACTERS))
    assert "stdout-clean" in named(report, "failed")
    assert finding(report, "stdout-clean").came.startswith(
        "Content-Length counts bytes, not characters: a framed body of "
    )


async def test_a_cancel_that_breaks_the_plugin_is_no_unknown_notification(tmp_path: Path) -> None:
    report = await checked(write(tmp_path, "def cancel(id): RUNNING[id].set()"))
    # the last two cancel what was answered at once
    late = {"cancel hook pre_tool_call", "cancel tool add"}
    assert {"unknown-cancel"} <= named(report, "failed") <= {"unknown-cancel", *late}
    found = finding(report, "unknown-cancel")
    assert found.section == "Cancel and interrupt"
    assert found.sent.startswith("$/cancelRequest for a request that is over")
    assert "KeyError" in found.came
    assert found.advice.startswith("ignore a cancel whose id is unknown or already answered")


@pytest.mark.parametrize(
    ("method", "check"),
    [("hook/pre_tool_call", "cancel hook pre_tool_call"), ("tool/call", "cancel tool add")],
)
async def test_to_be_late_after_a_cancel_breaks_no_rule(
    tmp_path: Path, only: Only, method: str, check: str
) -> None:
    """Once is the machine, twice is the plugin, and protocol.md says SHOULD."""
    slow = f"""
    COUNT = [0]
    _take = take
    def take(message):
        COUNT[0] += message["method"] == "{method}"
        # the check of the {method} itself is the first, that of the wrong arguments the second
        if message["method"] == "{method}" and {{late}}:
            time.sleep(1.2)
        return _take(message)
    """
    first = 2 if method == "hook/pre_tool_call" else 3
    once, always = slow.format(late=f"COUNT[0] == {first}"), slow.format(late="True")
    only("hook pre_tool_call", "tool add", "tool add, wrong arguments", check)
    report = await checked(write(tmp_path, once))
    assert check in named(report, "passed")
    report = await checked(write(tmp_path, always))
    assert check in named(report, "warned"), report
    assert "after the cancel, at a second try too" in finding(report, check).came


async def test_a_cancelled_request_without_any_reply_breaks_a_rule(
    tmp_path: Path, only: Only
) -> None:
    """It is answered if nothing cancels it."""
    only("hook pre_tool_call", "cancel hook pre_tool_call")
    forgets = """
    MANIFEST["subscriptions"][0]["timeout_s"] = 9
    def told(message): message["method"] == "exit" and os._exit(0)
    CANCELLED = set()
    def cancel(id): CANCELLED.add(id)
    _take = take
    def take(message):
        time.sleep(0.1)
        return None if message["id"] in CANCELLED else _take(message)
    _messages = messages
    def messages():
        import queue
        come = queue.Queue()
        def read():
            for message in _messages():
                if message.get("method") == "$/cancelRequest":
                    cancel(message["params"]["id"])
                else:
                    come.put(message)
            come.put(None)
        threading.Thread(target=read, daemon=True).start()
        yield from iter(come.get, None)
    """
    report = await checked(write(tmp_path, forgets))
    assert "cancel hook pre_tool_call" in named(report, "failed")
    assert "no reply within 9 s" in finding(report, "cancel hook pre_tool_call").came


@pytest.mark.parametrize(
    ("said", "came"),
    [
        ("host/lgo", "a method that the host does not know; did you mean host/log?"),
        ("mine/own", "a method that the host does not know: "),
    ],
)
async def test_a_misspelt_method_is_named(tmp_path: Path, only: Only, said: str, came: str) -> None:
    only("command hello")
    do = f"say(method='{said}', params={{'level': 'info', 'message': 'x'}})"
    report = await checked(write(tmp_path, AT_A_COMMAND.format(do=do)))
    assert named(report, "failed") == {"unasked-messages"}
    assert came in finding(report, "unasked-messages").came


async def test_the_other_near_misses_of_a_refused_manifest_are_said(tmp_path: Path) -> None:
    broken = """
    MANIFEST["subscriptions"][0]["on_failur"] = "open"
    MANIFEST["descripton"] = "x"
    MANIFEST["tools"][0]["inputSchema"] = {}
    """
    report = await checked(write(tmp_path, broken))
    (found,) = report.findings[:1]
    assert (found.name, found.verdict) == ("handshake", "failed")
    assert "unknown field `on_failur`" in found.advice
    assert found.advice.index("on_failur") < found.advice.index("descripton")
    assert "the tool add has the unknown field 'inputSchema'" in found.advice


async def test_shutdown_that_comes_too_late_breaks_no_rule(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, only: Only
) -> None:
    """protocol.md says SHOULD."""
    monkeypatch.setattr(end_rules, "SHUTDOWN_TIMEOUT_S", 1.5)
    only("event turn_end", "shutdown-after-events")
    slow = """
    _told = told
    def told(message):
        if message["method"] == "event/turn_end":
            time.sleep(1.8)
        _told(message)
    """
    report = await checked(write(tmp_path, slow))
    assert "shutdown-after-events" in named(report, "warned")
    assert "no reply within 1.5 s" in finding(report, "shutdown-after-events").came
    assert named(report, "failed") <= {"event turn_end"}


def test_the_checks_are_all_here() -> None:
    assert {"length-in-bytes", "unknown-cancel"} <= set(ALL)
