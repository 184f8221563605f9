"""The picture of a trace: what it shows, that it escapes a plugin's text and stays small."""

from __future__ import annotations

import html.parser
import itertools
import json
from collections.abc import Sequence
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sliphook.trace.record import TraceRecord
from sliphook.trace.views.perfetto import to_perfetto
from sliphook.trace.views.span_builder import spans_of
from sliphook.trace.views.timeline import draw_page, draw_svg
from sliphook.trace.views.timeline.picture import picture_of
from sliphook.trace.views.timeline.scale import BusyStretch, scale_of, ticks
from tests.trace.made import answered, asked, life, record, settled, told

SVG = "{http://www.w3.org/2000/svg}"
NASTY = '</title></script><script>alert(1)</script>]]>&"\x00\x1b[2J\u202e\u2028'

SHAPES = {"svg", "style", "g", "rect", "line", "path", "circle", "text", "title"}
PLACE = {"session_id": "s", "turn_id": "t-1"}
TRACE = [
    record("header", 0, plugin="", body={"format": 1, "sliphook": "0.1.0", "part": 1}),
    life("starting", 0.0),
    record("spawn", 0.01),
    asked(1, 0.02, method="initialize"),
    answered(1, 0.3, 280.0, {"name": "guard"}, method="initialize"),
    life("ready", 0.3),
    told("session_start", 0.4, session_id="s", platform="cli"),
    record(
        "unheard",
        0.5,
        plugin="",
        method="event/turn_start",
        body={"method": "event/turn_start", "params": {}},
        **PLACE,
    ),
    told("pre_llm_call", 0.5, call_index=1, model="gpt", **PLACE),
    told("post_llm_call", 0.9, call_index=1, finish_reason="stop", **PLACE),
    asked(2, 1.0, call_id="c", tool_name="shell", **PLACE),
    answered(2, 1.1, 100.0, {"decision": "deny"}, verdict="deny", **PLACE),
    asked(3, 1.2, method="tool/call", name="deploy", **PLACE),
    told(
        "agent_loop_stopped", 2.0, reason="user_stop", invalidation_reason="stop_command", **PLACE
    ),
    settled(3, 2.0, "cancelled", method="tool/call", **PLACE),
    record(
        "unheard",
        2.0,
        plugin="",
        method="event/turn_end",
        body={"method": "event/turn_end", "params": {"outcome": "interrupted"}},
        **PLACE,
    ),
    record("late", 5.0, direction="from_plugin", body={"id": 3}, id=3, **PLACE),
    record("exit", 9.0, note="was killed by SIGSEGV"),
    life("restarting", 9.0, note="was killed by SIGSEGV"),
    life("starting", 9.1),
    record("spawn", 9.1),
]


def test_spans_marks_and_processes() -> None:
    trace = spans_of(TRACE)
    assert [(span.what, span.state, span.verdict) for span in trace.turns] == [
        ("turn 1", "cancelled", "interrupted")
    ]
    assert [(span.what, span.state) for span in trace.sessions] == [("session cli", "open")]
    assert [
        (span.what, span.verdict, round(span.end_s - span.begin_s, 3)) for span in trace.models
    ] == [("gpt", "stop", 0.4)]
    assert [(one.reason, round(one.at_s, 3)) for one in trace.interrupts] == [
        ("stop_command", 102.0)
    ]
    (lane,) = trace.lanes
    assert [(span.what, span.state, round(span.took_ms)) for span in lane.spans] == [
        ("initialize", "good", 280),
        ("hook/pre_tool_call", "deny", 100),
        ("tool/call deploy", "cancelled", 800),
        ("tool/call deploy", "told", 3000),
    ]
    first, second = lane.processes
    assert first.ready_s == 100.3
    assert first.end_s == 109.0
    assert first.died is True
    assert first.why == "was killed by SIGSEGV"
    assert first.again is False
    assert second.begin_s == 109.1
    assert second.ready_s is None
    assert second.died is False
    assert second.again is True
    assert [mark.kind for mark in lane.marks] == ["event", "event", "event", "event", "wrong"]


