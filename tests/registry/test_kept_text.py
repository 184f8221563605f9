"""What has changed in an approved script, as a user is shown it."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from sliphook.registry import kept_text

HEAD = "#!/bin/sh\n"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def changed(script: Path, old: str, new: str) -> list[str] | None:
    hashes: list[str] = []
    for text in (old, new):
        script.write_text(text, encoding="utf-8", newline="")
        hashes.append(hashlib.sha256(script.read_bytes()).hexdigest())
        if text is old:
            kept_text.keep("mine", str(script), hashes[0])
    return kept_text.changes("mine", str(script), *hashes)


@pytest.mark.parametrize("sign", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\r"])
def test_what_only_some_programs_take_for_a_line_break_hides_no_change(
    tmp_path: Path, sign: str
) -> None:
    lines = changed(tmp_path / "script", f"{HEAD}# a{sign}rm -r b\n", f"{HEAD}# a\nrm -r b\n")
    assert lines is not None
    assert f"-# a{sign}rm -r b" in lines
    assert lines.count("+rm -r b") == 1


def test_so_many_lines_as_are_compared_are_counted(tmp_path: Path) -> None:
    old, new = ("\x0c".join(f"{who}{number}" for number in range(6_000)) for who in "ab")
    lines = changed(tmp_path / "script", HEAD + old, HEAD + new)
    assert lines is not None
    # the two names, the place, the head, and one line of each
    assert len(lines) == 6
