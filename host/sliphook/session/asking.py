"""Puts a question to the person and to the plugins that may answer in their place.

One function for all of them: the approval of a tool call, a turn at its limit, what a plugin asks.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial
from typing import Final, Literal

import trio

from sliphook.agent_log import agent_log
from sliphook.dispatch.outcome import Outcome, Reason
from sliphook.dispatch.parking import wait_in_line
from sliphook.errors import HostError
from sliphook.ids import new_id
from sliphook.plugin.approval import why_not_granted
from sliphook.transport.deadlines import Deadlines
from sliphook.wire.json_value import copied, plain
from sliphook_sdk.protocol import QuestionKind
from sliphook_sdk.protocol.limits import MAX_TIMEOUT_S

from .arguments.functions import check_function
from .arguments.plain import check_flag, check_text, check_word
from .hooks import Hooks
from .host import ApprovalRequest
from .llm_call import LlmCalls
from .open_tool import OpenTool
from .questions.form import YES_OR_NO
from .questions.question import OpenQuestion, Settlement
from .results import Verdict
from .state import SessionState, TurnState
from .submission import Submission

InputKind = Literal["max_iterations", "question"]

_log = agent_log(__name__)

AsksPerson = Callable[[], Awaitable[object]]
"""Asks the person; returns what fits the question's form, or None if they decline.

