"""Pure: the result of a check, and the exceptions with which a check ends early."""

from __future__ import annotations

from typing import Literal
from xml.etree import ElementTree

import msgspec

from sliphook.errors import SliphookError

Verdict = Literal["passed", "warned", "failed", "skipped", "broken"]
"""`warned`: passed, but not well. `skipped`: does not apply. `broken`: a bug of the suite."""


class CheckFinding(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one check.

    Attributes:
        name: the check's name.
        section: the section of protocol.md that asks for it.
        verdict: the result.
        note: what was seen, or why the check was skipped.
        sent: what was sent to the plugin; only after a failure or a warning.
        came: what the plugin did; likewise.
        advice: what the plugin's author can do; likewise.
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
    """All findings about one executable, in order; `name` is the plugin's name, if it told one."""

    path: str
    name: str | None
    findings: tuple[CheckFinding, ...]

    def count(self, verdict: Verdict) -> int:
        """The number of findings with this verdict."""
        return sum(finding.verdict == verdict for finding in self.findings)

    def junit(self) -> str:
        """The report as JUnit's XML, which CI systems read."""
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
    """The plugin breaks a rule, a MUST of protocol.md. The fault of its author.

    Args:
        sent: what was sent to the plugin, in a line.
        came: what the plugin did, in a line.
        advice: what its author can do, in a line.
    """

    def __init__(self, sent: str, came: str, advice: str) -> None:
        super().__init__(came)
        self.sent = sent
        self.came = came
        self.advice = advice


class Lapse(CheckFailed):
    """The plugin breaks a SHOULD, or could be better. Arguments as for `CheckFailed`."""


class Skip(SliphookError):
    """The check does not apply to this plugin; `str()` says why."""
