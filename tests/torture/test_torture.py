"""Every case of the torture suite as a test of its own; those of one kind are played side by side, when the first of them is asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.torture.case import Case, Verdict
from tests.torture.cases import CASES, KINDS
from tests.torture.runner import Silence, run


@pytest.fixture(scope="session")
def played() -> dict[str, Verdict]:
    """The verdicts so far, by title."""
    return {}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_the_promise_is_kept(
    case: Case, played: dict[str, Verdict], request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> None:
    if case.title not in played:
        titles = {item.callspec.id for item in request.session.items if isinstance(item, pytest.Function) and hasattr(item, "callspec")}
        chosen = [other for other in CASES if other.kind == case.kind and other.title in titles]
        with Silence():
            verdicts = run(chosen, tmp_path_factory.mktemp(case.kind))
        played.update({verdict.case.title: verdict for verdict in verdicts})
    verdict = played[case.title]
    if verdict.skipped is not None:
        pytest.skip(verdict.skipped)
    assert verdict.faults == []


def test_all_kinds_are_there() -> None:
    assert KINDS == ("spawn", "handshake", "framing", "JSON", "ids", "time", "pipes", "processes", "admin", "shutdown")
    assert len(CASES) > 250


def test_no_two_cases_have_one_title() -> None:
    titles = [case.title for case in CASES]
    assert len(set(titles)) == len(titles)


def test_a_broken_promise_is_found(tmp_path: Path) -> None:
    """A check that cannot fail is none: a case that expects what does not happen is broken."""
    good = next(case for case in CASES if case.title == "shutdown/exits-first")
    wrong = Case("shutdown", "expects a crash", good.promise, good.make, "crashed", "failed")
    with Silence():
        (verdict,) = run([wrong], tmp_path)
    assert len(verdict.faults) == 1
    assert verdict.faults[0].startswith("it was answered, ready")