Raises `HostError` if they cannot be asked.
"""
_FOR_PLUGINS_S: Final = MAX_TIMEOUT_S
"""How long a question waits that only plugins can answer."""
_NOT_APPROVED: Final = {
    "nobody": "a person must approve this, and nobody can be asked",
    "timed_out": "a person must approve this, and nobody has answered",
    "failed": "the person could not be asked",
    "interrupted": "the turn has ended",
}


def yes_or_no(asks: Callable[[], Awaitable[object]]) -> AsksPerson:
    """The answer of a function that returns a bool, as that of a question with yes and no."""

    async def ask() -> str:
        allowed = await asks()
        check_flag("what it returns", allowed)
        return "allow" if allowed else "deny"

    return ask


async def approve(
    hooks: Hooks, turn: TurnState, tool: OpenTool, before: Outcome
) -> tuple[bool, tuple[Reason, ...]]:
    """Put an `ask` of plugins to a person; returns whether the call is denied, and why."""
    approver = hooks.host.people.approver
    request = ApprovalRequest(
        session_id=hooks.state.session_id,
        turn_id=turn.turn_id,
        call_id=tool.call_id,
        tool_name=tool.name,
        arguments=copied(tool.arguments),
        reasons=before.reasons,
        prompt=f"Run {tool.name}?" + (f" {before.reason}" if before.reasons else ""),
    )
    question = OpenQuestion(
        new_id(),
        "approval",
        request.prompt,
        YES_OR_NO,
        call_id=tool.call_id,
        owner=tool.owner,
    )
    person = yes_or_no(partial(approver, request)) if approver is not None else None
    settled = await put_question(
        hooks, turn, question, person, queued=not hooks.host.people.approver_queues
    )
    if settled.allows:
        return False, ()
    if settled.outcome == "answered":
        return True, (Reason(settled.by, "declined"),)
    return True, (Reason("host", _NOT_APPROVED[settled.outcome]),)


async def put_question(
    hooks: Hooks,
    turn: TurnState,
    question: OpenQuestion,
    person: AsksPerson | None,
    *,
    queued: bool = True,
) -> Settlement:
    """Put a question to the person and to the plugins; the first answer counts.

    Plugins are told of it before and after. When this returns or raises, it is settled.

    Args:
        hooks: the session's.
        turn: the turn that waits; its end settles the question.
        question: a new one.
        person: asks the person; None if none can be asked. Cancelled when a plugin has answered.
        queued: the session asks its person one at a time; else at once, where others may be.
    """
    question.has_person = person is not None
    turn.questions.add(question)
    try:
        if turn.ended or question.settled is not None:
            return question.give_up()
        if person is None and not _may_answer(hooks, question):
            # no need to wait for the questions of others
            question.settle("nobody")
            _tell_required(hooks, turn, question)
            _tell_received(hooks, turn, question)
            return question.give_up()
        with question.scope:
            # what only plugins can answer holds up no question to the person
            queue = hooks.state.asking if queued and person is not None else nullcontext()
            await _ask(hooks, turn, question, person, queue)
        await wait_in_line()  # one plugin may answer hundreds in one piece
        return question.give_up()
    finally:
        question.give_up()
        turn.questions.discard(question)


async def _ask(
    hooks: Hooks,
    turn: TurnState,
    question: OpenQuestion,
    person: AsksPerson | None,
    queue: AbstractAsyncContextManager[object],
) -> None:
    is_told = False
    try:
        async with queue:
            # the turn may have ended while another question was open
            if turn.ended or question.settled is not None:
                return
            is_told = True
            told = set(_tell_required(hooks, turn, question))
            question.hearers = _may_answer(hooks, question) & told
            if person is not None:
                await ask_person(question, person)
            elif not question.hearers:
                question.settle("nobody")
        if question.settled is None:
            latest = trio.current_time() + _FOR_PLUGINS_S
            question.scope.deadline = min(question.scope.deadline, latest)
            await trio.sleep_forever()
    finally:
        if is_told:
            question.give_up()
            _tell_received(hooks, turn, question)


# the agent's code: Ctrl+C must reach it as it would without the host
@trio.lowlevel.disable_ki_protection
async def ask_person(question: OpenQuestion, person: AsksPerson) -> None:
    """Settle the question by what the person says, unless it is settled before.

    It stays open if no one can be asked and plugins can still answer.
    """
    try:
        answer = await person()
        if answer is None:
            question.settle("declined", by="user")
            return
        answer = plain(answer)
        why = question.form.why_not(answer)
        if why is not None:
            raise TypeError(f"the answer does not fit the question: {why}")
    except HostError:
        question.without_person()
    except Exception:
        # fails closed: a question that was not answered allows nothing
        _log.exception("the person could not be asked")
        question.settle("failed")
    else:
        question.settle("answered", answer, "user")


def _may_answer(hooks: Hooks, question: OpenQuestion) -> set[str]:
    """The plugins that are told of questions and may answer this one."""
    plugins = hooks.host.plugins_by_name
    names = {name for same in hooks.host.listeners("user_input_required") for name in same.names}
    return {
        name
        for name in names
        if name != question.owner
        and (plugin := plugins.get(name)) is not None
        and why_not_granted("approve", plugin.manifest, plugin.spec) is None
    }


def _tell_required(hooks: Hooks, turn: TurnState, question: OpenQuestion) -> list[str]:
    tool = turn.open_tools.get(question.call_id or "")
    return hooks.tell_if_open(
        "user_input_required",
        turn,
        kind=question.kind,
        question_id=None if question.by_agent else question.question_id,
        call_id=question.call_id,
        asked_by=question.asked_by,
        prompt=question.prompt,
        schema=question.form.schema,
        **(tool.asked_about() if tool is not None else {}),
    )


def _tell_received(hooks: Hooks, turn: TurnState, question: OpenQuestion) -> None:
    settled = question.give_up()
    answered = settled.outcome == "answered"
    choice = question.form.written(settled.answer) if answered else "deny"
    hooks.tell_if_open(
        "user_input_received",
        turn,
        kind=question.kind,
        question_id=None if question.by_agent else question.question_id,
        call_id=question.call_id,
        choice=choice,
        by=settled.by,
    )
    plugin = hooks.host.plugins_by_name.get(settled.by)
    if answered and plugin is not None:
        hooks.host.answered(plugin, question.prompt, choice)
    asker = hooks.host.plugins_by_name.get(question.asked_by or "")
    if settled.outcome == "nobody" and asker is not None:
        hooks.host.asked_nobody(asker, question.prompt)


def end_questions(turns: Iterable[TurnState], deadlines: Deadlines) -> None:
    """Settle the questions of turns that have ended; who asked is told soon after."""
    for turn in turns:
        for question in list(turn.questions):
            question.settle("interrupted", deadlines=deadlines)


def open_turns(session: SessionState) -> list[TurnState]:
    """All open turns, those of child agents too."""
    roots = [*session.background, *([session.open_root] if session.open_root is not None else [])]
    return [turn for root in roots for turn in root.family()]


def open_questions(session: SessionState) -> list[OpenQuestion]:
    """Those of the session that are not settled, also those that wait for their turn."""
    return [one for turn in open_turns(session) for one in turn.questions if one.settled is None]


def forget_plugin(sessions: Iterable[SessionState], plugin: str) -> None:
    """A plugin is not ready any more: it waits for no answer, and gives none."""
    for session in sessions:
        for question in open_questions(session):
            question.forget(plugin)


class TurnQuestions(LlmCalls):
    """A turn, as far as a person is asked something in it."""

    def __init__(
        self, hooks: Hooks, parent: TurnState | None, submission: Submission | None
    ) -> None:
        super().__init__(hooks, parent, submission)
        self._told: dict[str, OpenQuestion] = {}

    @trio.lowlevel.enable_ki_protection
    async def decide(
        self, kind: InputKind, prompt: str, asks: Callable[[str], Awaitable[bool]] | None
    ) -> Verdict:
        """Put a question of the agent's: a turn at its limit, or whether to go on.

        Args:
            kind: what for.
            prompt: the question.
            asks: asks the person; True is yes. None: only plugins can answer.
        """
        check_word("kind", kind, InputKind)
        check_text("prompt", prompt)
        check_function("asks", asks)
        person = yes_or_no(partial(asks, prompt)) if asks is not None else None
        question = OpenQuestion(new_id(), kind, prompt, YES_OR_NO)
        settled = await put_question(self.hooks, self, question, person)
        await self.raise_if_ended()
        return Verdict.of(settled)

    @trio.lowlevel.enable_ki_protection
    def tell_question(self, kind: QuestionKind, prompt: str, *, call_id: str | None = None) -> str:
        """Tell the plugins that the agent itself asks its person; no plugin can answer.

        Args:
            kind: what for.
            prompt: what the person is asked.
            call_id: the tool call that waits for it (`BegunTool.call_id`).

        Returns:
            What `end_question` takes.

        Raises:
            ValueError: there is no such kind.
        """
        check_word("kind", kind, QuestionKind)
        check_text("prompt", prompt)
        check_text("call_id", call_id, none=True)
        question = OpenQuestion(new_id(), kind, prompt, YES_OR_NO, call_id=call_id)
        question.by_agent = True
        if not self.ended:
            self._told[question.question_id] = question
            _tell_required(self.hooks, self, question)
        return question.question_id

    @trio.lowlevel.enable_ki_protection
    def end_question(self, told: str, *, allowed: bool | None) -> bool:
        """Tell the end of a question of `tell_question`, once.

        Args:
            told: what `tell_question` returned.
            allowed: what the person said; None: nothing, or it is not known.

        Returns:
            False if it is over already, with its turn perhaps.

        Raises:
            TypeError: an argument has a wrong type; the question is still open.
        """
        check_text("told", told)
        check_flag("allowed", allowed, none=True)
        question = self._told.pop(told, None)
        if question is None or self.ended:
            return False
        if allowed is None:
            question.settle("nobody")
        else:
            question.settle("answered", "allow" if allowed else "deny", "user")
        _tell_received(self.hooks, self, question)
        return True
