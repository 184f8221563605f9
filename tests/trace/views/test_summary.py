"""Counts, durations and faults for each plugin and each thing that it was asked."""

from __future__ import annotations

import pytest

from sliphook.trace.views.summary import MethodSummary, PluginSummary, Summary, TraceSummary
from tests.trace.made import answered, asked, life, record, settled, told


def summary_of(*records: object) -> TraceSummary:
    summary = Summary()
    for one in records:
        summary.add(one)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
    return summary.result()


def test_nothing() -> None:
    assert summary_of() == TraceSummary(
        records=0, seconds=0.0, lost=0, sessions=0, turns=0, plugins=[]
    )


def test_durations_are_ranks_of_what_was_measured() -> None:
    records = [
        one
        for n in range(1, 201)
        for one in (asked(n, n, turn_id="t", session_id="s"), answered(n, n, float(n)))
    ]
    result = summary_of(*records)
    assert result.records == 400
    assert result.sessions == 1
    assert result.turns == 1
    assert result.seconds == 199.0
    (row,) = result.plugins[0].rows
    assert row.what == "hook/pre_tool_call"
    assert row.count == 200
    assert row.p50_ms == 100.0
    assert row.p99_ms == 198.0
    assert row.max_ms == 200.0
    assert row.timeouts == 0
    assert row.failures == 0
    assert row.cancelled == 0


def test_every_way_to_end() -> None:
    call = {"method": "tool/call", "name": "deploy"}
    result = summary_of(
        asked(1, 0.0, **call),
        answered(1, 0.1, 5.0, method="tool/call"),
        asked(2, 0.0, **call),
        settled(2, 0.2, "timed_out", method="tool/call"),
        asked(3, 0.0, **call),
        settled(3, 0.2, "cancelled", method="tool/call"),
        asked(4, 0.0, **call),
        settled(4, 0.2, "crashed", method="tool/call"),
        asked(5, 0.0, **call),
        answered(5, 0.3, 7.0, method="tool/call", verdict="error -32601"),
        settled(9, 0.4, "queue_full", method="tool/call"),
        told("turn_end", 0.5),
    )
    deploy, unwritten, event = result.plugins[0].rows
    bytes_of_requests = 5 * len(
        b'{"jsonrpc":"2.0","id":1,"method":"tool/call","params":{"name":"deploy"}}'
    )
    assert deploy == MethodSummary(
        what="tool/call deploy",
        count=5,
        p50_ms=5.0,
        p99_ms=7.0,
        max_ms=7.0,
        timeouts=1,
        cancelled=1,
        failures=2,
        bytes=bytes_of_requests + 2 * len(b'{"jsonrpc":"2.0","id":1,"result":null}'),
    )
    assert unwritten.what == "tool/call"
    assert unwritten.count == 1
    assert unwritten.failures == 1
    assert event.what == "event/turn_end"
    assert event.count == 1
    assert event.p50_ms is None


def test_a_plugins_own_messages() -> None:
    result = summary_of(
        record(
            direction="from_plugin",
            body={"jsonrpc": "2.0", "id": "a", "method": "host/notify"},
            method="host/notify",
            id="a",
        ),
        record(
            direction="to_plugin",
            body={"jsonrpc": "2.0", "id": "a", "result": {}},
            method="host/notify",
            id="a",
        ),
        record(direction="from_plugin", body={}, plugin="guard", method="host/log"),
    )
    assert [(row.what, row.count) for row in result.plugins[0].rows] == [
        ("host/notify", 1),
        ("host/log", 1),
    ]


def test_lives() -> None:
    result = summary_of(
        life("starting", 0),
        record("spawn", 0),
        life("ready", 1),
        life("restarting", 2, note="died"),
        record("exit", 2),
        life("starting", 3),
        record("spawn", 3),
        life("ready", 4),
        record("stderr", 4, body=b"oh"),
        record("stray", 4, body=b"hello"),
        record("refused", 4, body=b"{}"),
        record("drop", 4, body=b"{}"),
        record("late", 4, body=b"{}"),
        record(
            "late", 4, body=b"{}", id=3, method="tool/call", verdict="cancelled", note="stopped"
        ),
        record("late", 4, id=4, method="tool/call", verdict="killed", note="killed"),
        life("stopping", 5),
        record("exit", 5),
        life("stopped", 6),
    )
    expected = PluginSummary(
        name="guard",
        starts=2,
        restarts=1,
        deaths=1,
        dropped=1,
        late=1,
        refused=2,
        stderr_lines=1,
        rows=[],
    )
    assert result.plugins == [expected]


@pytest.mark.parametrize("own", ["checker", "guard.v2"])
def test_a_plugin_that_says_its_own_name_is_one_plugin(own: str) -> None:
    result = summary_of(
        life("starting", 0, plugin="file"),
        record("spawn", 0, plugin="file"),
        asked(1, 0, method="initialize", plugin="file"),
        answered(1, 1, 1.0, {"name": own}, plugin="file", method="initialize"),
        life("ready", 1, plugin=own),
        asked(2, 2, plugin=own),
    )
    assert [(plugin.name, plugin.starts, len(plugin.rows)) for plugin in result.plugins] == [
        (own, 1, 2)
    ]


def test_ids_begin_anew_with_each_process() -> None:
    result = summary_of(
        asked(1, 0, method="tool/call", name="old"),
        record("spawn", 1),
        answered(1, 2, 3.0, method="initialize"),
    )
    assert [(row.what, row.p50_ms) for row in result.plugins[0].rows] == [
        ("tool/call old", None),
        ("initialize", 3.0),
    ]