def test_who_has_sent_or_answered_a_call_is_shown() -> None:
    trace = [
        told("pre_llm_call", 0.1, call_index=1, model="gpt", **PLACE),
        told("post_llm_call", 0.2, call_index=1, finish_reason="stop", routed_by="switch", **PLACE),
        told("pre_llm_call", 0.3, call_index=2, model="gpt", **PLACE),
        told("post_llm_call", 0.4, call_index=2, substituted_by="cache", **PLACE),
        asked(2, 0.5, call_id="c", tool_name="shell", **PLACE),
        asked(3, 0.6, "post_tool_call", call_id="c", status="ok", substituted_by="cache", **PLACE),
    ]
    spans = spans_of(trace)
    assert [one.verdict for one in spans.models] == ["stop, routed by switch", "answered by cache"]
    assert [one.verdict for one in spans.tools] == ["ok, answered by cache"]
    assert "gpt · stop, routed by switch" in draw_svg(trace, "t")
    assert "stop, routed by switch" in json.dumps(to_perfetto(trace))


@pytest.mark.parametrize(
    ("late", "ended_s", "verdict"),
    [
        ([], 109.0, "told; still running"),
        (
            [record("late", 5.0, id=3, note="ended 3.0 s after …")],
            105.0,
            "told to stop; ended 3.0 s after …",
        ),
        (
            [record("late", 5.0, id=3, verdict="killed", note="killed 3.0 s after …")],
            105.0,
            "told to stop; killed 3.0 s after …",
        ),
        (
            [record("late", 5.0, id=3, verdict="cancelled", note="stopped 3.0 s after …")],
            105.0,
            "told to stop; stopped 3.0 s after …",
        ),
        ([record("late", 2.4, id=3, verdict="cancelled", note="stopped 400 ms after …")], None, ""),
    ],
)
def test_work_that_goes_on_is_drawn_until_it_ends(
    late: list[TraceRecord], ended_s: float | None, verdict: str
) -> None:
    """What stops soon, as nearly all work does, is no bar of its own."""
    call = asked(3, 1.2, method="tool/call", name="deploy", **PLACE)
    cancelled = settled(3, 2.0, "cancelled", method="tool/call", **PLACE)
    never_sent = settled(4, 2.0, "cancelled", method="tool/call", **PLACE)
    records = [call, cancelled, never_sent, *late, record("exit", 9.0)]
    bars = [span for span in spans_of(records).lanes[0].spans if span.state == "told"]
    assert [(round(span.begin_s, 3), round(span.end_s, 3), span.verdict) for span in bars] == (
        [] if ended_s is None else [(102.0, ended_s, verdict)]
    )
    # the key of the colours has one more
    assert draw_svg(records, "t").count("told") > (0 if ended_s is None else 1)


def test_the_same_in_svg() -> None:
    root = ElementTree.fromstring(draw_svg(TRACE, "demo.jsonl"))
    texts = {element.text for element in root.iter(f"{SVG}text")}
    assert {
        "demo.jsonl",
        "agent",
        "guard",
        "deploy · cancelled",
        "interrupt: stop_command",
    } <= texts
    assert "was killed by SIGSEGV; started again" in texts
    titles = [element.text or "" for element in root.iter(f"{SVG}title")]
    assert any(
        title.startswith("hook/pre_tool_call · deny\n100 ms, begun at 1.000 s\n→ ")
        and '{"decision":"deny"}' in title
        for title in titles
    )


@pytest.mark.parametrize("name", [NASTY, "<script>", "]]>"])
def test_nothing_of_a_plugins_is_markup(name: str) -> None:
    records = [
        life("starting", 0, plugin=name, note=name),
        asked(1, 0.1, plugin=name, method=f"hook/{name}", text=name),
        settled(1, 0.3, name, plugin=name, method=f"hook/{name}"),
        record("stderr", 0.5, plugin=name, body=name.encode()),
        record("refused", 0.6, plugin=name, body=b"\xff\x00" + name.encode()),
        told("agent_loop_stopped", 0.7, plugin=name, invalidation_reason=name),
        life("restarting", 0.9, plugin=name, note=name),
    ]
    root = ElementTree.fromstring(draw_svg(records, name))
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= SHAPES
    page = draw_page(records, name)
    assert "\x00" not in page
    assert "\x1b" not in page
    reader = Scripts()
    reader.feed(page)
    data, code = reader.scripts
    assert json.loads(data)["tracks"]
    assert code.strip().startswith('"use strict"')


class Scripts(html.parser.HTMLParser):
    """The text of each script element, as a browser cuts them."""

    def __init__(self) -> None:
        super().__init__()
        self.scripts: list[str] = []
        self._inside = False

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        if tag == "script":
            self._inside = True
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        if tag == "script":
            self._inside = False

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.scripts[-1] += data


def test_a_page_reaches_nothing_outside() -> None:
    page = draw_page(TRACE, "t")
    assert "default-src 'none'" in page
    assert page.replace("http://www.w3.org/2000/svg", "").count("://") == 0
    assert "<noscript><svg " in page


