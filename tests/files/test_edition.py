"""A program's edition is another one after any change of its files."""

from __future__ import annotations

import os
from pathlib import Path

from sliphook.files.edition import edition_of


def test_it_tells_a_change_and_nothing_else(tmp_path: Path) -> None:
    guard, helper, other = (tmp_path / name for name in ("guard.py", "words.py", "notes.txt"))
    for path in (guard, helper, other):
        path.write_text("1")
    first = edition_of(guard)
    assert first is not None
    other.write_text("22")
    assert edition_of(guard) == first, "it is none of its modules"
    helper.write_text("22")
    second = edition_of(guard)
    guard.write_text("22")
    third = edition_of(guard)
    os.utime(guard, ns=(1, 1))
    assert len({first, second, third, edition_of(guard)}) == 4
    helper.unlink()
    assert edition_of(guard) != third


def test_a_program_without_an_ending_stands_alone(tmp_path: Path) -> None:
    (tmp_path / "guard").write_text("1")
    first = edition_of(tmp_path / "guard")
    (tmp_path / "other").write_text("1")
    assert edition_of(tmp_path / "guard") == first


def test_what_is_not_there_has_none(tmp_path: Path) -> None:
    assert edition_of(tmp_path / "guard") is None
    assert edition_of(tmp_path / "no folder" / "guard.py") is None
    assert edition_of(Path("\0")) is None
