"""Answers that are refused, and plugins that fail: what the policy makes of both."""

from __future__ import annotations

from typing import Any, Final

import msgspec
import pytest

from sliphook.dispatch.answers import AnswerError, read_answer
from sliphook.dispatch.outcome import Reason, Status, cancelled_outcome
from sliphook.dispatch.shares import Result
from sliphook_sdk.protocol import CATALOGUE, Answer

from .fires import FAILURES, failed, fire, payload, subscriber


@pytest.mark.parametrize(
    "answer",
    [
        None,
        {},
        dict.fromkeys(
            ["decision", "reason", "replace", "substitute", "context", "continue_with", "_meta"]
        ),
    ],
)
def test_null_and_the_empty_object_abstain(answer: Any) -> None:
    outcome = fire("pre_tool_call", {"a": answer}, subscriber("a")).outcome
    assert outcome.decision is None
    assert outcome.reasons == ()
    assert outcome.parts[0].status == "answered"


def test_meta_is_free() -> None:
    part = fire("pre_tool_call", {"a": {"_meta": {"rule": [1]}}}, subscriber("a")).outcome.parts[0]
    assert (part.status, part.answer) == ("answered", Answer(meta_=msgspec.Raw(b'{"rule": [1]}')))


REFUSED: Final[list[tuple[str, Any, str]]] = [
    (
        "pre_tool_call",
        {"desicion": "deny"},
        "the answer has an unknown field 'desicion'; did you mean decision?",
    ),
    (
        "pre_tool_call",
        {"continueWith": "x"},
        "the answer has an unknown field 'continueWith'; did you mean continue_with?",
    ),
    ("pre_tool_call", {"meta": 1}, "the answer has an unknown field 'meta'; did you mean _meta?"),
    (
        "pre_tool_call",
        {"zzz": 1},
        "the answer has an unknown field 'zzz'; there are decision, reason, replace, "
        "substitute, context, continue_with, _meta",
    ),
    (
        "pre_tool_call",
        {"decision": "block"},
        "the answer does not fit: Invalid enum value 'block' - at `$.decision`",
    ),
    (
        "pre_tool_call",
        {"decision": "Deny"},
        "the answer does not fit: Invalid enum value 'Deny' - at `$.decision`",
    ),
    (
        "pre_tool_call",
        {"decision": ""},
        "the answer does not fit: Invalid enum value '' - at `$.decision`",
    ),
    (
        "pre_tool_call",
        {"reason": 7},
        "the answer does not fit: Expected `str | null`, got `int` - at `$.reason`",
    ),
    (
        "pre_tool_call",
        {"context": "x"},
        "the answer does not fit: Expected `array | null`, got `str` - at `$.context`",
    ),
    (
        "pre_tool_call",
        {"context": [None]},
        "the answer does not fit: Expected `str`, got `null` - at `$.context[0]`",
    ),
    ("pre_tool_call", "deny", "the answer must be an object or null, not str"),
    ("pre_tool_call", False, "the answer must be an object or null, not bool"),
    ("pre_tool_call", [], "the answer must be an object or null, not list"),
    (
        "pre_tool_call",
        {"continue_with": "x"},
        "pre_tool_call takes no continue_with; allowed are decision (allow, deny, ask), "
        "reason, replace, substitute, context",
    ),
    (
        "user_prompt_submit",
        {"decision": "ask"},
        "user_prompt_submit takes no decision 'ask'; allowed are decision (deny), reason, "
        "replace, context",
    ),
    (
        "user_prompt_submit",
        {"decision": "allow"},
        "user_prompt_submit takes no decision 'allow'; allowed are decision (deny), reason, "
        "replace, context",
    ),
    ("stop", {"decision": "deny"}, "stop takes no decision 'deny'; allowed are continue_with"),
    ("stop", {"context": ["x"]}, "stop takes no context; allowed are continue_with"),
    ("stop", {"replace": {"x": 1}}, "stop takes no replace; allowed are continue_with"),
    (
        "session_start",
        {"decision": "deny"},
        "session_start takes no decision 'deny'; allowed are context",
    ),
    (
        "post_tool_call",
        {"substitute": {"result": "x"}},
        "post_tool_call takes no substitute; allowed are replace, context",
    ),
    (
        "pre_tool_call",
        {"replace": {"tool_name": "x"}},
        "replace.tool_name is not allowed in pre_tool_call; allowed are arguments",
    ),
    (
        "pre_tool_call",
        {"replace": {"arguments": "ls"}},
        "replace.arguments does not fit: Expected `object`, got `str`",
    ),
    (
        "pre_tool_call",
        {"substitute": {"response": "x"}},
        "substitute.response is not allowed in pre_tool_call; allowed are result",
    ),
    (
        "pre_tool_call",
        {"substitute": {"result": {"is_error": False}}},
        "substitute.result does not fit: Object missing required field `content`",
    ),
    (
        "pre_llm_call",
        {"replace": {"messages": [{"role": 1}]}},
        "replace.messages does not fit: Expected `str`, got `int` - at `$[0].role`",
    ),
    (
        "pre_llm_call",
        {"substitute": {"response": "text"}},
        "substitute.response does not fit: Expected `object`, got `str`",
    ),
]


