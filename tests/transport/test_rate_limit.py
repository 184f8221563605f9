"""What is let through in any span of time, and the sentence about the rest."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sliphook.transport.rate_limit import RateLimit


def test_so_many_in_any_span_and_what_was_left_out_is_said_once() -> None:
    limit = RateLimit(2, 60.0)
    assert [limit.allows(at) for at in (0.0, 30.0, 59.9)] == [True, True, False]
    assert [limit.allows(at) for at in (60.0, 89.9, 90.0)] == [True, False, True]
    assert limit.take_left_out("alerts") == "2 alerts were left out: more than 2 in 60 s"
    assert limit.take_left_out("alerts") is None


def test_things_that_come_together_take_the_room_that_there_is() -> None:
    limit = RateLimit(100, 1.0)
    assert [limit.let_through(50, at) for at in (0.0, 0.5, 0.9)] == [50, 50, 0]
    assert (limit.room(0.9), limit.room(1.0)) == (0, 50)
    assert limit.let_through(80, 1.2) == 50
    assert limit.take_left_out("lines") == "80 lines were left out: more than 100 in 1 s"


def test_what_was_never_asked_for_is_left_out_too() -> None:
    limit = RateLimit(1_000, 1.0)
    limit.leave_out(0)
    assert limit.take_left_out("lines") is None
    limit.leave_out(31_900)
    assert limit.take_left_out("lines") == "31,900 lines were left out: more than 1,000 in 1 s"


@given(st.lists(st.floats(0.0, 0.5), max_size=100))
def test_no_window_lets_more_through(pauses: list[float]) -> None:
    limit = RateLimit(5, 1.0)
    now_s, through = 0.0, list[float]()
    for pause_s in pauses:
        now_s += pause_s
        if limit.allows(now_s):
            through.append(now_s)
        else:
            assert len([at for at in through if now_s - at < 1.0]) == 5
    assert all(later - earlier >= 1.0 for earlier, later in zip(through, through[5:], strict=False))
