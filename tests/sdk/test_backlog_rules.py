"""When a backlog stays with one thread, and when each call of it gets its own."""

from __future__ import annotations

from sliphook_sdk.engine.backlog import BRISK, WATCH_S, Backlog


def backlog_of(count: int) -> Backlog[int]:
    backlog: Backlog[int] = Backlog()
    backlog.extend(range(count))
    return backlog


def test_the_numbers() -> None:
    assert (WATCH_S, BRISK) == (0.002, 8)


def test_the_oldest_comes_first() -> None:
    backlog = backlog_of(3)
    assert [backlog.take(), backlog.take(), backlog.take()] == [0, 1, 2]
    assert not backlog


def test_a_backlog_that_moves_is_not_spread() -> None:
    backlog = backlog_of(20)
    assert backlog.begin_watch(100.0)
    for _ in range(8):
        backlog.take()
    backlog.end_watch(100.003)
    assert not backlog.spread


def test_a_backlog_that_hardly_moves_is_spread_until_it_is_empty() -> None:
    backlog = backlog_of(10)
    assert backlog.begin_watch(100.0)
    for _ in range(7):
        backlog.take()
    backlog.end_watch(100.003)
    assert backlog.spread
    backlog.take()
    backlog.append(10)
    backlog.take()
    backlog.take()
    assert backlog.spread
    backlog.take()
    assert not backlog.spread


def test_what_began_before_the_watch_does_not_count() -> None:
    backlog = backlog_of(20)
    for _ in range(10):
        backlog.take()
    assert backlog.begin_watch(100.0)
    backlog.end_watch(100.003)
    assert backlog.spread


def test_a_watch_that_ends_early_is_continued_by_the_next() -> None:
    """Otherwise a message every millisecond would put the judgement off for ever."""
    backlog = backlog_of(2)
    assert backlog.begin_watch(100.0)
    backlog.end_watch(100.001)
    assert not backlog.spread
    assert backlog.begin_watch(100.001)
    backlog.end_watch(100.0025)
    assert backlog.spread


def test_what_was_seen_of_a_backlog_counts_not_for_the_next() -> None:
    backlog = backlog_of(1)
    assert backlog.begin_watch(100.0)
    backlog.take()
    backlog.append(1)
    backlog.end_watch(100.003)
    assert not backlog.spread
    assert backlog.begin_watch(100.003)
    backlog.end_watch(100.004)
    assert not backlog.spread


def test_a_spread_backlog_stays_so_whatever_is_seen_of_it() -> None:
    backlog = backlog_of(20)
    assert backlog.begin_watch(100.0)
    backlog.spread = True  # an event has come
    for _ in range(10):
        backlog.take()
    backlog.end_watch(100.003)
    assert backlog.spread


def test_nothing_is_spread_that_has_become_empty_meanwhile() -> None:
    backlog = backlog_of(1)
    assert backlog.begin_watch(100.0)
    backlog.take()
    backlog.end_watch(100.003)
    assert not backlog.spread


def test_one_thread_watches() -> None:
    backlog = backlog_of(2)
    assert backlog.needs_thread()
    assert backlog.begin_watch(100.0)
    assert not backlog.needs_thread()
    assert not backlog.begin_watch(100.0)
    backlog.end_watch(100.001)
    assert backlog.needs_thread()
    assert backlog.begin_watch(100.001)


def test_an_empty_or_spread_backlog_is_not_watched() -> None:
    backlog = backlog_of(0)
    assert not backlog.begin_watch(100.0)
    assert not backlog.needs_thread()
    backlog.extend([1, 2])
    backlog.spread = True
    assert not backlog.begin_watch(100.0)
    assert backlog.needs_thread()  # to take the rest
