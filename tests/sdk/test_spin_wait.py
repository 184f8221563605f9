"""Who stays awake for an answer, and for how long."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sliphook_sdk.spin_wait import (
    PLUGIN_SPIN_S,
    QUICK_ANSWERS,
    SPIN_S,
    TOOL_SPIN_S,
    SpinWait,
    processors,
    stay_awake,
)

QUICK, SLOW = 0.0001, 0.001


def after(*answers: float) -> SpinWait:
    vigil = SpinWait(SPIN_S, 2)
    for seconds in answers:
        vigil.took(seconds)
    return vigil


def test_what_it_can_cost() -> None:
    # half a millisecond is a tenth of the least that an agent's user could notice;
    # docs/performance.md says so
    assert SPIN_S == 0.0005
    assert PLUGIN_SPIN_S == 0.0002
    assert TOOL_SPIN_S == 0.003


def test_who_stays_awake_looks_until_there_is_something() -> None:
    looks = iter([[], [], ["found"]])
    assert stay_awake(lambda: next(looks), 60.0) == ["found"]


def test_who_stays_awake_looks_once_at_least_and_not_for_ever() -> None:
    looks: list[int] = []
    assert stay_awake(lambda: looks.append(1), 0.0) is None
    assert looks == [1]
    assert stay_awake(lambda: looks.append(1), 0.001) is None


@pytest.mark.parametrize(
    ("answers", "pays"),
    [
        ((), False),
        ((QUICK,), True),
        ((SLOW,), False),
        ((SLOW, SLOW, QUICK), True),
        ((QUICK, SLOW), False),
        ((QUICK, SLOW, *[QUICK] * (QUICK_ANSWERS - 1)), False),
        ((QUICK, SLOW, *[QUICK] * QUICK_ANSWERS), True),
        ((QUICK, SLOW, *[QUICK] * (QUICK_ANSWERS - 1), SLOW), False),
        ((QUICK, SPIN_S), True),
    ],
)
def test_when_it_pays(answers: tuple[float, ...], pays: bool) -> None:
    assert after(*answers).pays is pays


def test_it_never_pays_where_the_plugin_needs_the_only_processor() -> None:
    vigil = SpinWait(SPIN_S, 1)
    for _ in range(100):
        vigil.took(QUICK)
    assert not vigil.pays


@given(st.lists(st.sampled_from([QUICK, SLOW]), max_size=200))
def test_at_most_one_answer_in_nine_is_waited_for_awake_in_vain(answers: list[float]) -> None:
    vigil = SpinWait(SPIN_S, 2)
    in_vain: list[int] = []
    for number, seconds in enumerate(answers):
        if vigil.pays and seconds == SLOW:
            in_vain.append(number)
        vigil.took(seconds)
    assert all(later - earlier >= 9 for earlier, later in zip(in_vain, in_vain[1:]))


@pytest.mark.parametrize(("all_of_them", "found"), [(4, 4), (None, 1)])
def test_a_system_that_does_not_say_which_processors_are_ours(
    all_of_them: int | None, found: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(pid: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "cpu_count", lambda: all_of_them)
    monkeypatch.setattr(os, "sched_getaffinity", refuse, raising=False)
    assert processors() == found
    monkeypatch.delattr(os, "sched_getaffinity")
    assert processors() == found
