"""`--trace-filter`: what it lets through, and what it says to what it does not understand."""

from __future__ import annotations

import contextlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sliphook.trace import filter as filter_module
from sliphook.trace.filter import FilterError, Sieve, parse_filter
from sliphook.trace.record import TraceRecord


def record(**fields: object) -> TraceRecord:
    return msgspec.convert(
        {"kind": "message", "wall_s": 0.0, "mono_s": 0.0, "plugin": "guard", **fields}, TraceRecord
    )


ASKED = record(direction="to_plugin", method="hook/pre_tool_call", id=1)
ANSWERED = record(direction="from_plugin", method="hook/pre_tool_call", id=1, elapsed_ms=80.0)
TOLD = record(direction="to_plugin", method="event/pre_tool_call")
TOOL = record(plugin="weather", direction="to_plugin", method="tool/call", id=1)
STDERR = record(plugin="weather", kind="stderr")
ALL = [ASKED, ANSWERED, TOLD, TOOL, STDERR]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plugin=guard", [ASKED, ANSWERED, TOLD]),
        ("plugin=wea*|nobody", [TOOL, STDERR]),
        ("plugin= guard | weather ", ALL),
        ("method=tool/call", [TOOL]),
        ("method=hook/*|tool/*", [ASKED, ANSWERED, TOOL]),
        ("event=pre_tool_call", [ASKED, ANSWERED, TOLD]),
        ("event=Pre-Tool-Call", [ASKED, ANSWERED, TOLD]),
        ("event=pre_*,plugin=weather", []),
        ("event=*", [ASKED, ANSWERED, TOLD]),
    ],
)
def test_what_is_let_through(text: str, shown: list[TraceRecord]) -> None:
    sieve = Sieve(parse_filter(text))
    assert [passed for one in ALL for passed in sieve.sift(one)] == shown


def test_a_slow_answer_brings_its_request_along() -> None:
    sieve = Sieve(parse_filter("slow=50ms"))
    assert list(sieve.sift(ASKED)) == []
    assert list(sieve.sift(TOOL)) == []
    assert list(sieve.sift(ANSWERED)) == [ASKED, ANSWERED]
    assert (
        list(
            sieve.sift(
                record(
                    plugin="weather",
                    direction="from_plugin",
                    method="tool/call",
                    id=1,
                    elapsed_ms=49.9,
                )
            )
        )
        == []
    )
    assert list(sieve.sift(ANSWERED)) == [ANSWERED]


def test_a_request_that_was_given_up_is_slow_too_and_ids_of_both_sides_are_apart() -> None:
    sieve = Sieve(parse_filter("slow=1s"))
    wants = record(direction="from_plugin", method="host/tools", id=1)
    settled = record(kind="settled", method="hook/pre_tool_call", id=1, elapsed_ms=1000.0)
    assert [*sieve.sift(ASKED), *sieve.sift(wants)] == []
    assert list(sieve.sift(settled)) == [ASKED, settled]
    replied = record(direction="to_plugin", method="host/tools", id=1, elapsed_ms=2000.0)
    assert list(sieve.sift(replied)) == [wants, replied]


def test_what_is_held_back_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filter_module, "MAX_HELD", 2)
    sieve = Sieve(parse_filter("slow=1ms"))
    for number in (1, 2, 3):
        sieve.sift(record(direction="to_plugin", method="tool/call", id=number))
    answers = [
        record(direction="from_plugin", method="tool/call", id=number, elapsed_ms=5.0)
        for number in (1, 3)
    ]
    assert [len(sieve.sift(answer)) for answer in answers] == [1, 2]


def test_what_the_file_says_of_itself_is_always_shown() -> None:
    sieve = Sieve(parse_filter("plugin=nobody,slow=1s"))
    assert [len(sieve.sift(record(kind=kind, plugin=""))) for kind in ("header", "lost")] == [1, 1]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "'' is nothing to filter by; there are plugin, method, event, slow"),
        ("plugni=guard", "'plugni' is nothing to filter by; did you mean plugin?"),
        ("guard", "'guard' is nothing to filter by; there are plugin, method, event, slow"),
        ("plugin", "plugin needs a value, like plugin=guard"),
        ("plugin=a,plugin=b", "plugin stands there twice; several values are separated by |"),
        (
            "event=pre_tool_cal",
            "there is no hook or event 'pre_tool_cal'; did you mean pre_tool_call?",
        ),
        ("event=zzz", "there is no hook or event 'zzz'; `sliphook events` shows them all"),
        ("slow=50", "slow=50 is no duration; say it like slow=50ms or slow=1.5s"),
        ("slow=-1s", "slow=-1s is no duration; say it like slow=50ms or slow=1.5s"),
        ("slow=", "slow needs a value, like slow=50ms"),
    ],
)
def test_what_is_no_filter(text: str, why: str) -> None:
    with pytest.raises(FilterError) as failure:
        parse_filter(text)
    assert str(failure.value) == why


@given(st.text(st.sampled_from("plugin=slow,|*?. 0159msevt"), max_size=40))
def test_any_text_is_a_filter_or_a_filter_error(text: str) -> None:
    with contextlib.suppress(FilterError):
        Sieve(parse_filter(text)).sift(ASKED)
