"""What a daemon says while it does what it was asked: progress, and questions to the person."""

from __future__ import annotations

import trio

from sliphook import HostError
from sliphook.adapters.relayed.messages import (
    PersonAnswer,
    PersonQuestion,
    Progressed,
    QuestionOver,
    Said,
    answer_line,
)
from sliphook.adapters.relayed.waiting_calls import Person, Report
from sliphook.agent_log import agent_log
from sliphook.quoting import quote

from .finding import DaemonReply

_log = agent_log(__name__)


class Dialogue:
    """One request, until the daemon has done it.

    Args:
        daemon: says what comes of it.
        report: takes its progress.
        person: asks the client's person; None if the client has no forms.
    """

    def __init__(self, daemon: DaemonReply, report: Report, person: Person | None) -> None:
        self._daemon = daemon
        self._report = report
        self._person = person
        self._open: dict[int, trio.CancelScope] = {}

    async def run(self) -> Said | None:
        """The last that the daemon says; None if it has closed the connection.

        Raises:
            OSError: the connection is broken, or what came is no reply.
        """
        said: Said | None = None
        broken: OSError | None = None
        async with trio.open_nursery() as nursery:
            try:
                while self._is_on_the_way(said := await self._daemon.said(), nursery):
                    pass
            except OSError as error:  # a nursery would put it into a group
                broken = error
            nursery.cancel_scope.cancel()
        if broken is not None:
            raise broken
        return said

    def _is_on_the_way(self, said: Said | None, nursery: trio.Nursery) -> bool:
        match said:
            case Progressed():
                self._report(said.fraction, said.message)
            case PersonQuestion():
                self._open[said.id] = trio.CancelScope()
                nursery.start_soon(self._put, said)
            case QuestionOver():
                if (scope := self._open.get(said.id)) is not None:
                    scope.cancel()
            case _:
                return False
        return True

    async def _put(self, question: PersonQuestion) -> None:
        """Ask the person, unless the question is settled before."""
        line: bytes | None = None
        with self._open[question.id]:
            line = await self._answer(question)
        del self._open[question.id]
        if line is not None:  # outside the scope: a line that has begun is sent as a whole
            await self._daemon.answer(line)

    async def _answer(self, question: PersonQuestion) -> bytes:
        if self._person is None:
            return answer_line(PersonAnswer(question.id, failed="the client asks nobody"))
        try:
            content = await self._person(question.prompt, question.schema)
            return answer_line(PersonAnswer(question.id, content))
        except HostError as error:
            failed = quote(str(error))
        except Exception:
            # the SDK's own errors, half a character in the answer
            _log.exception("the client's answer cannot be used")
            failed = "the client's answer cannot be used"
        return answer_line(PersonAnswer(question.id, failed=failed))
