"""`sliphook trace`: every view of a file, and one line for everything that is wrong with it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from sliphook.cli.main import main
from sliphook.trace.line_format import encode_line
from tests.trace.made import answered, asked, life, record, write_trace

PLACE = {"session_id": "s", "turn_id": "t-1"}


class Ran(NamedTuple):
    status: int
    out: str
    err: str


Run = Callable[..., Ran]


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs `sliphook trace ARGS...` in this process."""
    monkeypatch.setenv("COLUMNS", "110")

    def ran(*args: str | Path) -> Ran:
        status = main(["trace", *map(str, args)])
        out, err = capfd.readouterr()
        return Ran(status, out, err)

    return ran


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    header = record("header", 0, plugin="", body={"format": 1, "sliphook": "0.1.0", "part": 1})
    hook = asked(2, 1.0, tool_name="shell", call_id="c", **PLACE)
    answer = answered(2, 1.1, 100.0, {"decision": "deny"}, verdict="deny", **PLACE)
    other = asked(3, 2.0, "stop", plugin="weather", session_id="s", turn_id="t-2")
    return write_trace(tmp_path / "t.jsonl", header, life("ready", 0.5), hook, answer, other)


def test_lines(run: Run, trace: Path) -> None:
    ran = run(trace)
    assert (ran.status, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert len(lines) == 5
    assert (
        lines[3].split(" ", 1)[1]
        == "← guard        hook/pre_tool_call            #2     53 B   100 ms deny shell"
    )
    assert '                 "decision": "deny"' in "\n".join(run(trace, "-v").out.splitlines())
    assert [json.loads(line)["kind"] for line in run(trace, "--json").out.splitlines()] == [
        "header",
        "lifecycle",
        "message",
        "message",
        "message",
    ]


def test_some_of_the_lines(run: Run, trace: Path) -> None:
    assert [line.split()[2] for line in run(trace, "--filter", "plugin=wea*").out.splitlines()] == [
        "header",
        "weather",
    ]
    assert len(run(trace, "--turn", "1").out.splitlines()) == 3
    assert len(run(trace, "--turn", "t-2").out.splitlines()) == 2


def test_summary(run: Run, trace: Path) -> None:
    ran = run(trace, "--summary")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.startswith("5 records · 2.0 s · 2 plugins · 1 session · 2 turns\n")
    (row,) = [line.split() for line in ran.out.splitlines() if "pre_tool_call" in line]
    assert row[:8] == ["hook/pre_tool_call", "1", "100", "ms", "100", "ms", "100", "ms"]
    assert row[8] == "━" * 18
    assert (
        json.loads(run(trace, "--summary", "--json").out)["plugins"][0]["rows"][0]["p99_ms"]
        == 100.0
    )


def test_files(run: Run, trace: Path, tmp_path: Path) -> None:
    for option, name, begin in (
        ("--timeline", "o.svg", "<svg "),
        ("--timeline", "o.html", "<!doctype html>"),
        ("--perfetto", "o.json", '{"'),
    ):
        out = tmp_path / name
        out.write_text("old")
        assert run(trace, option, out) == (0, "", f"wrote {out}\n")
        assert out.read_text(encoding="utf-8").startswith(begin)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "o.html",
        "o.json",
        "o.svg",
        "t.jsonl",
    ]


def test_lines_that_are_none_are_named_and_the_rest_is_shown(run: Run, trace: Path) -> None:
    with trace.open("ab") as file:
        file.write(b"\xff\x1b[2J\n" * 12 + encode_line(life("stopped", 9)) + b'{"kind":')
    ran = run(trace)
    assert ran.status == 0
    assert len(ran.out.splitlines()) == 6
    told = ran.err.splitlines()
    assert len(told) == 11
    assert told[0].startswith(
        f"sliphook: {trace}, line 6: it is no JSON, or not all of it; passed over"
    )
    assert told[10] == f"sliphook: {trace}: 3 more lines are no records"


@pytest.mark.parametrize(
    ("content", "args", "status", "says"),
    [
        (None, [], 1, "cannot read {file}: No such file or directory"),
        (b"", [], 1, "{file} is empty"),
        (b"\x7fELF\x00\x01", [], 1, "{file} is no trace: line 1: it is no JSON, or not all of it"),
        (
            b'{"level":"info"}\n',
            ["--summary"],
            1,
            "{file} is no trace: line 1: it is no record: Object missing required field",
        ),
        (b"# A page\n", ["--timeline", "o.svg"], 1, "{file} is no trace: line 1: "),
        (b"ok", ["--turn", "3"], 1, "{file}: there is no turn '3'; the last one is 2"),
        (b"ok", ["--turn", "3", "--follow"], 2, "--turn looks at a whole file: leave out --follow"),
        (
            b"ok",
            ["--summary", "--follow"],
            2,
            "--follow and --summary are two views: give one at a time",
        ),
        (
            b"ok",
            ["--filter", "plugni=x"],
            2,
            "Invalid value for '--filter': 'plugni' is nothing to filter by; did you mean plugin?",
        ),
        (b"ok", ["--timeline", "o.png"], 2, "--timeline: o.png must end in .svg or .html"),
        (b"ok", ["--perfetto", "o.svg"], 2, "--perfetto: o.svg must end in .json"),
        (
            b"ok",
            ["--timeline", "o.svg", "--json"],
            2,
            "--timeline writes a file, and there is no --json of it",
        ),
        (
            b"ok",
            ["--timeline", "/nowhere/o.svg"],
            1,
            "cannot write /nowhere/o.svg: No such file or directory",
        ),
        (
            b"ok",
            ["--timeline", "/dev/full/o.svg"],
            1,
            "cannot write /dev/full/o.svg: Not a directory",
        ),
    ],
)
def test_what_is_wrong_is_told_in_a_line(
    run: Run,
    trace: Path,
    monkeypatch: pytest.MonkeyPatch,
    content: bytes | None,
    args: list[str],
    status: int,
    says: str,
) -> None:
    monkeypatch.chdir(trace.parent)
    if content is None:
        trace.unlink()
    elif content != b"ok":
        trace.write_bytes(content)
    ran = run(trace, *args)
    assert (ran.status, ran.out) == (status, "")
    assert ran.err.startswith(f"sliphook: {says.format(file=trace)}")
    assert ran.err.count("\n") == 1
    assert not (trace.parent / "o.svg").exists()


