"""`--trace`: one line a message that a plugin's text cannot break."""

from __future__ import annotations

import errno
import io
import json
import os
import pty
import sys
import threading
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sliphook.cli.tracing import Tracing
from sliphook.trace.filter import parse_filter
from sliphook.trace.live_sink import LiveTrace
from sliphook.trace.record import TraceRecord
from sliphook.trace.render import Style, duration, render_body, render_line, size

WAIT_S = 120.0
PLAIN = Style()


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


def record(**fields: object) -> TraceRecord:
    return msgspec.convert(
        {"kind": "message", "wall_s": 3661.25, "mono_s": 0.0, "plugin": "guard", **fields},
        TraceRecord,
    )


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        (
            {"direction": "to_plugin", "method": "hook/pre_tool_call", "id": 3, "size": 412},
            "01:01:01.250 → guard        hook/pre_tool_call            #3    412 B",
        ),
        (
            {
                "direction": "from_plugin",
                "method": "hook/pre_tool_call",
                "id": 3,
                "size": 58,
                "elapsed_ms": 0.8123,
                "verdict": "deny",
            },
            "01:01:01.250 ← guard        hook/pre_tool_call            #3     58 B  0.81 ms deny",
        ),
        (
            {"kind": "lifecycle", "verdict": "ready"},
            "01:01:01.250 · guard        lifecycle                                          ready",
        ),
        (
            {
                "kind": "late",
                "direction": "from_plugin",
                "method": "tool/call",
                "id": 9,
                "size": 20,
            },
            "01:01:01.250 ← guard        tool/call                     #9     20 B          late",
        ),
        (
            {
                "kind": "late",
                "direction": "from_plugin",
                "method": "tool/call",
                "id": 9,
                "size": 20,
                "verdict": "cancelled",
                "note": "as asked",
            },
            "01:01:01.250 ← guard        tool/call                     #9     20 B          "
            "cancelled as asked",
        ),
        (
            {
                "kind": "refused",
                "direction": "from_plugin",
                "size": 2,
                "body": b"\x1b[2J\n",
                "note": "no JSON",
            },
            "01:01:01.250 ← guard        refused                               2 B          "
            "no JSON \\x1b[2J\\n",
        ),
        (
            {"kind": "lost", "plugin": "", "body": b'{"count":12,"why":"No space left on device"}'},
            "01:01:01.250 ·              lost                                               "
            "12 records lost: No space left on device",
        ),
        (
            {"kind": "header", "plugin": "", "body": b'{"format":1,"sliphook":"0.1.0","part":2}'},
            "01:01:01.250 ·              header                                             "
            "sliphook 0.1.0, format 1, part 2",
        ),
        (
            {
                "kind": "outcome",
                "plugin": "",
                "method": "hook/stop",
                "elapsed_ms": 1.0,
                "body": b'{"parts":[{"plugin":"a","status":"answered"}]}',
            },
            "01:01:01.250 = (all)        hook/stop                                  1.00 ms "
            "none a: none",
        ),
    ],
)
def test_a_line(fields: dict[str, object], line: str) -> None:
    assert render_line(record(**fields), PLAIN) == line


@pytest.mark.parametrize(
    ("method", "params", "words"),
    [
        (
            "event/post_llm_call",
            {"routed_by": "switch", "substituted_by": None},
            "routed by switch",
        ),
        ("event/post_llm_call", {"substituted_by": "ca\x1b[2Jche"}, r"answered by ca\x1b[2Jche"),
        ("hook/post_tool_call", {"substituted_by": "cache", "status": "ok"}, "answered by cache"),
        ("event/post_llm_call", {"routed_by": None}, "event/post_llm_call"),
        ("event/post_llm_call", {"routed_by": 5}, "event/post_llm_call"),
    ],
)
def test_who_has_sent_or_answered_a_call_is_said(
    method: str, params: dict[str, object], words: str
) -> None:
    body = msgspec.json.encode({"jsonrpc": "2.0", "method": method, "params": params})
    line = render_line(record(direction="to_plugin", method=method, body=body), PLAIN)
    assert line.endswith(words)


def test_without_unicode_the_arrows_are_ascii() -> None:
    line = render_line(record(direction="to_plugin", method="ping"), Style(unicode=False))
    assert line == "01:01:01.250 > guard        ping"


