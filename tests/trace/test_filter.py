"""`--trace-filter`: what it lets through, and what it says to what it does not understand."""

from __future__ import annotations

import contextlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sliphook.trace.filter import FilterError, Sifted, parse_filter
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
    wanted = parse_filter(text)
    assert [one for one in ALL if wanted.fits(one)] == shown


def test_what_the_file_says_of_itself_is_always_shown() -> None:
    wanted = parse_filter("plugin=nobody,event=stop")
    assert wanted.fits(record(kind="header", plugin=""))
    assert wanted.fits(record(kind="lost", plugin=""))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "'' is nothing to filter by; there are plugin, method, event"),
        ("plugni=guard", "'plugni' is nothing to filter by; did you mean plugin?"),
        ("guard", "'guard' is nothing to filter by; there are plugin, method, event"),
        ("plugin", "plugin needs a value, like plugin=guard"),
        ("plugin=a,plugin=b", "plugin is given twice; several values are separated by |"),
        (
            "event=pre_tool_cal",
            "there is no hook or event 'pre_tool_cal'; did you mean pre_tool_call?",
        ),
        ("event=zzz", "there is no hook or event 'zzz'; `sliphook events` shows them all"),
        ("slow=50ms", "'slow' is nothing to filter by; there are plugin, method, event"),
    ],
)
def test_what_is_no_filter(text: str, why: str) -> None:
    with pytest.raises(FilterError) as failure:
        parse_filter(text)
    assert str(failure.value) == why


@given(st.text(st.sampled_from("plugin=method,|*?. -sv"), max_size=40))
def test_any_text_is_a_filter_or_a_filter_error(text: str) -> None:
    with contextlib.suppress(FilterError):
        parse_filter(text).fits(ASKED)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("plugin=wether", "no plugin is wether; did you mean weather?"),
        ("plugin=x|y", "no plugin is x|y; there are: guard, weather"),
        ("method=tool/cal", "no method is tool/cal; did you mean tool/call?"),
        ("event=stop", "no event is stop; there are: pre_tool_call"),
        ("plugin=weather,event=pre_*", "no record fits all of its conditions"),
    ],
)
def test_a_filter_that_fits_nothing_is_told(text: str, why: str) -> None:
    sifted = Sifted(parse_filter(text))
    assert not any(map(sifted.fits, (ASKED, ANSWERED, TOLD, TOOL)))
    assert sifted.why_none() == f"nothing fits the filter: {why}"


def test_a_filter_that_fits_something_is_not_told() -> None:
    sifted = Sifted(parse_filter("plugin=guard"))
    assert sifted.why_none() is None, "there was nothing at all"
    assert sifted.fits(ASKED)
    assert not sifted.fits(TOOL)
    assert sifted.why_none() is None
