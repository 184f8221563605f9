"""What a view does for a record does not grow with the records before it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from sliphook.trace.one_turn import TurnPlace, only_turn
from sliphook.trace.record import TraceRecord
from sliphook.trace.views.span_builder import spans_of
from sliphook.trace.views.summary import Summary

from .made import asked, life, record

MANY = 200


def steps_of(work: Callable[[], object]) -> int:
    """How many instructions of Python the work takes."""
    steps = 0

    def count(frame: FrameType, event: str, _: object) -> Any:
        nonlocal steps
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        steps += event == "opcode"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        work()
    finally:
        sys.settrace(before)
    return steps


def summary_of(records: list[TraceRecord]) -> None:
    summary = Summary()
    for one in records:
        summary.add(one)
    summary.result()


def turn_of(records: list[TraceRecord]) -> None:
    assert list(only_turn(records, TurnPlace("t", "s", 0, len(records) - 1)))


REQUESTS = [asked(number, number, plugin="asked", turn_id="t") for number in range(MANY)]
SPAWNS = [record("spawn", MANY, "other", note="process 1") for _ in range(MANY)]
STARTS = [life("starting", MANY, f"other {number}") for number in range(MANY)]
READY = [life("ready", MANY, f"ready {number}") for number in range(MANY)]
DEATHS = [life("failed", MANY, f"dead {number}") for number in range(MANY)]


@pytest.mark.parametrize(
    ("view", "first", "then"),
    [
        (summary_of, REQUESTS, SPAWNS),
        (spans_of, REQUESTS, SPAWNS),
        (turn_of, REQUESTS, SPAWNS),
        (spans_of, STARTS, READY),
        (spans_of, STARTS, DEATHS),
    ],
    ids=["summary", "spans", "one turn", "ready without a start", "dead without a start"],
)
def test_what_stands_open_costs_nothing_at_what_comes_later(
    view: Callable[[list[TraceRecord]], object], first: list[TraceRecord], then: list[TraceRecord]
) -> None:
    behind, before = (
        steps_of(lambda: view([*first, *then])),
        steps_of(lambda: view([*then, *first])),
    )
    assert behind < 1.5 * before
