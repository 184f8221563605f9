"""No program is run from the folder in which the agent happens to be started."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import sliphook
from sliphook.adapters.attached.build import build
from sliphook.errors import SliphookError
from sliphook.files.search_path import search_path, which
from sliphook.registry.delivered import delivered

HOST = Path(sliphook.__file__).parent


@pytest.fixture(params=[".", "", "./bin", "bin"])
def _relative(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PATH begins with an entry that leads into the current folder, where a program lies."""
    for folder in (tmp_path, tmp_path / "bin"):
        folder.mkdir(exist_ok=True)
        for name in ("cc", "npm", "uv"):
            (folder / name).write_text(f"#!/bin/sh\n: > {tmp_path}/ran\n", encoding="utf-8")
            (folder / name).chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{request.param}:/nowhere")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


@pytest.mark.usefixtures("_relative")
def test_relative_entries_are_passed_over(tmp_path: Path) -> None:
    assert search_path() == ["/nowhere"]
    assert [which(name) for name in ("cc", "npm", "uv")] == [None] * 3
    assert not build().compiled
    package = tmp_path / "node_modules" / "guard"
    package.mkdir(parents=True)
    (package / "package.json").write_text('{"name": "guard", "version": "1"}', encoding="utf-8")
    with pytest.raises(SliphookError, match="npm, which is not on PATH"):
        delivered(package / "guard.js")
    assert not (tmp_path / "ran").exists()


def test_whoever_looks_for_a_program_does_so_here() -> None:
    others = [
        str(path.relative_to(HOST))
        for path in HOST.rglob("*.py")
        if "shutil.which" in path.read_text(encoding="utf-8")
    ]
    assert others == ["files/search_path.py"]


def test_no_program_is_started_by_its_bare_name() -> None:
    """The system would look for it along PATH itself, relative entries too."""
    bare = re.compile(
        r"(?:subprocess\.(?:run|Popen)\(|open_process\(|\b(?:words|command|argv) =)"
        r"\s*\[\s*\"(?![/-])"
    )
    found = [
        str(path.relative_to(HOST))
        for path in HOST.rglob("*.py")
        if bare.search(path.read_text(encoding="utf-8"))
    ]
    # on systems without /proc
    assert found == ["adapters/attached/rendezvous.py"]
