"""Reports answers of plugins that failed or are ignored, if nothing else shows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sliphook.dispatch.outcome import Outcome
from sliphook.plugin.supervision import Plugin
from sliphook.session.reports import Reports

_UNNOTICED: Final = frozenset(
    {"timed_out", "not_asked", "refused_answer", "queue_full", "payload_too_large"}
)
"""Failures of an answer that leave the plugin alive, so that no other message reports them."""


class FailedAnswers:
    """Reports them to the user, the plugin's log and the other plugins.

    Args:
        by_name: the plugins whose manifest is known.
        reports: tells people of plugins.
    """

    def __init__(self, by_name: Mapping[str, Plugin], reports: Reports) -> None:
        self._by_name = by_name
        self._reports = reports

    def hook_answered(self, name: str, outcome: Outcome) -> None:
        """Report failed answers that count as no opinion: nothing else would show them.

        A failed answer that denies shows in the outcome, so only the other plugins are told. A
        crash is reported as such.
        """
        for part in outcome.parts:
            if part.error is None or part.status not in _UNNOTICED:
                continue
            plugin = self._by_name.get(part.plugin)
            if plugin is None:
                continue
            failed = f"{part.plugin} did not answer {name}: {part.error}; it counts as"
            session_id = outcome.payload.session_id
            if part.decision is None:
                self._reports.problem(plugin, f"{failed} no opinion", session_id=session_id)
            else:
                self._reports.denied(plugin, f"{failed} a deny", session_id)

    def refused_to_go_on(self, outcome: Outcome, times: int) -> None:
        """Report that a `continue_with` is ignored, and whose it is."""
        for name in outcome.continued_by:
            plugin = self._by_name.get(name)
            if plugin is not None:
                self._reports.problem(
                    plugin,
                    f"{name} asks to go on for the {times + 1}th time in this turn; the turn ends",
                    session_id=outcome.payload.session_id,
                )
