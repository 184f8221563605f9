"""What is left of the demo when it is over: what happened when, and whether it had to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import trio

__all__ = ["DemoTimeline", "failures", "summary"]


class Moment(NamedTuple):
    """Something that happened, `at_s` seconds after the beginning."""

    at_s: float
    what: str


class Expectation(NamedTuple):
    """Something that had to happen, and whether it did."""

    what: str
    held: bool


@dataclass
class DemoTimeline:
    """All moments and all checks; times are of trio's clock."""

    began_s: float = field(default_factory=trio.current_time)
    moments: list[Moment] = field(default_factory=list[Moment])
    checks: list[Expectation] = field(default_factory=list[Expectation])

    def now_s(self) -> float:
        """Seconds since the beginning."""
        return trio.current_time() - self.began_s

    def tell(self, what: str, *, at: float | None = None) -> None:
        """Something happened: now, or at that time of trio's clock."""
        self.moments.append(Moment(self.now_s() if at is None else at - self.began_s, what))

    def check(self, what: str, held: bool) -> None:
        """Something had to happen."""
        self.checks.append(Expectation(what, held))


CHECKS = 7
"""How many things have to happen: a story that broke off has fewer, and is no success."""


def failures(story: DemoTimeline) -> list[str]:
    """What had to happen and did not; empty where all is well."""
    missing = [check.what for check in story.checks if not check.held]
    if len(story.checks) < CHECKS:
        missing.append("it came to its end")
    return missing


def summary(story: DemoTimeline) -> str:
    """The timeline and the checks, for people."""
    moments = sorted(story.moments)
    lines = ["", "What happened", *(f"  {moment.at_s:5.2f} s  {moment.what}" for moment in moments)]
    lines += [
        "",
        "What had to happen",
        *(f"  {'yes' if check.held else 'NO ':3}  {check.what}" for check in story.checks),
    ]
    return "\n".join(lines)
