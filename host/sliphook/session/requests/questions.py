"""Questions of one plugin to the person, and its answers in the person's place."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import trio

from sliphook.forks import ForksEndHere
from sliphook.ids import new_id
from sliphook.plugin.supervision import Plugin
from sliphook.quoting import quote
from sliphook.schemas import SchemaError
from sliphook.session.asking import (
    AsksPerson,
    ask_person,
    open_questions,
    open_turns,
    put_question,
)
from sliphook.session.host import AskRequest, People, SessionHost
from sliphook.session.questions.form import Form, read_form
from sliphook.session.questions.question import OpenQuestion, Settlement
from sliphook.session.session import Session
from sliphook.session.state import TurnState
from sliphook.transport.rate_limit import RateLimit
from sliphook.wire.deferred import DeferredReply
from sliphook.wire.rpc import Refusal
from sliphook_sdk.protocol import (
    AnswerParams,
    AnswerResult,
    AskOutcome,
    AskParams,
    AskResult,
    ErrorCode,
)
from sliphook_sdk.protocol.limits import (
    ASK_TIMEOUT_S,
    MAX_ASKS_PER_MINUTE,
    MAX_PROMPT_CHARS,
    MAX_TIMEOUT_S,
    MIN_TIMEOUT_S,
)

from .outside import Outside


class PluginQuestions:
    """Handles `host/ask` and `host/answer` of one plugin.

    Args:
        plugin: the plugin.
        host: asks the person.
        asked: how often it may.
        outside: what is put to plugins outside any session.
    """

    def __init__(
        self, plugin: Plugin, host: SessionHost, asked: RateLimit, outside: Outside
    ) -> None:
        self.outside = outside
        self._plugin = plugin
        self._host = host
        self._asked = asked

    def ask(self, session: Session, params: AskParams) -> DeferredReply | AskResult:
        """Ask the person; answered when the question is over."""
        question = self._question(params, open_questions(session))
        turn = _open_turn(session, params)
        if turn is None:
            return AskResult(outcome="interrupted")
        person = _person(self._host.people, question, session.session_id, turn.turn_id)
        reply = _reply_to(question)
        # not in the task, which begins later: an interrupt may come before
        turn.questions.add(question)
        self._host.start_soon(_put, session, turn, question, person)
        return reply

    def ask_outside(self, params: AskParams) -> DeferredReply | AskResult:
        """Ask the person who has called or fired by hand; no plugin is told of it."""
        others = self.outside.questions(params.session_id)
        question = self._question(params, others)
        reply = _reply_to(question)
        others.add(question)
        self._host.start_soon(self._put_outside, params, question)
        return reply

    def _question(self, params: AskParams, others: Iterable[OpenQuestion]) -> OpenQuestion:
        name, now_s = self._plugin.name, trio.current_time()
        if any(one.asked_by == name and one.settled is None for one in others):
            raise Refusal(ErrorCode.BUSY, "another question of the plugin waits in this session")
        if not self._asked.allows(now_s):
            raise Refusal(ErrorCode.BUSY, f"more than {MAX_ASKS_PER_MINUTE} questions in a minute")
        timeout_s = ASK_TIMEOUT_S if params.timeout_s is None else params.timeout_s
        return OpenQuestion(
            new_id(),
            "question",
            params.prompt,
            _form_of(params, timeout_s),
            call_id=params.call_id,
            asked_by=name,
            owner=name,
            deadline=now_s + timeout_s,
        )

    # in a task of the host's: Ctrl+C is for the agent's own
    @trio.lowlevel.enable_ki_protection
    async def _put_outside(self, params: AskParams, question: OpenQuestion) -> None:
        person = _person(self._host.people, question, params.session_id, params.turn_id or "")
        if person is None:
            question.settle("nobody")
        else:
            with question.scope:
                async with self.outside.asking:
                    await ask_person(question, person)
        if question.give_up().outcome == "nobody":
            self._host.asked_nobody(self._plugin, question.prompt)

    def answer(self, session: Session, params: AnswerParams) -> AnswerResult:
        """Answer an open question, if no one has."""
        question = next(
            (one for one in open_questions(session) if one.question_id == params.question_id), None
        )
        if question is None:
            return AnswerResult(taken=False)
        if question.owner == self._plugin.name:
            whose = "the plugin asks it" if question.asked_by else "it is about the plugin's tool"
            raise Refusal(ErrorCode.NOT_GRANTED, f"the answer must be someone else's: {whose}")
        if params.choice is None:
            question.forget(self._plugin.name)
            return AnswerResult(taken=False)
        try:
            value = question.form.read(params.choice)
        except ValueError as error:
            raise Refusal(ErrorCode.INVALID_PARAMS, f"the choice is no answer: {error}") from None
        return AnswerResult(taken=question.settle("answered", value, self._plugin.name))


def _form_of(params: AskParams, timeout_s: float) -> Form:
    if not params.prompt.strip() or len(params.prompt) > MAX_PROMPT_CHARS:
        raise Refusal(
            ErrorCode.INVALID_PARAMS,
            f"the prompt has {len(params.prompt):,} characters; 1 to {MAX_PROMPT_CHARS:,} it may"
            " have",
        )
    if not MIN_TIMEOUT_S <= timeout_s <= MAX_TIMEOUT_S:
        allowed = f"{MIN_TIMEOUT_S:g} to {MAX_TIMEOUT_S:g}"
        raise Refusal(ErrorCode.INVALID_PARAMS, f"timeout_s is {timeout_s}; it must be {allowed}")
    try:
        return read_form(params.schema)
    except SchemaError as error:
        raise Refusal(
            ErrorCode.INVALID_PARAMS, f"the schema cannot be used: {quote(str(error), 300)}"
        ) from None


def _open_turn(session: Session, params: AskParams) -> TurnState | None:
    """The turn that waits for the answer; None if it has ended, or the tool call has."""
    for turn in open_turns(session):
        if params.call_id is not None and params.call_id not in turn.open_tools:
            continue
        if params.turn_id == turn.turn_id or (params.turn_id is None and _is_meant(turn, params)):
            return turn
    return None


def _is_meant(turn: TurnState, params: AskParams) -> bool:
    return turn.parent is None or params.call_id is not None


# in a task of the host's: Ctrl+C is for the agent's own
@trio.lowlevel.enable_ki_protection
async def _put(
    session: Session, turn: TurnState, question: OpenQuestion, person: AsksPerson | None
) -> None:
    await put_question(session.hooks, turn, question, person)


def _person(
    people: People, question: OpenQuestion, session_id: str, turn_id: str
) -> AsksPerson | None:
    assert question.asked_by is not None
    request = AskRequest(
        session_id=session_id,
        turn_id=turn_id,
        question_id=question.question_id,
        call_id=question.call_id,
        plugin=question.asked_by,
        prompt=question.prompt,
        form=question.form,
    )
    asker = people.asker_of(request)
    if asker is None:
        return None

    @trio.lowlevel.enable_ki_protection
    async def ask() -> object:
        with ForksEndHere():
            return await asker(request)

    return ask


def _reply_to(question: OpenQuestion) -> DeferredReply:
    reply = DeferredReply(partial(question.settle, "interrupted"))
    question.on_settled = partial(_reply, reply)
    return reply


def _reply(reply: DeferredReply, settled: Settlement) -> None:
    outcome: AskOutcome = "nobody" if settled.outcome == "failed" else settled.outcome
    reply.answer(AskResult(outcome=outcome, answer=settled.answer))
