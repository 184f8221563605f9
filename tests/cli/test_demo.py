"""`sliphook demo`: the first thing that a newcomer sees, so it must hold every time."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import trio

from sliphook.cli.demo.narrator import Narrator
from sliphook.cli.demo.stage import Stage
from sliphook.cli.demo.story import play
from sliphook.cli.demo.timeline import DemoTimeline, Expectation, Moment, failures, summary
from sliphook.cli.running import Interruptible

from .conftest import Sliphook

PATIENT = """
import sys
from sliphook.cli.demo import story

story.FREE_MS = 20_000.0
from sliphook.cli.main import main

sys.exit(main(sys.argv[1:]))
"""
"""The command line, on a busy machine; the tool hangs for longer than that."""


def test_everything_happens(sliphook: Sliphook, tmp_path: Path) -> None:
    ran = sliphook("demo", "--trace-file", "trace.jsonl", program=("-c", PATIENT))
    assert ran.err == ""
    assert ran.status == 0
    held = [line.strip() for line in ran.out.partition("What had to happen\n")[2].splitlines()]
    assert len(held) == 7
    assert all(line.startswith("yes  ") for line in held)
    assert re.search(
        r"sleeper hung, and [0-9.]+ m?s after the interrupt the agent was free", ran.out
    )
    header, *records = (
        json.loads(line) for line in (tmp_path / "trace.jsonl").read_text().splitlines()
    )
    assert header["kind"] == "header"
    assert {record["plugin"] for record in records} == {
        "guard",
        "weather",
        "sleeper",
        "fragile",
        "",
    }
    assert {record["kind"] for record in records if not record["plugin"]} == {"outcome", "unheard"}
    methods = [(record["plugin"], record.get("method")) for record in records]
    before_the_end = methods[: methods.index(("guard", "shutdown"))]
    assert [plugin for plugin, method in before_the_end if method == "$/cancelRequest"] == [
        "sleeper"
    ]


@pytest.mark.parametrize("patience_s", [15.0, 0.0])
async def test_without_its_plugins_no_check_holds(
    tmp_path: Path,
    mock_clock: trio.testing.MockClock,
    monkeypatch: pytest.MonkeyPatch,
    patience_s: float,
) -> None:
    """Nor if what is waited for does not come in time: nothing else is interrupted."""
    monkeypatch.setattr("sliphook.cli.demo.wire.WAIT_S", patience_s)
    monkeypatch.setattr("sliphook.cli.demo.story.HANG_S", patience_s)
    monkeypatch.setattr("sliphook.cli.demo.story.LIMIT_S", 3_000.0)  # 100 s of a busy machine
    mock_clock.rate = (
        30.0  # the pauses are for a reader; what is started in threads takes its own time
    )
    stage = Stage(
        plugins=[tmp_path / name for name in ("guard", "weather", "sleeper", "fragile")],
        data_home=tmp_path / "data",
        log_dir=tmp_path / "logs",
    )
    with trio.fail_after(3_600):
        story = await play(stage, None, Narrator(), Interruptible())
    none = "there is no tool '{}'; there are: delegate, shell"
    tools = ["done", none.format("weather"), none.format("deploy")]
    assert failures(story) == [
        "all four plugins started",
        "guard denied the command, and it never ran",
        "weather answered, and the model read it",
        f"sleeper hung until the interrupt (it is completed; the tools said {tools})",
        "fragile crashed in its hook, and the turn went on",
        "fragile was started again",
        "no plugin is left behind",
    ]


@pytest.mark.parametrize(
    ("checks", "missing"),
    [
        ([("a", True)] * 7, []),
        ([("a", True)] * 6 + [("b", False)], ["b"]),
        ([("a", True)] * 2, ["it came to its end"]),
        ([], ["it came to its end"]),
    ],
)
def test_a_story_in_which_something_did_not_happen_fails(
    checks: list[tuple[str, bool]], missing: list[str]
) -> None:
    story = DemoTimeline(began_s=0.0, checks=[Expectation(what, held) for what, held in checks])
    assert failures(story) == missing


def test_the_summary_is_in_the_order_of_time() -> None:
    story = DemoTimeline(
        began_s=0.0,
        moments=[Moment(2.0, "second"), Moment(1.0, "first")],
        checks=[Expectation("this", True), Expectation("that", False)],
    )
    assert summary(story).splitlines() == [
        "",
        "What happened",
        "   1.00 s  first",
        "   2.00 s  second",
        "",
        "What had to happen",
        "  yes  this",
        "  NO   that",
    ]