def test_on_a_terminal_the_line_fits_and_a_narrow_one_keeps_the_verdict() -> None:
    answer = record(
        direction="from_plugin",
        method="hook/pre_tool_call",
        id=3,
        size=58,
        elapsed_ms=0.8123,
        verdict="deny",
        note="x" * 99,
    )
    wide = render_line(answer, Style(width=110))
    assert wide == (
        "01:01:01.250 ← guard        hook/pre_tool_call            #3     58 B  0.81 ms "
        "deny xxxxxxxxxxxxxxxxxxxxxxxx…"
    )
    assert (
        render_line(answer, Style(width=80))
        == "01:01:01.250 ← guard        hook/pre_tool_call          0.81 ms deny xxxxxxxxx…"
    )
    assert render_line(answer, Style(width=3)) == "01:01:01.250 ← guar…"


def test_a_body_is_pretty_and_cut() -> None:
    assert render_body(record(body=rb'{"a":{"b":[1,"\u001b[2J"]}}'), Style(width=40)) == [
        "               {",
        '                 "a": {',
        '                   "b": [',
        "                     1,",
        r'                     "\u001b[2J"',
        "                   ]",
        "                 }",
        "               }",
    ]
    assert render_body(record(body=b'"' + b"x" * 99 + b'"'), Style(width=40)) == [
        '               "xxxxxxxxxxxxxxxxxxxxxxx…'
    ]
    image = b'{"data":"' + b"QUJD" * 1_000 + b'","text":"' + b"QUJD" * 16 + b'"}'
    assert render_body(record(body=image), Style(width=40)) == [
        "               {",
        '                 "data": "… 2.9 KiB in …',
        '                 "text": "QUJDQUJDQUJDQ…',
        "               }",
    ]
    long = render_body(record(body=b"[" + b",".join([b"1"] * 100) + b"]"), Style())
    assert (len(long), long[-1]) == (40, "               … and 63 more lines")
    assert render_body(record(kind="refused", body=b"\x1b\xff{"), Style()) == [
        "               \\x1b\\xff{"
    ]
    assert render_body(record(kind="stderr", body=b"x"), Style()) == []


_JSON = st.recursive(
    st.sampled_from([None, -1.5, "", "a", '[{,"\\', "]\n"]),
    lambda inner: (
        st.lists(inner, max_size=30)
        | st.dictionaries(st.sampled_from(["k", "[", '},"', "\\"]), inner)
    ),
    max_leaves=150,
)


@given(_JSON)
def test_a_long_body_has_the_lines_that_it_has_as_a_whole(value: object) -> None:
    body = msgspec.json.encode(value)
    whole = [f"               {one}" for one in json.dumps(value, indent=2).split("\n")]
    if len(whole) > 40:
        whole[39:] = [f"               … and {len(whole) - 39} more lines"]
    assert render_body(record(body=body), Style()) == [line.rstrip() for line in whole]


def test_what_is_nested_deep_is_cut_before_it_is_laid_out() -> None:
    one = record(body=b"[" * 900 + b",".join([b"0"] * 20_000) + b"]" * 900)
    tracemalloc.start()
    try:
        lines = render_body(one, Style())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert lines[-1] == "               … and 21761 more lines"
    # laid out as a whole it takes 80 MB
    assert peak < 1_000_000


def test_colour_is_only_added() -> None:
    line = render_line(
        record(direction="from_plugin", method="ping", verdict="timed_out"), Style(colour=True)
    )
    assert "\x1b[31mtimed_out\x1b[0m" in line


hostile = st.text(st.characters(), max_size=30)


@given(
    plugin=hostile,
    method=hostile,
    request_id=hostile,
    verdict=hostile,
    note=hostile,
    body=st.binary(max_size=60),
)
def test_nothing_that_a_plugin_says_breaks_the_line(
    plugin: str, method: str, request_id: str, verdict: str, note: str, body: bytes
) -> None:
    shown = render_line(
        TraceRecord(
            kind="stray",
            wall_s=0.0,
            mono_s=0.0,
            plugin=plugin,
            method=method,
            id=request_id,
            verdict=verdict,
            note=note,
            body=body,
        ),
        PLAIN,
    )
    assert shown.isprintable()


@pytest.mark.parametrize(
    ("elapsed_ms", "text"),
    [
        (0.0, "0.00 ms"),
        (9.994, "9.99 ms"),
        (12.34, "12.3 ms"),
        (250.0, "250 ms"),
        (5000.0, "5.00 s"),
    ],
)
def test_durations(elapsed_ms: float, text: str) -> None:
    assert duration(elapsed_ms) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [(None, ""), (0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (8 * 1024 * 1024, "8.0 MiB")],
)
def test_sizes(count: int | None, text: str) -> None:
    assert size(count) == text


