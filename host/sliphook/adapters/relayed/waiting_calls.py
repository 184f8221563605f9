"""The calls that MCP clients wait for: where their progress goes, and who is asked meanwhile."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import Any

from sliphook import AskRequest, HostError, Progress

from . import questions

Person = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any] | None]]
"""Asks the client's person a question with a form: a prompt and the flat schema of an object.

Returns what fits the schema, or None if they decline. Raises `HostError` if no one can be asked.
"""
Report = Callable[[float | None, str | None], None]
"""Takes how far a call has come: 0 to 1, or None, and what is being done. Never waits."""


class WaitingCall:
    """One of them.

    Args:
        report: takes its progress.
        person: asks its client's person; None if the client has no forms.
    """

    def __init__(self, report: Report, person: Person | None) -> None:
        self.report = report
        self.person = person
        self.call_id = ""

    def begins(self, call_id: str) -> None:
        """The plugins have been asked about it, and it runs, by our id of it."""
        self.call_id = call_id


class WaitingCalls:
    """Those of one session, in the order of their beginning. All its clients have one person."""

    def __init__(self) -> None:
        self._open: list[WaitingCall] = []

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._open)

    @contextmanager
    def open(self, report: Report, person: Person | None) -> Generator[WaitingCall]:
        """A call, for as long as the block."""
        call = WaitingCall(report, person)
        self._open.append(call)
        try:
            yield call
        finally:
            self._open.remove(call)

    def progressed(self, progress: Progress) -> None:
        """A call has come further."""
        for call in self._open:
            if call.call_id == progress.call_id:
                call.report(progress.fraction, progress.message)

    def can_ask(self, request: AskRequest) -> bool:
        """Whether a client with forms waits for a call."""
        return self._person(request) is not None

    async def ask(self, request: AskRequest) -> object:
        """Put a plugin's question to the person; returns what fits, None if they decline.

        Raises:
            HostError: no one can be asked.
        """
        person = self._person(request)
        if person is None:
            raise HostError("no call of a client with forms is open")
        return questions.answer_to(request, await person(*questions.asked(request)))

    def _person(self, request: AskRequest) -> Person | None:
        """By the call that it is about; else by one that has not begun, which may be that."""
        calls = [call for call in reversed(self._open) if call.person is not None]
        calls.sort(key=lambda call: (call.call_id != request.call_id, call.call_id != ""))
        return next((call.person for call in calls), None)
