"""From a file's bytes to records: in pieces, torn, foreign, and while it is being written."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sliphook.check.replay.script import plugins_of, script_of
from sliphook.trace import reading
from sliphook.trace.filter import parse_filter
from sliphook.trace.follow import follow
from sliphook.trace.line_format import encode_line
from sliphook.trace.one_turn import only_turn, turn_named
from sliphook.trace.reading import NotATrace, TraceReader, records_of
from sliphook.trace.record import TraceRecord
from sliphook.trace.render import Style, render_body, render_line
from sliphook.trace.views.perfetto import to_perfetto
from sliphook.trace.views.summary import Summary
from sliphook.trace.views.timeline import draw_svg

from .made import asked, life, record

LINES = [encode_line(record(plugin=name)) for name in ("one", "two", "three")]
Troubles = list[tuple[int, str]]


def read(*pieces: bytes) -> tuple[list[str], Troubles]:
    troubles: Troubles = []
    return [
        record.plugin
        for record in records_of(pieces, lambda line, why: troubles.append((line, why)))
    ], troubles


@given(cuts=st.lists(st.integers(0, 400), max_size=8))
def test_pieces_of_any_size(cuts: list[int]) -> None:
    whole = b"".join(LINES)
    bounds = [0, *sorted(min(cut, len(whole)) for cut in cuts), len(whole)]
    assert read(*(whole[a:b] for a, b in itertools.pairwise(bounds))) == (
        ["one", "two", "three"],
        [],
    )


def test_a_last_line_counts_without_its_line_break() -> None:
    assert read(LINES[0], LINES[1][:-1]) == (["one", "two"], [])


def test_what_is_no_record_is_told_with_its_number_and_passed_over() -> None:
    plugins, troubles = read(b'{"a":1}\n', LINES[0], b"\n\xff\xfe\n", LINES[1], LINES[2][:40])
    assert plugins == ["one", "two"]
    assert [line for line, _ in troubles] == [1, 4, 6]
    assert troubles[1][1].startswith("it is no ")


def test_a_kind_that_came_later_is_passed_over_without_a_word() -> None:
    later = b'{"kind":"weather","wall_s":1.0,"mono_s":1.0,"plugin":"one","sunny":true}\n'
    assert read(LINES[0], later, LINES[1]) == (["one", "two"], [])


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "is empty"),
        (b"\n \n", "is empty"),
        (b"# Title\n", "is no trace: line 1: it is no JSON, or not all of it"),
        (b"\n{}\n", "is no trace: line 2: it is no record: "),
        (bytes(range(256)) * 40, "is no trace: line 1: it is no "),
        (LINES[0][:30], "is no trace: line 1: it is no "),
    ],
)
def test_a_file_that_is_no_trace(data: bytes, why: str) -> None:
    with pytest.raises(NotATrace) as caught:
        read(data)
    assert str(caught.value).startswith(why)


@pytest.mark.parametrize(
    "times", [{"wall_s": 1e300}, {"mono_s": -1e300}, {"elapsed_ms": 1e300}, {"wall_s": -1}]
)
def test_times_that_are_none_are_told(times: dict[str, float]) -> None:
    fields = {"kind": "message", "wall_s": 1.0, "mono_s": 1.0, "plugin": "guard", **times}
    assert read(LINES[0], msgspec.json.encode(fields)) == (
        ["one"],
        [(2, "it is no record: its times are none")],
    )


def test_a_format_that_is_not_known_is_not_guessed_at() -> None:
    header = encode_line(
        record("header", plugin="", body={"format": 2, "sliphook": "9.0.0", "part": 1})
    )
    with pytest.raises(NotATrace) as caught:
        read(header, LINES[0])
    assert (
        str(caught.value)
        == "has the format 2, written by sliphook 9.0.0; this sliphook reads the format 1"
    )


def test_what_is_no_trace_is_not_read_to_its_end() -> None:
    def endless() -> Iterator[bytes]:
        while True:
            yield b"0\n"

    with pytest.raises(NotATrace):
        list(records_of(endless(), lambda line, why: None))


def test_a_line_without_an_end_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MAX_LINE_BYTES", 1_000)
    troubles: Troubles = []
    reader = TraceReader(lambda line, why: troubles.append((line, why)))
    pieces = [LINES[0], b"x" * 900, b"x" * 900, b"x" * 900, b"\n" + LINES[1]]
    assert [record.plugin for piece in pieces for record in reader.feed(piece)] == ["one", "two"]
    assert troubles == [(2, "it is over 1,000 bytes long")]


def withdrawn(id: int, at: float, plugin: str = "guard") -> TraceRecord:
    body = {"method": "$/cancelRequest", "params": {"id": id}}
    return record(at=at, plugin=plugin, direction="to_plugin", method="$/cancelRequest", body=body)


def test_one_turn_what_happened_meanwhile_and_its_cancels() -> None:
    trace = [
        life("ready", 0.0),
        asked(1, 1.0, turn_id="t-aa", session_id="s"),
        life("restarting", 1.5, plugin="weather"),
        asked(2, 1.6, turn_id="t-other", session_id="s2"),
        asked(3, 2.0, turn_id="t-aa", session_id="s"),
        asked(4, 3.0, turn_id="t-ab", session_id="s"),
        withdrawn(3, 3.1),
        withdrawn(4, 3.2),
        withdrawn(3, 3.3, plugin="weather"),
        record("late", 9.0, id=3, turn_id="t-aa", session_id="s"),
        record("late", 9.1, id=4, turn_id="t-ab", session_id="s"),
        record("spawn", 9.2),
        withdrawn(3, 9.3),
    ]
    for wanted in ("1", "t-aa"):
        turn = turn_named(wanted, trace)
        assert turn.turn_id == "t-aa"
        assert turn.first == 1
        assert turn.last == 4
        assert list(only_turn(trace, turn)) == [trace[1], trace[2], trace[4], trace[6], trace[9]]
    assert turn_named("3", trace).turn_id == "t-ab"


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        ("4", "there is no turn '4'; the last one is 3"),
        ("0", "there is no turn '0'; the last one is 3"),
        ("t-a", "2 turns have an id that begins with 't-a'"),
        ("²", "there is no turn '²'; the last one is 3"),
    ],
)
def test_a_turn_that_is_not_there(wanted: str, why: str) -> None:
    trace = [
        asked(number, float(number), turn_id=turn)
        for number, turn in enumerate(["t-aa", "t-ab", "t-other"])
    ]
    with pytest.raises(LookupError) as caught:
        turn_named(wanted, trace)
    assert caught.value.args == (why,)


class Writer:
    """Does the next thing to the file whenever the follower has read all that is there."""

    def __init__(self, *steps: Callable[[], object]) -> None:
        self._steps = iter(steps)

    def __call__(self) -> None:
        step = next(self._steps, None)
        if step is None:
            raise KeyboardInterrupt
        step()


def followed(path: Path, *steps: Callable[[], object]) -> tuple[list[str], list[int], int]:
    """What is read, which lines are in trouble, and how often the file was missed, until Ctrl+C."""
    plugins: list[str] = []
    troubles: list[int] = []
    missed: list[None] = []
    records = follow(
        path, lambda line, why: troubles.append(line), lambda: missed.append(None), Writer(*steps)
    )
    with pytest.raises(KeyboardInterrupt):
        plugins.extend(one.plugin for one in records)
    return plugins, troubles, len(missed)


def add(path: Path, data: bytes) -> Callable[[], object]:
    def write() -> None:
        with path.open("ab") as file:
            file.write(data)

    return write


def test_follow_waits_for_the_file_and_for_the_rest_of_a_line(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    steps = [
        lambda: None,
        add(path, LINES[0] + LINES[1][:50]),
        lambda: None,
        add(path, LINES[1][50:]),
        add(path, b"?\n" + LINES[2]),
    ]
    assert followed(path, *steps) == (["one", "two", "three"], [3], 1)


def test_follow_survives_rotation(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(LINES[0])

    def rotate() -> None:
        add(path, LINES[1])()  # written after the last look, before the new file
        path.rename(tmp_path / "t.jsonl.1")

    assert followed(path, rotate, add(path, LINES[2]), lambda: None) == (
        ["one", "two", "three"],
        [],
        0,
    )


def test_follow_survives_truncation(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(LINES[0] + LINES[1][:40])
    assert followed(path, lambda: os.truncate(path, 0), add(path, LINES[2])) == (
        ["one", "three"],
        [2],
        0,
    )


def test_follow_cannot_read_a_folder(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        next(follow(tmp_path, lambda line, why: None, lambda: None, lambda: None))


def _all_views(records: list[TraceRecord]) -> None:
    wanted, summary, style = (
        parse_filter("plugin=guard"),
        Summary(),
        Style(colour=False, unicode=True),
    )
    for one in records:
        wanted.fits(one)
        summary.add(one)
        render_line(one, style)
        list(render_body(one, style))
    summary.result()
    to_perfetto(records)
    draw_svg(records, "trace.jsonl")
    for mine in plugins_of(records).values():
        script_of(mine)


@pytest.mark.parametrize(
    "body",
    [
        b'{"format":1,"sliphook":"\xff","part":1,"count":1,"why":"\xff","parts":[{"plugin":"\xff","status":"told"}]}',
        b'{"jsonrpc":"2.0","id":1,"method":"\xff","params":{"name":"\xff","timeout_s":1},"result":{"decision":"\xff","name":"\xff"}}',
        b'{"x":' + b"[" * 3_000 + b"]" * 3_000 + b"}",
        b"",
    ],
    ids=["its own, no UTF-8", "a message, no UTF-8", "deep", "empty"],
)
@pytest.mark.parametrize(
    "kind", ["header", "lost", "outcome", "unheard", "message", "late", "drop", "settled"]
)
@pytest.mark.parametrize("direction", ["to_plugin", "from_plugin"])
def test_no_view_fails_because_of_what_stands_in_a_body(
    kind: str, direction: str, body: bytes
) -> None:
    for method in ("hook/stop", "initialize", "host/tools"):
        strange = record(kind, method=method, id=1, direction=direction, body=body)
        records = list(
            records_of([LINES[0], encode_line(strange), LINES[1]], lambda line, why: None)
        )
        assert [one.kind for one in records] == ["message", kind, "message"]
        _all_views(records)
