"""What is found in a transcript, and what it takes to look."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

from sliphook.adapters.attached.gaps import Tail


def looked(path: Path, *written: bytes) -> list[list[bytes]]:
    """What one look finds after each piece."""
    path.write_bytes(b"old MARK\n")
    tail, found = Tail(str(path)), list[list[bytes]]()
    for piece in written:
        with path.open("ab") as file:
            file.write(piece)
        found.append(list(tail.lines(b"MARK")))
    return found


def test_the_lines_with_the_mark(tmp_path: Path) -> None:
    found = looked(tmp_path / "t", b"a MARK b MARK\n\nno\nMARK\nha", b"lf MARK\r\nMARK", b"\n")
    assert found == [[b"a MARK b MARK", b"MARK"], [b"half MARK\r"], [b"MARK"]]


def test_lines_without_the_mark_become_no_objects(tmp_path: Path) -> None:
    tail_of = b"MARK\n" + b"\n" * 262_000
    assert looked(tmp_path / "t", tail_of) == [[b"MARK"]]  # what is imported late is there
    tracemalloc.start()
    try:
        looked(tmp_path / "t", tail_of)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 3 * len(tail_of)


def test_a_look_takes_no_line_before_it_is_wanted(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_bytes(b"")
    tail = Tail(str(path))
    path.write_bytes(b"MARK\n" * 50_000)
    lines = iter(tail.lines(b"MARK"))
    assert next(lines) == b"MARK"
    assert list(tail.lines(b"MARK")) == []