def test_a_crowd_is_drawn_as_a_few() -> None:
    hooks = [
        one
        for n in range(5_000)
        for one in (asked(n, n / 100), answered(n, n / 100 + 0.001, 1.0 + n % 7))
    ]
    picture = picture_of(spans_of(hooks), "many")
    (track,) = picture.tracks
    assert [len(row.items) for row in track.rows] == [5_000]
    svg = draw_svg(hooks, "many")
    assert len(svg) < 200_000
    titles = [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}title")]
    crowd = next(title for title in titles if "side by side" in title)
    assert crowd.endswith("\nthe longest took 7.00 ms")
    assert " × hook/pre_tool_call\n" in crowd


def test_requests_at_the_same_time_have_a_row_each_and_not_without_end() -> None:
    hooks = [asked(n, n / 1000) for n in range(100)] + [
        answered(n, 1.0 + n / 1000, 1000.0) for n in range(100)
    ]
    (track,) = picture_of(spans_of(hooks), "t").tracks
    assert [len(row.items) for row in track.rows] == [1, 1, 1, 1, 1, 1, 1, 93]


def test_turns_at_the_same_time_are_shaded_once() -> None:
    """Their interrupts are told apart, or drawn once if that is not possible."""
    place = [{"session_id": f"s-{n}", "turn_id": f"t-{n}"} for n in range(300)]
    turns = [told("turn_start", n / 1000, **one) for n, one in enumerate(place)]
    stops = [
        told("agent_loop_stopped", 10 + n / 1000, reason="user_stop", **one)
        for n, one in enumerate(place)
    ]
    later = [
        told(name, at, session_id="s", turn_id="last")
        for name, at in (("turn_start", 10.5), ("turn_end", 11.0))
    ]
    records = [*turns, *stops, *later]
    assert picture_of(spans_of(records), "t").turns == [(0.0, 10_299.0), (10_500.0, 11_000.0)]
    classes = [
        element.get("class") for element in ElementTree.fromstring(draw_svg(records, "t")).iter()
    ]
    assert (classes.count("shade"), classes.count("flag-text")) == (2, 3)
    assert 1 < classes.count("flag") < 15


def test_an_empty_story_is_a_picture_too() -> None:
    ElementTree.fromstring(draw_svg([record("header", 0, plugin="")], "empty"))


def test_labels_of_interrupts_close_to_each_other_do_not_meet() -> None:
    stops = [
        told("agent_loop_stopped", at, session_id="s", turn_id=f"t-{at}", reason="user_stop")
        for at in (5.0, 5.3, 5.6, 5.9, 15.0)
    ]
    root = ElementTree.fromstring(
        draw_svg([asked(1, 0.0), *stops, answered(1, 20.0, 20_000.0)], "t.jsonl")
    )
    boxes = [rect for rect in root.iter(f"{SVG}rect") if rect.get("class") == "flag-box"]
    assert [box.get("y") for box in boxes] == ["52.0", "71.0", "90.0", "52.0"]
    assert [text.text for text in root.iter(f"{SVG}text") if text.get("class") == "flag-text"] == [
        "interrupt: user_stop"
    ] * 4
    assert [title.text for title in root.iter(f"{SVG}title")].count("interrupt: user_stop") == 5
    assert (
        min(
            float(text.get("y", 0))
            for text in root.iter(f"{SVG}text")
            if text.get("class") == "tick"
        )
        > 90 + 17
    )


def test_long_pauses_are_cut_short() -> None:
    scale = scale_of([(0, 100), (200, 1_000), (61_000, 62_000)], 62_000)
    assert scale.stretches == [BusyStretch(0, 1_000, 0), BusyStretch(61_000, 62_000, 1_050)]
    assert scale.length_ms == 2_050
    assert [scale.shown(at) for at in (0, 500, 1_000, 31_000, 61_000, 62_000, 70_000)] == [
        0,
        500,
        1_000,
        1_025,
        1_050,
        2_050,
        2_050,
    ]
    assert scale.pauses == [(1_000, 1_050, 60_000)]


@given(
    st.lists(st.tuples(st.floats(0, 1e9), st.floats(0, 1e6)), max_size=20),
    st.floats(0, 2e9),
    st.integers(1, 40),
)
def test_time_never_runs_backwards(
    busy: list[tuple[float, float]], length: float, at_most: int
) -> None:
    scale = scale_of([(begin, begin + lasts) for begin, lasts in busy], length)
    assert scale.length_ms > 0
    moments = sorted(
        [0.0, length, *(begin for begin, _ in busy), *(begin + lasts for begin, lasts in busy)]
    )
    shown = [scale.shown(at) for at in moments]
    assert all(
        before <= after or before - after < 1e-6 * scale.length_ms
        for before, after in itertools.pairwise(shown)
    )
    assert len(ticks(scale, at_most)) <= 3 * at_most + 2 * len(scale.stretches)


