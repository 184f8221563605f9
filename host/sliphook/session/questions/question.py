"""One open question: the first who settles it, a person or a plugin, settles it for all."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import msgspec
import trio

from sliphook.transport.deadlines import Deadlines, Timer
from sliphook_sdk.protocol import QuestionKind

from .form import Form

SettledAs = Literal["answered", "declined", "timed_out", "nobody", "failed", "interrupted"]


class Settlement(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a question.

    Attributes:
        outcome: `failed` if the agent's own code raised.
        answer: what was answered; else None.
        by: `user`, the name of a plugin, or `none`.
    """

    outcome: SettledAs
    answer: Any = None
    by: str = "none"

    @property
    def allows(self) -> bool:
        """Yes to a question whose answers are yes and no."""
        return self.outcome == "answered" and self.answer == "allow"


class OpenQuestion:
    """A question, from its making until it is settled, exactly once.

    Args:
        question_id: unique.
        kind: what for.
        prompt: what the person is asked.
        form: what the answer has to be.
        call_id: the tool call that it is about, or None.
        asked_by: the plugin that asks, or None.
        owner: the plugin that may not answer it, as it asks or its tool is asked for; or None.
        deadline: when it is over, on `trio.current_time()`.

    Attributes:
        settled: what came of it; None while it is open.
        hearers: the plugins that know of it and may answer.
        has_person: a person is asked, too.
        by_agent: the agent asks, and tells what came of it: no plugin can answer.
        on_settled: called once, when it is settled.
        scope: cancelled when it is settled; what waits for an answer runs in it.
    """

    def __init__(
        self,
        question_id: str,
        kind: QuestionKind,
        prompt: str,
        form: Form,
        *,
        call_id: str | None = None,
        asked_by: str | None = None,
        owner: str | None = None,
        deadline: float = float("inf"),
    ) -> None:
        self.question_id = question_id
        self.kind: QuestionKind = kind
        self.prompt = prompt
        self.form = form
        self.call_id = call_id
        self.asked_by = asked_by
        self.owner = owner
        self.settled: Settlement | None = None
        self.hearers: set[str] = set()
        self.has_person = False
        self.by_agent = False
        self.scope = trio.CancelScope(deadline=deadline)
        self.on_settled: Callable[[Settlement], object] | None = None

    def settle(
        self,
        outcome: SettledAs,
        answer: Any = None,
        by: str = "none",
        *,
        deadlines: Deadlines | None = None,
    ) -> bool:
        """Settle it, unless it is settled; True if this did.

        What waits is woken, and the plugin that asks is told; with the host's `deadlines` soon
        after, since that takes 50 us and an interrupt may settle hundreds.
        """
        if self.settled is not None:
            return False
        self.settled = Settlement(outcome=outcome, answer=answer, by=by)
        if deadlines is None:
            self._tell(self.settled)
        else:
            deadlines.add(Timer(partial(self._tell, self.settled)), 0.0)
        return True

    def _tell(self, settled: Settlement) -> None:
        told, self.on_settled = self.on_settled, None
        self.scope.cancel()
        if told is not None:
            told(settled)

    def give_up(self) -> Settlement:
        """Nothing waits for an answer any more; returns what came of it."""
        late = trio.current_time() >= self.scope.deadline
        self.settle("timed_out" if late else "interrupted")
        assert self.settled is not None
        return self.settled

    def without_person(self) -> None:
        """No one can be asked, or no more; what a plugin asks can still be answered by others."""
        self.has_person = False
        if self.asked_by is None or not self.hearers:
            self.settle("nobody")

    def forget(self, plugin: str) -> None:
        """A plugin has gone: what it asks is void, and it will not answer."""
        if self.asked_by == plugin:
            self.settle("interrupted")
        elif plugin in self.hearers:
            self.hearers.discard(plugin)
            if not (self.hearers or self.has_person):
                self.settle("nobody")