def opened(path: Path, encoding: str = "utf-8") -> TextIO:
    return path.open("w", encoding=encoding)


def test_records_are_shown_as_they_pass_and_no_secret_with_them(tmp_path: Path) -> None:
    with opened(tmp_path / "err") as stream:
        trace = LiveTrace(stream)
        trace.hide(["tok-123"])
        trace.record(record(direction="to_plugin", method="ping", note="tok-123"))
        assert trace.close(WAIT_S) is None
    assert (tmp_path / "err").read_text().splitlines() == [
        "01:01:01.250 → guard        ping                                               [redacted]"
    ]


def test_a_terminal_without_unicode_gets_ascii(tmp_path: Path) -> None:
    with opened(tmp_path / "err", "ascii") as stream:
        trace = LiveTrace(stream)
        trace.record(record(direction="to_plugin", method="ping", note="né"))
        assert trace.close(WAIT_S) is None
    assert (tmp_path / "err").read_bytes() == (
        b"01:01:01.250 > guard        ping                                               n\\xe9\n"
    )


def test_a_closed_pipe_loses_records_and_says_how_many() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with io.TextIOWrapper(io.FileIO(writer, "w"), encoding="utf-8") as stream:
        trace = LiveTrace(stream)
        trace.record(record())
        trace.record(record())
        assert trace.close(WAIT_S) == "2 records of the trace could not be shown"


def test_only_what_is_wanted_is_shown_with_its_body_at_any_writer(tmp_path: Path) -> None:
    shown: list[str] = []
    with opened(tmp_path / "err") as stream:
        trace = LiveTrace(
            stream, write=shown.append, bodies=True, wanted=parse_filter("plugin=guard")
        )
        trace.record(record(direction="to_plugin", method="ping", body=b'{"id":1}'))
        trace.record(record(plugin="weather", direction="to_plugin", method="ping"))
        assert trace.close(WAIT_S) is None
    assert "".join(shown) == (
        '01:01:01.250 → guard        ping\n               {\n                 "id": 1\n'
        "               }\n"
    )
    assert (tmp_path / "err").read_text() == ""


@pytest.mark.parametrize(("bodies", "shown"), [(False, 0), (True, 1)])
def test_an_unheard_event_is_no_message_and_only_shown_with_everything(
    bodies: bool, shown: int, tmp_path: Path
) -> None:
    with opened(tmp_path / "err") as stream:
        trace = LiveTrace(stream, bodies=bodies)
        trace.record(record(kind="unheard", plugin="", method="hook/stop"))
        assert trace.close(WAIT_S) is None
    assert (tmp_path / "err").read_text().count("(nobody)") == shown


def test_a_callback_that_raises_loses_the_records(tmp_path: Path) -> None:
    def write(text: str) -> None:
        raise RuntimeError("the screen is gone")

    with opened(tmp_path / "err") as stream:
        trace = LiveTrace(stream, write=write)
        trace.record(record())
        assert trace.close(WAIT_S) == "1 record of the trace could not be shown"


def test_a_terminal_without_a_reader_loses_records_and_blocks_nothing() -> None:
    master, slave = pty.openpty()
    try:
        with os.fdopen(slave, "w", encoding="utf-8", closefd=False) as stream:
            trace = LiveTrace(stream)
            for _ in range(5_000):
                trace.record(record(note="x" * 100))
            began_s = time.monotonic()
            said = trace.close(0.2)
            assert time.monotonic() - began_s < WAIT_S
        assert said is not None
        lost, words = said.split(maxsplit=1)
        assert (
            4_000 < int(lost.replace(",", "")) <= 5_000
        )  # what the terminal's own buffer took is not lost
        assert words == "records of the trace could not be shown"
    finally:
        os.close(master)  # the thread's writes fail, and it ends
        for thread in threading.enumerate():
            if thread.name == "sliphook-trace-live":
                thread.join(WAIT_S)  # what is opened next may get the descriptor that it writes to
        os.close(slave)


class _Full(io.StringIO):
    def write(self, text: str, /) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.skipif(
    not Path("/dev/full").exists(), reason="only Linux has a device that is always full"
)
def test_a_command_does_not_fail_where_even_the_count_of_what_was_lost_cannot_be_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with Tracing(file=Path("/dev/full")).open() as sink:
        assert sink is not None
        sink.record(TraceRecord(kind="spawn", wall_s=0.0, mono_s=0.0, plugin="guard"))
        monkeypatch.setattr(sys, "stderr", _Full())
    monkeypatch.undo()
