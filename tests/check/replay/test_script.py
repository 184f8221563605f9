"""From a trace to a script to be played again, and what counts as a difference."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sliphook.check.replay.differences import ABSENT, Verdicts, differences, values_differ
from sliphook.check.replay.script import (
    ExpectStep,
    NotifyStep,
    RecordedError,
    RequestEnd,
    RequestStep,
    WaitStep,
    plugins_of,
    script_of,
)
from tests.trace.made import answered, asked, life, record, settled, told


def ending(
    status: str = "answered", result: Any = None, fault: RecordedError | None = None
) -> RequestEnd:
    return RequestEnd(status=status, result=msgspec.Raw(msgspec.json.encode(result)), fault=fault)


def test_the_order_of_what_was_sent_and_waited_for() -> None:
    (one,) = script_of(
        [
            record("spawn", 0),
            asked(1, 0, method="initialize", events=[]),
            answered(1, 1, 400.0, {"name": "guard"}, method="initialize"),
            asked(2, 1, method="tool/call", name="deploy"),
            asked(3, 1),
            record(
                at=1,
                direction="from_plugin",
                method="host/notify",
                id="n",
                body={"method": "host/notify", "params": {"a": 1}},
            ),
            record(
                at=1,
                direction="to_plugin",
                method="host/notify",
                id="n",
                body={"id": "n", "error": {"code": -32004, "message": "busy"}},
            ),
            answered(3, 1, 2.0, {"decision": "deny"}),
            told("turn_end", 1, outcome="completed"),
            settled(2, 3, "cancelled", method="tool/call"),
            record(
                at=3,
                direction="to_plugin",
                method="$/cancelRequest",
                body={"method": "$/cancelRequest", "params": {"id": 2}},
            ),
            asked(4, 4, method="shutdown"),
        ]
    )
    deploy, hook, notify, after_hook, event, after_deploy = one.steps
    assert isinstance(deploy, RequestStep)
    assert isinstance(hook, RequestStep)
    assert (deploy.label, hook.label) == ("tool/call deploy", "hook/pre_tool_call")
    assert isinstance(notify, ExpectStep)
    assert notify.ending == RequestEnd(status="error", fault=RecordedError(-32004, "busy"))
    assert after_hook == WaitStep(hook)
    assert hook.ending is not None
    assert bytes(hook.ending.result) == b'{"decision":"deny"}'
    assert isinstance(event, NotifyStep)
    assert (event.method, bytes(event.params)) == ("event/turn_end", b'{"outcome":"completed"}')
    assert after_deploy == WaitStep(deploy)
    assert deploy.ending == RequestEnd(status="cancelled")
    assert one.initialize is not None
    assert bytes(one.initialize) == b'{"events":[]}'
    assert one.manifest is not None
    assert bytes(one.manifest.result) == b'{"name":"guard"}'
    assert one.died is None


def test_each_process_is_a_life_and_a_death_is_remembered() -> None:
    first, second = script_of(
        [
            record("spawn", 0),
            asked(1, 0),
            settled(1, 1, "crashed"),
            life("restarting", 1, note="exited with status 1"),
            record("spawn", 2),
            asked(1, 2),
        ]
    )
    assert first.died == "exited with status 1"
    assert isinstance(first.steps[0], RequestStep)
    assert first.steps[0].ending == RequestEnd(status="crashed")
    assert second.died is None
    assert [type(step) for step in second.steps] == [RequestStep]


def test_a_trace_that_begins_in_the_middle() -> None:
    (one,) = script_of([answered(7, 0, 1.0), settled(8, 0, "timed_out"), asked(9, 1)])
    assert one.initialize is None
    assert [type(step) for step in one.steps] == [RequestStep]


def test_the_records_before_the_plugin_said_its_name_are_its_own() -> None:
    records = [
        asked(1, 0, method="initialize", plugin="file"),
        answered(1, 1, 1.0, {"name": "guard"}, plugin="file", method="initialize"),
        life("ready", 1, plugin="guard"),
        asked(2, 2, plugin="guard"),
        record("unheard", 3, plugin="", method="hook/stop"),
    ]
    assert list(plugins_of(records)) == ["guard"]
    assert plugins_of(records)["guard"] == records[:4]


@pytest.mark.parametrize(
    ("method", "before", "now"),
    [
        ("hook/stop", None, {}),
        ("hook/stop", {"decision": None, "_meta": {"n": 1}}, {"_meta": {"n": 2}}),
        ("hook/pre_tool_call", {"reason": "not [redacted] here"}, {"reason": "not s3cret here"}),
        ("tool/call", "done", {"content": "done", "is_error": False, "data": None}),
        (
            "initialize",
            {"name": "guard", "version": "1.0"},
            {"name": "guard", "version": "1.1", "tools": None},
        ),
        ("ping", 1, 1.0),
    ],
)
def test_what_means_the_same(method: str, before: Any, now: Any) -> None:
    assert list(differences(method, ending(result=before), ending(result=now))) == []


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        (
            ending(result={"decision": "deny"}),
            ending(result={}),
            [("result.decision", "deny", ABSENT)],
        ),
        (ending(result={}), ending(result={"context": ["a"]}), [("result.context", ABSENT, ["a"])]),
        (
            ending(result={"a": {"b": [1, 2]}}),
            ending(result={"a": {"b": [1, 3, 4]}}),
            [("result.a.b[1]", 2, 3), ("result.a.b[2]", ABSENT, 4)],
        ),
        (
            ending(result={"a": "x [redacted]"}),
            ending(result={"a": "y z"}),
            [("result.a", "x [redacted]", "y z")],
        ),
        (
            ending(result={"a": "[redacted]"}),
            ending(result={"a": 3}),
            [("result.a", "[redacted]", 3)],
        ),
        (ending(result={"a": 1}), ending(result={"a": True}), [("result.a", 1, True)]),
        (
            ending(),
            ending("error", fault=RecordedError(-32601, "no")),
            [("status", "answered", "error -32601: no")],
        ),
        (
            ending("error", fault=RecordedError(1, "a")),
            ending("error", fault=RecordedError(1, "b")),
            [("error.message", "a", "b")],
        ),
        (ending("timed_out"), ending(result={}), [("status", "timed_out", "answered")]),
        (ending("cancelled"), ending(result={"decision": "deny"}), []),
        (
            ending("cancelled"),
            ending("error", fault=RecordedError(-32800, "request cancelled")),
            [],
        ),
        (
            ending("cancelled"),
            ending("error", fault=RecordedError(-32602, "no")),
            [("status", "cancelled", "error -32602: no")],
        ),
        (
            ending("cancelled"),
            ending("error", fault=RecordedError(-32601, "no")),
            [("status", "cancelled", "error -32601: no")],
        ),
        (ending("crashed"), ending("crashed"), []),
    ],
)
def test_what_differs(
    before: RequestEnd, now: RequestEnd, expected: list[tuple[str, Any, Any]]
) -> None:
    assert list(differences("hook/pre_tool_call", before, now)) == expected


def test_special_characters_beside_a_redacted_text() -> None:
    assert list(values_differ("x", "(a+ [redacted]\n)", "(a+ b\nc\n)")) == []
    assert list(values_differ("x", "(a+ [redacted]\n)", "aa b\n")) == [
        ("x", "(a+ [redacted]\n)", "aa b\n")
    ]


def test_a_request_without_a_recorded_end_is_no_difference() -> None:
    verdicts = Verdicts()
    verdicts.compare("hook/stop", "hook/stop", None, ending())
    assert verdicts.report("guard", "./guard").same
    verdicts.differs("host/notify", "extra", now={})
    assert not verdicts.report("guard", "./guard").same


@pytest.mark.parametrize(
    "value",
    [b'"\xff"', b'"\\ud800"', b"[" * 3_000 + b"]" * 3_000],
    ids=["no UTF-8", "a lone surrogate", "deep"],
)
def test_what_cannot_be_decoded_is_not_played(value: bytes) -> None:
    message = b'{"params":{"plugin":' + value + b'},"result":' + value + b"}"
    (one,) = script_of(
        [
            record("spawn"),
            record(
                direction="to_plugin",
                method="initialize",
                id=1,
                body=b'{"method":"initialize",' + message[1:],
            ),
            record(direction="from_plugin", method="host/inject", id=1, body=message),
            record(
                direction="from_plugin", method="initialize", id=1, elapsed_ms=1.0, body=message
            ),
        ]
    )
    assert one.initialize is None or bytes(one.initialize) == b"{}"
    (expect,) = one.steps
    assert isinstance(expect, ExpectStep)
    assert bytes(expect.params) == b"{}"
    assert one.manifest is not None
    assert bytes(one.manifest.result) == b"null"


def test_of_what_the_trace_has_only_the_beginning_nothing_is_sent_or_compared() -> None:
    (one,) = script_of(
        [
            msgspec.structs.replace(asked(1, 0, method="tool/call"), cut=True),
            answered(1, 1, 1.0, {"content": "x"}, method="tool/call"),
            msgspec.structs.replace(told("turn_end", 1), cut=True),
            asked(2, 2),
            msgspec.structs.replace(answered(2, 3, 1.0, {"decision": "deny"}), cut=True),
        ]
    )
    ask, wait = one.steps
    assert isinstance(ask, RequestStep)
    assert isinstance(wait, WaitStep)
    assert (ask.method, ask.ending) == ("hook/pre_tool_call", None)
    assert wait.ask is ask