@pytest.mark.parametrize(
    ("length", "labels"),
    [
        (0.4, ["0.000 ms", "0.100 ms", "0.200 ms", "0.300 ms", "0.400 ms"]),
        (8.0, ["0 ms", "2 ms", "4 ms", "6 ms", "8 ms"]),
        (900.0, ["0.0 s", "0.2 s", "0.4 s", "0.6 s", "0.8 s"]),
        (9_000.0, ["0 s", "2 s", "4 s", "6 s", "8 s"]),
        (7_200_000.0, ["0 min", "30 min", "1:00 h", "1:30 h", "2:00 h"]),
    ],
)
def test_ticks_are_round(length: float, labels: list[str]) -> None:
    assert [tick.label for tick in ticks(scale_of([(0, length)], length), 5)] == labels


def test_perfetto() -> None:
    trace = json.loads(to_perfetto(TRACE))
    assert trace["displayTimeUnit"] == "ms"
    events = trace["traceEvents"]
    for event in events:
        assert {"ph", "pid", "tid", "name", "args"} <= set(event)
        assert event["ph"] in "MXi"
        if event["ph"] == "X":
            assert event["dur"] >= 0
    names = {
        event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"
    }
    assert names == {1: "agent", 2: "guard"}
    (hook,) = [event for event in events if event["name"] == "hook/pre_tool_call"]
    assert hook["ph"] == "X"
    assert hook["pid"] == 2
    assert hook["ts"] == 1_000_000.0
    assert hook["dur"] == 100_000.0
    assert hook["args"]["received"] == '{"jsonrpc":"2.0","id":2,"result":{"decision":"deny"}}'
    assert [event["ts"] for event in events if event["name"] == "interrupt: stop_command"] == [
        2_000_000.0
    ]
    by_thread: dict[tuple[int, int], float] = {}
    for event in sorted(
        (event for event in events if event["ph"] == "X"), key=lambda event: event["ts"]
    ):
        thread = event["pid"], event["tid"]
        assert event["ts"] >= by_thread.get(thread, 0.0), "slices of one thread overlap"
        by_thread[thread] = event["ts"] + event["dur"]


records = st.builds(
    TraceRecord,
    kind=st.sampled_from(
        [
            "message",
            "lifecycle",
            "spawn",
            "exit",
            "stderr",
            "late",
            "settled",
            "drop",
            "outcome",
            "unheard",
            "lost",
        ]
    ),
    wall_s=st.just(1.0),
    mono_s=st.floats(-1e11, 1e11),
    plugin=st.sampled_from(["", "a", "b"]),
    direction=st.sampled_from([None, "to_plugin", "from_plugin"]),
    method=st.sampled_from(
        [
            None,
            "initialize",
            "hook/pre_tool_call",
            "event/turn_end",
            "tool/call",
            "host/inject",
            "$/cancelRequest",
        ]
    ),
    id=st.sampled_from([None, 1, 2, "x"]),
    elapsed_ms=st.sampled_from([None, 0.0, 12.5]),
    verdict=st.sampled_from(
        [None, "ready", "starting", "restarting", "deny", "error -32601", "timed_out"]
    ),
    body=st.sampled_from(
        [
            None,
            b"",
            b"null",
            b"[1]",
            b'{"params":[]}',
            b'{"params":{"call_index":"x"}}',
            b'{"method":"x","params":{"call_id":"c"}}',
        ]
    ),
    session_id=st.sampled_from([None, "s"]),
    turn_id=st.sampled_from([None, "t"]),
)


def test_a_step_too_small_to_get_anywhere_ends() -> None:
    scale = scale_of([(2e14, 2e14)], 2e14)
    assert [tick.label for tick in ticks(scale, 4)] == [
        "0.000 ms",
        *4 * 2 * ["200000000000000.000 ms"],
    ]


@given(st.lists(records, max_size=8))
@settings(max_examples=20)
def test_whatever_a_file_holds_no_view_raises(trace: list[TraceRecord]) -> None:
    ElementTree.fromstring(draw_svg(trace, "t"))
    draw_page(trace, "t")
    json.loads(to_perfetto(trace))
