"""docs/trace.md: its commands run, and its picture is one."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

import pytest

from sliphook.cli.main import main
from tests.trace.made import answered, asked, write_trace

DOCS: Final = Path(__file__).resolve().parents[2] / "docs"
PAGE: Final = (DOCS / "trace.md").read_text(encoding="utf-8")
VIEWS: Final = [
    line
    for line in re.findall(r"^\$ (sliphook trace .+)$", PAGE, re.MULTILINE)
    if " replay " not in line
]


@pytest.mark.parametrize("line", VIEWS)
def test_every_view_can_be_typed_as_it_stands(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_trace(tmp_path / "demo.jsonl", asked(1, 0.0), answered(1, 0.1, 100.0, {}))
    monkeypatch.chdir(tmp_path)
    assert main(shlex.split(line)[1:]) == 0


def test_there_are_views() -> None:
    assert len(VIEWS) == 4


@pytest.mark.parametrize(
    ("command", "options"),
    [
        (["trace"], ["-v", "--filter", "--turn", "--follow", "--json"]),
        (["trace", "replay"], ["--as", "--plugin"]),
    ],
)
def test_the_options_that_it_names_are_there(
    command: list[str], options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, "--help"]) == 0
    shown = capsys.readouterr().out
    assert [option for option in options if option not in shown] == []
    assert [option for option in options if option not in PAGE] == []


def test_the_picture_is_small_and_whole() -> None:
    picture = (DOCS / "timeline.svg").read_bytes()
    assert len(picture) < 100_000
    texts = {
        element.text
        for element in ElementTree.fromstring(picture).iter("{http://www.w3.org/2000/svg}text")
    }
    assert {"agent", "guard", "weather", "sleeper", "fragile", "interrupt: stop_command"} <= texts