@pytest.mark.parametrize(("event", "answer", "error"), REFUSED)
def test_a_field_or_value_that_is_not_allowed_is_a_failed_answer_that_says_what_is(
    event: str, answer: Any, error: str
) -> None:
    can_replace = bool(CATALOGUE[event].replace or CATALOGUE[event].substitute)
    outcome = fire(
        event, {"a": answer}, subscriber("a", {"replaces": can_replace}, event=event)
    ).outcome
    (part,) = outcome.parts
    assert (part.status, part.error) == ("refused_answer", error)
    closed = CATALOGUE[event].on_failure == "closed"
    assert (outcome.decision, part.decision) == (("deny", "deny") if closed else (None, None))
    assert outcome.reasons == ((Reason("a", error),) if closed else ())
    assert outcome.payload == payload(event)


@pytest.mark.parametrize("word", ["replace", "substitute"])
def test_replace_and_substitute_in_the_second_phase_are_a_failed_answer(word: str) -> None:
    values: dict[str, Any] = {"replace": {"arguments": {}}, "substitute": {"result": "x"}}
    outcome = fire(
        "pre_tool_call", {"a": {word: values[word]}}, subscriber("a", {"on_failure": "open"})
    ).outcome
    assert outcome.parts[0].error == (
        f"the answer has {word}, but the payload is final:"
        " only a subscription with replaces is asked before that"
    )
    assert outcome.payload == payload("pre_tool_call")
    assert outcome.substitute is None
    assert outcome.decision is None


@pytest.mark.parametrize("raw", [b"1e400", b" -9.7E+9999999", b"1" * 300, b"7"], ids=repr)
def test_a_number_is_no_answer_also_if_it_cannot_be_read(raw: bytes) -> None:
    with pytest.raises(AnswerError, match=r"^the answer must be an object or null, not number$"):
        read_answer(raw)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"\xff",
        b'{"reason":"\xff"}',
        b"[" * 100_000,
        b'{"_meta":' * 5_000,
        b"{}x",
        b"NaN",
    ],
)
def test_nonsense_is_a_failed_answer(raw: bytes) -> None:
    outcome = fire(
        "pre_tool_call", {"a": Result(status="answered", raw=raw)}, subscriber("a")
    ).outcome
    assert (outcome.decision, outcome.parts[0].status) == ("deny", "refused_answer")
    with pytest.raises(AnswerError, match=r"^the answer cannot be read: "):
        read_answer(raw)


def test_an_answer_of_megabytes_is_refused_on_one_short_line() -> None:
    for answer in (
        {"x" * 4_000_000: 1},
        {"decision": "x\n" * 2_000_000},
        {"replace": {"\x1b" * 1_000_000: 1}},
    ):
        error = (
            fire("pre_tool_call", {"a": answer}, subscriber("a", {"replaces": True}))
            .outcome.parts[0]
            .error
        )
        assert error is not None
        assert (len(error) < 400, error.isprintable()) == (True, True)


# -- failures
# -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", FAILURES)
@pytest.mark.parametrize("replaces", [False, True])
def test_open_counts_a_failure_as_abstaining_and_closed_as_a_deny_with_the_failure_as_the_reason(
    status: Status, replaces: bool
) -> None:
    for on_failure, decision, reasons in (
        ("open", None, ()),
        ("closed", "deny", (Reason("a", "it broke"),)),
    ):
        fired = fire(
            "pre_tool_call",
            {"a": failed(status, "it broke")},
            subscriber("a", {"on_failure": on_failure, "replaces": replaces}),
        )
        assert (fired.outcome.decision, fired.outcome.reasons) == (decision, reasons)
        (part,) = fired.outcome.parts
        assert part.status == status
        assert part.error == "it broke"
        assert part.decision == decision
        assert part.answer is None


def test_a_closed_replacer_that_fails_ends_the_fire() -> None:
    fired = fire(
        "pre_tool_call",
        {"a": failed()},
        subscriber("a", {"replaces": True}),
        subscriber("b", order=1),
    )
    assert (fired.lines, fired.outcome.reason) == (["ask a"], "a: no answer within 5 s")


def test_an_open_replacer_that_fails_changes_nothing() -> None:
    fired = fire(
        "pre_tool_call",
        {"a": failed(), "b": {"replace": {"arguments": {}}}},
        subscriber("a", {"replaces": True, "on_failure": "open"}),
        subscriber("b", {"replaces": True}, order=1),
        shows="arguments",
    )
    assert fired.lines == ["ask a({'command': 'ls'})", "ask b({'command': 'ls'})"]
    assert (fired.outcome.decision, fired.outcome.payload) == (
        None,
        payload("pre_tool_call", arguments={}),
    )


def test_a_failure_without_words_is_named_by_its_status() -> None:
    outcome = fire("pre_tool_call", {"a": Result(status="crashed")}, subscriber("a")).outcome
    assert outcome.reason == "a: crashed"


def test_the_outcome_of_a_turn_that_has_ended_is_a_deny_that_says_cancelled() -> None:
    outcome = cancelled_outcome(payload("pre_tool_call"))
    assert outcome.decision == "deny"
    assert outcome.denied is True
    assert outcome.cancelled is True
    assert outcome.reason == "host: cancelled"
    assert outcome.context == ()
    assert outcome.substitute is None
    assert outcome.continue_with is None
