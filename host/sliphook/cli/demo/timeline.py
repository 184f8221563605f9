"""The summary of the demo: what happened when, and whether everything expected happened."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import trio

__all__ = ["DemoTimeline", "failures", "summary"]


class Moment(NamedTuple):
    """An event of the demo, `at_s` seconds after the start."""

    at_s: float
    what: str


class Expectation(NamedTuple):
    """An expected fact, and whether it held."""

    what: str
    held: bool


@dataclass
class DemoTimeline:
    """All moments and all checks, with times of trio's clock."""

    began_s: float = field(default_factory=trio.current_time)
    moments: list[Moment] = field(default_factory=list[Moment])
    checks: list[Expectation] = field(default_factory=list[Expectation])

    def now_s(self) -> float:
        """Seconds since the start."""
        return trio.current_time() - self.began_s

    def tell(self, what: str, *, at: float | None = None) -> None:
        """Add a moment: now, or at that time of trio's clock."""
        self.moments.append(Moment(self.now_s() if at is None else at - self.began_s, what))

    def check(self, what: str, held: bool) -> None:
        """Add a check."""
        self.checks.append(Expectation(what, held))


CHECKS = 7
"""The number of checks: a demo that stopped early has fewer, and has failed."""


def failures(story: DemoTimeline) -> list[str]:
    """The checks that failed; empty if all is well."""
    missing = [check.what for check in story.checks if not check.held]
    if len(story.checks) < CHECKS:
        missing.append("it came to its end")
    return missing


def summary(story: DemoTimeline) -> str:
    """The timeline and the checks as text."""
    moments = sorted(story.moments)
    lines = ["", "What happened", *(f"  {moment.at_s:5.2f} s  {moment.what}" for moment in moments)]
    lines += [
        "",
        "What had to happen",
        *(f"  {'yes' if check.held else 'NO ':3}  {check.what}" for check in story.checks),
    ]
    return "\n".join(lines)
