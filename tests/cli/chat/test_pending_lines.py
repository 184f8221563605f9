"""What waits for the screen: in order, bounded, and the loss told."""

from __future__ import annotations

import pytest

from sliphook.cli.chat import pending_lines
from sliphook.cli.chat.pending_lines import PendingLines


def texts(pending: PendingLines, columns: int = 80, max_begun_rows: int = 5) -> list[str]:
    return [piece[1] for line in pending.take(columns, max_begun_rows) for piece in line]


def test_whole_lines_come_in_order_and_once() -> None:
    pending = PendingLines()
    pending.put([("class:log", "one\n")])
    pending.put_delta("two\nth")
    pending.put_delta("ree\nfo")
    pending.put([("", "five\n")])
    assert pending.take(80, 5) == [
        [("class:log", "one\n")],
        [("", "two\n")],
        [("", "three\n")],
        [("", "five\n")],
    ]
    assert pending.begun == "fo"
    assert texts(pending) == []


def test_what_there_is_no_room_for_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pending_lines, "MAX_WAITING", 2)
    pending = PendingLines()
    for number in range(5):
        pending.put([("", f"{number}\n")])
    assert texts(pending) == [
        "0\n",
        "1\n",
        "3 lines were not shown: the terminal is too slow\n",
    ]
    assert texts(pending) == []


def test_a_begun_line_is_cut_when_it_takes_too_many_rows() -> None:
    pending = PendingLines()
    pending.put_delta("aabbc")
    assert texts(pending, columns=2, max_begun_rows=3) == []
    pending.put_delta("cd")
    assert texts(pending, columns=2, max_begun_rows=3) == ["aa\nbb\ncc\n"]
    assert pending.begun == "d"


@pytest.mark.parametrize(
    ("meanwhile", "shown", "begun"),
    [("e", ["aa\nbb\ncc\n"], "de"), ("e\naabbccd", [], "aabbccd")],
)
def test_what_comes_while_a_begun_line_is_cut_stands_behind_it(
    monkeypatch: pytest.MonkeyPatch, meanwhile: str, shown: list[str], begun: str
) -> None:
    """The agent's loop never waits while a long line is cut."""
    pending = PendingLines()
    pending.put_delta("aabbccd")

    def wrapped(text: str, columns: int) -> list[str]:
        pending.put_delta(meanwhile)
        return [text[at : at + columns] for at in range(0, len(text), columns)]

    monkeypatch.setattr(pending_lines, "wrapped", wrapped)
    assert texts(pending, columns=2, max_begun_rows=3) == shown
    assert pending.begun == begun


def test_the_text_of_everything_ends_the_begun_line() -> None:
    pending = PendingLines()
    pending.put([("class:log", "one "), ("", "two\n")])
    assert pending.take_text() == "one two\n"
    pending.put_delta("begun")
    assert pending.take_text() == "begun\n"
    assert pending.take_text() == ""
