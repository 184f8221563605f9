"""The torture suite as tests: cases of one kind side by side, two dozen a test.

One case alone: `python -m tests.torture ids/null`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.heartbeat import INTERRUPT_MS, LIMIT_MS, timed_interrupt
from tests.torture.case import Case, Verdict, Workshop, nothing
from tests.torture.cases import CASES, KINDS
from tests.torture.runner import Silence, run
from tests.torture.test_heartbeat import spin

AT_MOST = 24
"""Cases in one test."""
SIDE_BY_SIDE = 8
"""Fewer than `make torture` plays, as other tests run beside."""


def _portions() -> list[tuple[Case, ...]]:
    portions: list[tuple[Case, ...]] = []
    for kind in KINDS:
        cases = [case for case in CASES if case.kind == kind]
        count = -(-len(cases) // AT_MOST)
        portions += [tuple(cases[first::count]) for first in range(count)]
    return portions


@pytest.mark.parametrize("cases", _portions(), ids=lambda cases: cases[0].title)
def test_every_promise_is_kept(cases: tuple[Case, ...], tmp_path: Path) -> None:
    with Silence():
        verdicts = run(cases, tmp_path, limit=SIDE_BY_SIDE, busy=True)
    skipped = {
        verdict.case.title: verdict.skipped for verdict in verdicts if verdict.skipped is not None
    }
    assert broken(verdicts) == {}
    if skipped:
        pytest.skip(f"all others of {len(cases)} are kept; skipped: {skipped}")


def broken(verdicts: list[Verdict]) -> dict[str, list[str]]:
    """What went wrong, by the title of the case."""
    return {verdict.case.title: verdict.faults for verdict in verdicts if verdict.faults}


def test_every_case_is_played_once() -> None:
    titles = sorted(case.title for cases in _portions() for case in cases)
    assert titles == sorted(case.title for case in CASES)
    assert len(set(titles)) == len(titles) > 300
    assert KINDS == (
        "spawn",
        "handshake",
        "framing",
        "JSON",
        "heavy",
        "ids",
        "time",
        "pipes",
        "processes",
        "schemas",
        "neighbours",
        "admin",
        "shutdown",
        "generated",
        "telling",
        "model",
        "embedder",
        "attached",
    )


def _case(title: str) -> Case:
    return next(case for case in CASES if case.title == title)


@pytest.mark.parametrize(
    ("expected", "fault"),
    [
        (("crashed", "ready", None, None), "it was answered, ready"),
        (("answered", "failed", None, None), "it was answered, ready"),
        (("answered", "ready", None, 1), "the restart did not come"),
        (("answered", "ready", "no such words", None), "nothing said 'no such words'"),
    ],
)
def test_a_case_that_expects_what_does_not_happen_is_broken(
    expected: tuple[str, str, str | None, int | None],
    fault: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A check that cannot fail is none."""
    status, state, says, restarts = expected
    if says is not None or restarts is not None:  # what does not come is not waited for long
        monkeypatch.setattr("tests.torture.stage.WAIT_S", 1.0)
    wrong = Case(
        "shutdown",
        "wrong",
        "none",
        _case("shutdown/exits-first").make,
        status,
        state,
        says,
        restarts,
    )
    with Silence():
        verdicts = run([wrong], tmp_path)
    assert [first.startswith(fault) for first in broken(verdicts)["shutdown/wrong"]] == [True]


async def _spins(_: Workshop) -> None:
    spin(LIMIT_MS * 2)


async def _interrupts_slowly(_: Workshop) -> None:
    with timed_interrupt():
        spin(INTERRUPT_MS * 2)


@pytest.mark.parametrize(
    ("scene", "fault"),
    [(_spins, "the loop's thread worked for "), (_interrupts_slowly, "interrupt() worked for ")],
)
def test_a_case_that_holds_the_loop_is_broken(
    scene: Callable[[Workshop], Awaitable[None]], fault: str, tmp_path: Path
) -> None:
    verdicts = run([Case("heavy", "spins", "none", nothing, scene=scene)], tmp_path)
    assert [first.startswith(fault) for first in broken(verdicts)["heavy/spins"]] == [True]