def test_a_folder(run: Run, tmp_path: Path) -> None:
    ran = run(tmp_path)
    assert (ran.status, ran.err) == (1, f"sliphook: cannot read {tmp_path}: Is a directory\n")
    assert run(tmp_path, "--follow").err == ran.err


@pytest.mark.parametrize(
    ("args", "status", "says"),
    [
        ([], 2, "Missing option '--plugin'"),
        (
            ["--plugin", "/x"],
            2,
            "{file} has several plugins; say which with --as NAME: guard, weather",
        ),
        (
            ["--plugin", "/x", "--as", "gaurd"],
            2,
            "--as: {file} has no plugin 'gaurd'; did you mean 'guard'?",
        ),
        (
            ["--plugin", "/x", "--as", "zzz"],
            2,
            "--as: {file} has no plugin 'zzz'; there is guard, weather",
        ),
    ],
)
def test_what_is_wrong_with_a_replay(
    run: Run, trace: Path, args: list[str], status: int, says: str
) -> None:
    ran = run("replay", trace, *args)
    assert (ran.status, ran.out) == (status, "")
    assert ran.err.startswith(f"sliphook: {says.format(file=trace)}")
    assert ran.err.endswith(" (see: sliphook trace replay --help)\n")


def test_a_replay(run: Run, trace: Path, tmp_path: Path) -> None:
    plugin = tmp_path / "plugin.py"
    plugin.write_text(
        f"#!{sys.executable}\nfrom sliphook_sdk import Plugin\nplugin = Plugin('guard')\n"
        "@plugin.hook('pre_tool_call')\ndef no(call):\n    pass\nplugin.run()\n"
    )
    plugin.chmod(0o700)
    ran = run("replay", trace, "--as", "guard", "--plugin", plugin)
    assert ran.status == 3
    assert (
        '         status: "answered" → "error -32602: hook/pre_tool_call: Object missing '
        'required field `event_id`"\n'
    ) in ran.out
    assert ran.out.endswith("1 as before, 1 different\n")
    missing = run("replay", trace, "--as", "guard", "--plugin", tmp_path / "none", "--json")
    assert missing.status == 3
    assert json.loads(missing.out)["differences"][0]["field"] == "start"
    plugin.chmod(0o757)
    others_could = run("replay", trace, "--as", "guard", "--plugin", plugin)
    assert (others_could.status, others_could.out) == (1, "")
    assert "plugin.py is not started: everybody may change " in others_could.err


def test_follow_ends_on_ctrl_c(trace: Path) -> None:
    command = [sys.executable, "-m", "sliphook", "trace", str(trace), "--follow", "--json"]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "COLUMNS": "100"},
    ) as process:
        assert process.stdout is not None
        first = [process.stdout.readline() for _ in range(5)]
        assert json.loads(first[4])["plugin"] == "weather"
        with trace.open("ab") as file:
            file.write(encode_line(life("stopped", 9, plugin="late")))
        assert json.loads(process.stdout.readline())["plugin"] == "late"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=120)
        assert (process.returncode, err) == (0, b"")


def test_a_summary_shows_the_most_used_and_counts_the_rest(run: Run, tmp_path: Path) -> None:
    """1.7 ms for each name, before, and a trace may have any number of them."""
    many = [asked(at, at / 10, "stop", plugin=f"p{at}") for at in range(1, 1_203)]
    tools = [
        asked(2_000 + at, 200.0 + at, method="tool/call", plugin="p1201", name=f"t{at}")
        for at in range(60)
    ]
    trace = write_trace(tmp_path / "many.jsonl", *many, *tools)
    lines = run(trace, "--summary").out.splitlines()
    shown = [line for line in lines if line.startswith("p")]
    assert (len(shown), shown[0], shown[-1]) == (50, "p1", "p1201")
    assert [line for line in lines if "other" in line] == [
        "  and 11 other things used less; --json has all",
        "and 1,152 other plugins used less; --json has all",
    ]
    assert len(json.loads(run(trace, "--summary", "--json").out)["plugins"]) == 1_202


@pytest.mark.parametrize("view", [("--timeline", "o.svg"), ("--perfetto", "o.json")])
def test_a_picture_of_very_many_records_is_refused(
    view: tuple[str, str], run: Run, trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two gigabytes for a million of them, before."""
    option, out = view
    monkeypatch.setattr("sliphook.cli.trace.source._DRAWN", 4)
    ran = run(trace, option, tmp_path / out)
    assert ran.status == 1
    assert ran.err == (
        f"sliphook: {trace} has more than 4 records, too many for a picture:"
        " choose some with --turn or --filter\n"
    )
    assert not (tmp_path / out).exists()
    assert run(trace, option, tmp_path / out, "--turn", "1").status == 0
