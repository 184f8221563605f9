from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import pytest

from sliphook.check import (
    CheckFinding,
    child,
    end_rules,
    running_rules,
    settling,
    suite,
)
from sliphook.check.session import Bench
from sliphook.check.suite import Check

Only: TypeAlias = Callable[..., None]


@pytest.fixture
def short_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """The checks wait for a shorter time, as most of these tests wait in vain.

    What a plugin owes has seconds all the same: a busy machine may stop for one.
    """
    for module, name in (
        (child, "ANSWER_S"),
        (end_rules, "EXIT_GRACE_S"),
        (end_rules, "TERM_GRACE_S"),
        (end_rules, "SHUTDOWN_TIMEOUT_S"),
        (running_rules, "EXIT_GRACE_S"),
    ):
        monkeypatch.setattr(module, name, 3.0)
    monkeypatch.setattr(settling, "LONGEST_S", 10.0)
    monkeypatch.setattr(end_rules, "AFTER_S", 0.6)
    monkeypatch.setattr(running_rules, "AFTER_S", 0.2)


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch) -> Only:
    """Only the checks of these names are run, and those that the others build on."""
    run = suite._run  # pyright: ignore[reportPrivateUsage]

    def choose(*names: str) -> None:
        wanted = {"handshake", "ping", "length-in-bytes", *names}

        async def run_some(check: Check, bench: Bench, ends_s: float) -> CheckFinding:
            return await run(check, bench, ends_s if check.name in wanted else -math.inf)

        monkeypatch.setattr(suite, "_run", run_some)

    return choose
