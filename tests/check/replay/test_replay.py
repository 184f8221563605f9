"""The host's side of a trace, against plugins that answer as before and plugins that do not."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio

from sliphook.check.replay.differences import ReplayReport
from sliphook.check.replay.replay import replay
from sliphook.check.replay.script import script_of
from tests.programs import Workshop, case_of, shop
from tests.trace.made import answered, asked, life, record, settled, told

__all__ = ["played", "shop"]

MANIFEST: dict[str, Any] = {
    "protocol_version": 1,
    "name": "guard",
    "subscriptions": [],
    "tools": [],
}
KEEPS_METHODS = """
methods = []
def record(message):
    methods.append(message.get("method"))
"""
START = [
    record("spawn", 0),
    asked(1, 0, method="initialize"),
    answered(1, 1, 9.0, MANIFEST, method="initialize"),
    life("ready", 1),
]


@pytest.fixture
def played(shop: Workshop) -> Callable[..., ReplayReport]:
    """Replays records against a plugin that answers by `on`."""

    def play(on: str, *records: Any, before: str = "", **options: Any) -> ReplayReport:
        path = shop.program("guard", on=on, before=before).path

        async def main() -> ReplayReport:
            with trio.fail_after(120):
                return await replay(
                    path,
                    "guard",
                    script_of([*START, *records]),
                    log=lambda level, message: None,
                    **options,
                )

        return trio.run(main)

    return play


def found(report: ReplayReport) -> list[tuple[str, str, Any, Any]]:
    assert report.same == (not report.differences)
    return [(one.what, one.field, one.recorded, one.now) for one in report.differences]


DENIES = case_of("hook/pre_tool_call", "return {'decision': 'deny', 'reason': params['reason']}")


def test_answers_as_before_and_other_ones(played: Callable[..., ReplayReport]) -> None:
    report = played(
        DENIES,
        asked(2, 2, reason="no"),
        answered(2, 2, 1.0, {"decision": "deny", "reason": "no"}),
        asked(3, 3, reason="no"),
        asked(4, 3, reason="never"),
        answered(4, 4, 1.0, {"decision": "deny", "reason": "[redacted]"}),
        answered(3, 4, 1.0, {"decision": "allow", "reason": "no"}),
        asked(5, 5, reason="x"),
    )
    assert found(report) == [("hook/pre_tool_call", "result.decision", "allow", "deny")]
    assert [(one.number, one.same, one.recorded, one.now) for one in report.requests] == [
        (1, True, "answered", "answered"),
        (2, True, "answered", "answered"),
        (3, False, "answered", "answered"),
        (4, True, "answered", "answered"),
        (5, True, None, report.requests[4].now),
    ]
    assert all(one.now_ms is not None for one in report.requests)


def test_what_was_withdrawn_is_withdrawn_and_what_timed_out_is_waited_for(
    played: Callable[..., ReplayReport],
) -> None:
    logs = """
    def heard(message):
        if message["method"] == "$/cancelRequest":
            send(method="host/log", params={"level": "info", "message": "cancelled"})
    """
    answers = """
    if method in ("hook/pre_tool_call", "tool/call"):
        return NOTHING
    if method == "hook/stop":
        return {"context": methods}
    """
    methods = [
        "initialize",
        "tool/call",
        "$/cancelRequest",
        "hook/pre_tool_call",
        "$/cancelRequest",
        "event/turn_end",
        "hook/stop",
    ]
    report = played(
        answers,
        asked(2, 2, method="tool/call", name="deploy", timeout_s=600.0),
        settled(2, 3, "cancelled", method="tool/call", elapsed_ms=30.0),
        asked(3, 4, timeout_s=0.2),
        settled(3, 5, "timed_out", elapsed_ms=200.0),
        told("turn_end", 6),
        asked(4, 7, "stop"),
        answered(4, 7, 1.0, {"context": methods}, method="hook/stop"),
        before=KEEPS_METHODS + textwrap.dedent(logs),
    )
    assert found(report) == []


def test_a_plugin_that_hangs_where_it_had_answered(played: Callable[..., ReplayReport]) -> None:
    hangs = case_of("hook/pre_tool_call", "return NOTHING")
    report = played(hangs, asked(2, 2), answered(2, 2, 1.0, {}), timeout_s=0.3)
    assert found(report) == [("hook/pre_tool_call", "status", "answered", "timed_out")]


def test_its_own_requests_are_answered_as_they_were(played: Callable[..., ReplayReport]) -> None:
    asks = """
    global waiting
    waiting = id
    request("a", "host/inject", session_id="s", text="new")
    return NOTHING
    """
    goes_on = """
    def heard(message):
        if message.get("id") == "a":
            request("b", "host/notify")
            reply(waiting, {"context": [str(message)]})
    """
    answer = {"jsonrpc": "2.0", "id": "a", "error": {"code": -32004, "message": "too many"}}
    report = played(
        case_of("hook/stop", asks),
        asked(2, 2, "stop"),
        record(
            at=2,
            direction="from_plugin",
            method="host/inject",
            id=7,
            body={"method": "host/inject", "params": {"session_id": "s", "text": "old"}},
        ),
        record(at=2, direction="to_plugin", method="host/inject", id=7, body=answer),
        answered(2, 2, 1.0, {"context": [str(answer)]}, method="hook/stop"),
        record(
            at=2,
            direction="from_plugin",
            method="host/tools",
            id=8,
            body={"method": "host/tools", "params": {}},
        ),
        before=goes_on,
        timeout_s=5.0,
    )
    assert found(report) == [
        ("host/inject", "params.text", "old", "new"),
        ("host/notify", "extra", None, {}),
        ("host/tools", "missing", {}, None),
    ]


def test_requests_that_do_not_come_are_not_waited_for_one_by_one(
    played: Callable[..., ReplayReport],
) -> None:
    body: dict[str, Any] = {"method": "host/notify", "params": {}}
    asks = [
        record(at=2, direction="from_plugin", method="host/notify", id=number, body=body)
        for number in range(5)
    ]
    began = time.monotonic()
    assert [fields[:2] for fields in found(played("", *asks, timeout_s=5.0))] == [
        ("host/notify", "missing")
    ] * 5
    dies = case_of("hook/stop", "os._exit(3)")
    assert (
        len(
            found(
                played(
                    dies, asked(2, 2, "stop"), answered(2, 2, 1.0, {}, method="hook/stop"), *asks
                )
            )
        )
        == 7
    )
    assert (
        time.monotonic() - began < 20.0
    )  # one after the other they would take 25 s, and with the usual timeout 150


@pytest.mark.parametrize(
    ("recorded", "sent"),
    [
        ({"plugin": {"data_dir": "/d", "config": "[redacted]"}}, {}),
        ({"plugin": {"data_dir": "/d", "config": {"key": "[redacted]"}}}, {"key": "[redacted]"}),
        ({}, {}),
        ([], {}),
    ],
)
def test_settings_that_no_plugin_could_read_are_left_out(
    recorded: Any, sent: dict[str, Any], played: Callable[..., ReplayReport]
) -> None:
    keeps_settings = """
    def record(message):
        global config
        if message.get("method") == "initialize":
            config = message["params"]["plugin"]["config"]
    """
    answer = case_of("hook/stop", "return config")
    begins = [
        record("spawn", 0),
        record(
            direction="to_plugin",
            method="initialize",
            id=1,
            body={"method": "initialize", "params": recorded},
        ),
    ]
    known = answered(1, 1, 9.0, MANIFEST, method="initialize")
    stop = (asked(2, 2, "stop"), answered(2, 2, 1.0, sent, method="hook/stop"))
    assert found(played(answer, *begins, known, *stop, before=keeps_settings)) == []


def test_deaths(played: Callable[..., ReplayReport]) -> None:
    died = [settled(2, 3, "crashed"), life("restarting", 3, note="exited with status 3"), *START]
    crashes = case_of("hook/pre_tool_call", "os._exit(3)")
    assert found(played(crashes, asked(2, 2), *died)) == []
    assert [
        fields[1] for fields in found(played(crashes, asked(2, 2), answered(2, 2, 1.0, {})))
    ] == ["status", "death"]
    lives = found(played(DENIES, asked(2, 2, reason="x"), *died))
    assert lives == [
        ("hook/pre_tool_call", "status", "crashed", "answered"),
        ("the process", "death", "exited with status 3", None),
    ]


def test_a_trace_of_thousands_of_events_does_not_drown_it(
    played: Callable[..., ReplayReport],
) -> None:
    counts = case_of("hook/stop", "return {'context': [str(len(methods))]}")
    events = [told("turn_end", 2, note="x" * 200) for _ in range(3_000)]
    stop = (asked(2, 3, "stop"), answered(2, 3, 1.0, {}, method="hook/stop"))
    report = played(counts, *events, *stop, before=KEEPS_METHODS)
    assert [fields[3] for fields in found(report)] == [[str(1 + 3_000 + 3_000 // 64 + 1)]]


async def test_what_cannot_be_started(tmp_path: Path) -> None:
    with trio.fail_after(120):
        report = await replay(
            tmp_path / "nothing", "guard", script_of(START), log=lambda level, message: None
        )
    ((what, field, _, why),) = found(report)
    assert (what, field) == ("the process", "start")
    assert "does not exist" in why


def test_a_manifest_that_has_changed(played: Callable[..., ReplayReport]) -> None:
    other = {**MANIFEST, "version": "2", "uses": ["inject"]}
    report = played(
        "",
        *[msgspec.structs.replace(one) for one in START[:2]],
        answered(1, 1, 9.0, other, method="initialize"),
    )
    assert found(report)[-1] == ("initialize", "result.uses", ["inject"], "(absent)")
