"""A plugin's stderr: cut into lines, made harmless, kept for reports, never kept whole."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sliphook.process import streams
from sliphook.process.stderr import StderrTail
from sliphook.trace.redact import Redactor


def err(*texts: str) -> list[tuple[str, str]]:
    """What is logged for lines of stderr."""
    return [("stderr", text) for text in texts]


def left_out(count: str) -> list[tuple[str, str]]:
    """What is logged about lines that are not."""
    return [("warning", f"{count} lines on stderr were left out: more than 100 in 1 s")]


def test_a_line_is_given_when_it_is_whole() -> None:
    tail = StderrTail()
    assert tail.feed(b"one\ntw", 0.0) == err("one")
    assert tail.feed(b"o\r\n\nthree", 0.0) == err("two", "")
    assert tail.close(0.0) == err("three")
    assert tail.close(0.0) == []
    assert tail.lines == ("one", "two", "", "three")


def test_no_line_can_steer_a_terminal_or_forge_another_line() -> None:
    tail = StderrTail()
    assert tail.feed(b"\x1b[2Jgone\rERROR host: forged\x85\xc2\x85\xe2\x80\xaen\n", 0.0) == err(
        "\\x1b[2Jgone\\rERROR host: forged\\x85\\x85\\u202en"
    )


def test_the_last_twenty_lines_are_kept() -> None:
    tail = StderrTail()
    tail.feed(b"".join(b"%d\n" % number for number in range(30)), 0.0)
    assert tail.lines == tuple(str(number) for number in range(10, 30))


def test_above_a_hundred_lines_a_second_lines_are_counted_and_not_logged() -> None:
    tail = StderrTail()
    assert tail.feed(b"x\n" * 90, 5.0) == err("x") * 90
    assert tail.feed(b"y\n" * 30, 5.9) == err("y") * 10
    assert tail.feed(b"z\n", 5.99) == []
    assert tail.feed(b"next second\n", 6.0) == left_out("21") + err("next second")
    assert tail.lines[-2:] == ("z", "next second")
    assert tail.close(6.0) == []


def test_in_no_second_are_more_than_a_hundred_lines_logged() -> None:
    tail = StderrTail()
    assert len(tail.feed(b"x\n" * 100, 5.9)) == 100
    assert tail.feed(b"x\n" * 100, 6.0) == []
    assert tail.feed(b"x\n", 6.9) == left_out("100") + err("x")


def test_a_flood_in_one_piece_is_counted_whole_and_its_end_is_kept() -> None:
    tail = StderrTail()
    assert tail.feed(b"x\n" * 31_999 + b"last words\n", 1.0) == err("x") * 100
    assert tail.lines[-1] == "last words"
    assert tail.close(1.0) == left_out("31,900")


def test_the_end_says_how_many_were_left_out_the_last_line_included() -> None:
    tail = StderrTail()
    assert tail.feed(b"x\n" * 110 + b"rest", 1.0) == err("x") * 100
    assert tail.close(1.5) == left_out("11")
    assert tail.close(1.5) == []


def test_a_line_without_end_is_cut_and_not_kept_in_memory() -> None:
    tail = StderrTail()
    assert tail.feed(b"a" * 60_000, 0.0) == err("a" * 999 + "…")
    assert tail.feed(b"still of that line", 0.0) == []
    # what is left of a secret that was cut would not be known as one
    assert tail.feed(b" and its end\nb\n", 0.0) == err("b")


def test_a_line_of_a_thousand_wide_characters_is_one_line_in_however_many_pieces() -> None:
    tail = StderrTail()
    data = "語".encode() * 1_000
    assert tail.feed(data[:2_999], 0.0) == []
    assert tail.feed(data[2_999:] + b"\n", 0.0) == err("語" * 1_000)


@given(st.lists(st.binary(max_size=40)), st.data())
def test_where_the_pieces_are_cut_does_not_matter(lines: list[bytes], data: st.DataObject) -> None:
    whole = b"".join(line.replace(b"\n", b"") + b"\n" for line in lines[:50])
    cut = data.draw(st.integers(0, len(whole)))
    one, two = StderrTail(), StderrTail()
    assert two.feed(whole[:cut], 9.0) + two.feed(whole[cut:], 9.0) == one.feed(whole, 9.0)
    assert two.lines == one.lines


def test_half_a_line_does_not_begin_the_next_stream() -> None:
    tail = StderrTail()
    assert tail.feed(b"a" * 60_000, 0.0) == err("a" * 999 + "…")
    assert tail.close(0.0) == []
    assert tail.feed(b"first of the next\nhal", 0.0) == err("first of the next")
    assert tail.close(0.0) == err("hal")
    assert tail.feed(b"whole\n", 0.0) == err("whole")
    assert tail.taken == 4


def test_of_a_flood_only_what_is_shown_or_kept_is_cleaned_and_no_more_of_it() -> None:
    cleaned: list[int] = []

    def clean(line: bytes, limit: int) -> bytes:
        cleaned.append(limit)
        return line[:limit]

    tail = StderrTail(clean)
    said = tail.feed(b"\x1b\n" * 32_000, 0.0)
    assert len(said) == 100
    assert len(cleaned) <= 100 + 20
    tail.feed(b"\x1b" * 64_000, 0.0)
    assert set(cleaned) == {4_004}
    assert len(tail.lines[-1]) <= 1_000


def test_bytes_that_are_no_text_are_cleaned_as_they_are_shown() -> None:
    # a secret of an environment may be written as `quote` shows bytes
    redactor = Redactor(["key-\\xff-abc", "tok-\udcff-123"])
    tail = StderrTail(redactor.data)
    assert tail.feed(b"a key-\xff-abc b\nc tok-\xff-123 \xe2\x82 d\n", 0.0) == err(
        "a [redacted] b", "c [redacted] \\xe2\\x82 d"
    )


def test_a_step_reads_pieces_while_they_are_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 0.0
    monkeypatch.setattr(streams, "thread_time", lambda: now_s)

    def steps_of(pieces: list[int | None], piece_s: float) -> list[int | None]:
        def read_piece(_: int) -> int | None:
            nonlocal now_s
            now_s += piece_s
            return pieces.pop(0)

        return [streams.read_step(3, read_piece) for _ in range(3)]

    assert steps_of([4, 4, None, None, 4, 0], 0.0) == [2, None, 0]  # nothing more is there, or ever
    assert steps_of([4] * 34 + [None], 0.0) == [16, 16, 2]
    assert steps_of([4] * 6, 0.0006) == [2, 2, 2]
