"""The search for Pythons says what there is, and what there is not."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.pythons.found import HOST, SDK, Interpreter, find, missing

ROOT = Path(__file__).resolve().parents[2]


def pretend(folder: Path, name: str, says: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{says}\n", encoding="utf-8")
    (folder / name).chmod(0o755)


def test_it_finds_what_starts_and_takes_the_latest_patch(tmp_path: Path) -> None:
    pretend(tmp_path / "a", "python3.9", "echo 3 9 2 0 /a/python3.9")
    pretend(tmp_path / "b", "python3.9", "echo 3 9 18 0 /b/python3.9")
    pretend(tmp_path / "b", "python3.13t", "echo 3 13 1 1 /b/python 3.13t")
    pretend(tmp_path / "b", "python3.12", "echo no such version is installed >&2; exit 127")
    pretend(tmp_path / "shims", "python3.10", "echo 3 10 1 0 /never")
    found = find([tmp_path / "a", tmp_path / "b", tmp_path / "shims", tmp_path / "none"])
    assert found == [
        Interpreter((3, 9, 18), False, Path("/b/python3.9")),
        Interpreter((3, 13, 1), True, Path("/b/python 3.13t")),
    ]
    assert list(map(str, found)) == ["3.9.18", "3.13.1t"]
    assert missing(found) == ["3.10", "3.11", "3.12", "3.13", "3.14", "3.15"]


def test_it_finds_the_python_that_runs_it() -> None:
    assert sys.version_info[:2] in [one.minor for one in find()]


def test_nothing_found_is_said() -> None:
    assert missing([]) == [
        "3.9",
        "3.10",
        "3.11",
        "3.12",
        "3.13",
        "3.14",
        "3.15",
        "a free-threaded build",
    ]


def test_the_promises_are_those_of_the_distributions() -> None:
    for project, versions in (("sdk/python/pyproject.toml", SDK), ("pyproject.toml", HOST)):
        floor = f'requires-python = ">={versions[0][0]}.{versions[0][1]}"'
        assert floor in (ROOT / project).read_text(encoding="utf-8")
