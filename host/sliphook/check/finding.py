"""Pure: what a check comes to, and how it says that it cannot go on."""

from __future__ import annotations

from typing import Literal
from xml.etree import ElementTree

import msgspec

from sliphook.errors import SliphookError

Verdict = Literal["passed", "warned", "failed", "skipped", "broken"]
"""`warned` holds but could be better; `skipped` does not apply; `broken` is a fault of the suite itself, not of the plugin."""


class CheckFinding(msgspec.Struct, frozen=True, kw_only=True):
    """What one check came to.

    Attributes:
        name: the check.
        section: the section of protocol.md that asks for it.
        verdict: how it went.
        note: what was seen, or why it was skipped.
        sent: what the plugin was sent, where it failed.
        came: what came of it.
        advice: what to do.
        elapsed_ms: how long the check took.
    """

    name: str
    section: str
    verdict: Verdict
    note: str = ""
    sent: str = ""
    came: str = ""
    advice: str = ""
    elapsed_ms: float | None = None


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """All findings about one executable, in the order of the checks; `name` is the plugin's own, where it said one."""

    path: str
    name: str | None
    findings: tuple[CheckFinding, ...]

    def count(self, verdict: Verdict) -> int:
        """How many checks ended so."""
        return sum(finding.verdict == verdict for finding in self.findings)

    def junit(self) -> str:
        """The same as JUnit's XML, which CI systems read."""
        words: dict[str, Verdict] = {"failures": "failed", "errors": "broken", "skipped": "skipped"}
        counts = {
            "tests": str(len(self.findings)),
            **{word: str(self.count(verdict)) for word, verdict in words.items()},
        }
        suite = ElementTree.Element("testsuite", {"name": f"sliphook check {self.path}", **counts})
        for finding in self.findings:
            took = (
                {} if finding.elapsed_ms is None else {"time": f"{finding.elapsed_ms / 1000:.3f}"}
            )
            case = ElementTree.SubElement(
                suite, "testcase", {"classname": finding.section, "name": finding.name, **took}
            )
            word = {"failed": "failure", "broken": "error", "skipped": "skipped"}.get(
                finding.verdict
            )
            if word is not None:
                lines = (
                    finding.note,
                    f"sent: {finding.sent}",
                    f"came: {finding.came}",
                    finding.advice,
                )
                ElementTree.SubElement(
                    case, word, {"message": finding.came or finding.note}
                ).text = "\n".join(lines)
        return ElementTree.tostring(suite, encoding="unicode") + "\n"


class CheckFailed(SliphookError):
    """The plugin breaks a rule. Its author's fault.

    Args:
        sent: what it was sent, in a line.
        came: what came of it, in a line.
        advice: what to do, in a line.
    """

    def __init__(self, sent: str, came: str, advice: str) -> None:
        super().__init__(came)
        self.sent = sent
        self.came = came
        self.advice = advice


class Lapse(CheckFailed):
    """No rule is broken, but its author would want to know. Arguments as for `CheckFailed`."""


class Skip(SliphookError):
    """The check does not apply to this plugin; str() says why."""
