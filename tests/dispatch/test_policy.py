"""The order of asking, and how answers merge: transcripts of fires, and a model for random ones."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Final

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sliphook.dispatch.answers import AnswerError, cut_context, read_answer
from sliphook.dispatch.outcome import Context, Outcome, Reason, Status, cancelled_outcome
from sliphook.dispatch.policy import Ask, Policy, Result, Round, Subscriber, dispatch, merge_one
from sliphook.plugin.manifest import read_manifest
from sliphook_sdk.protocol import CATALOGUE, Message, Payload, ToolResult
from sliphook_sdk.protocol.describe import example_of

FAILURES: Final[tuple[Status, ...]] = (
    "timed_out",
    "crashed",
    "protocol_error",
    "refused_answer",
    "failed_to_start",
    "queue_full",
    "payload_too_large",
)


def payload(event: str, **fields: Any) -> Payload:
    entry = CATALOGUE[event]
    return msgspec.structs.replace(
        msgspec.convert(example_of(entry.payload), entry.payload), **fields
    )


def subscriber(
    plugin: str, *subscriptions: dict[str, Any], event: str = "pre_tool_call", order: int = 0
) -> Subscriber:
    declared = [{"event": event, **fields} for fields in subscriptions or ({},)]
    manifest = read_manifest(
        json.dumps({"protocol_version": 1, "name": plugin, "subscriptions": declared}).encode()
    )
    return Subscriber(plugin=plugin, order=order, routes=manifest.routes[event])


def answered(answer: object) -> Result:
    return Result(status="answered", raw=json.dumps(answer).encode(), elapsed_ms=1.0)


def failed(status: Status = "timed_out", error: str = "no answer within 5 s") -> Result:
    return Result(status=status, error=error, elapsed_ms=5000.0)


class Fired:
    """One fire, played to its end. `lines` is the transcript: one line a round."""

    def __init__(
        self,
        event: str,
        subscribers: Sequence[Subscriber],
        answers: dict[str, Any],
        *,
        about: Payload | None = None,
        shows: str = "",
    ) -> None:
        self.lines: list[str] = []
        self._shows = shows
        self._answers = answers
        self.outcome = self._play(dispatch(CATALOGUE[event], about or payload(event), subscribers))

    def _play(self, policy: Policy) -> Outcome:
        results: list[Result] | None = None
        while True:
            try:
                todo = next(policy) if results is None else policy.send(results)
            except StopIteration as stop:
                outcome: Outcome = stop.value
                return outcome
            self.lines.append(self._line(todo))
            results = [self._result(ask) for ask in todo.asks]

    def _result(self, ask: Ask) -> Result:
        answer = self._answers.get(ask.subscriber.plugin)
        return answer if isinstance(answer, Result) else answered(answer)

    def _line(self, todo: Round) -> str:
        parts = [
            f"{word} {' '.join(self._one(one.subscriber, one.payload) for one in some)}"
            for word, some in (("ask", todo.asks), ("tell", todo.tells))
            if some
        ]
        return ", ".join(parts)

    def _one(self, who: Subscriber, what: Payload) -> str:
        return f"{who.plugin}({getattr(what, self._shows)})" if self._shows else who.plugin


def fire(
    event: str,
    answers: dict[str, Any],
    *subscribers: Subscriber,
    about: Payload | None = None,
    shows: str = "",
) -> Fired:
    return Fired(event, subscribers, answers, about=about, shows=shows)


# -- order
# -------------------------------------------------------------------------------------------------


def test_without_a_subscriber() -> None:
    fired = fire("pre_tool_call", {})
    assert fired.lines == []
    assert fired.outcome == Outcome(payload=payload("pre_tool_call"))


def test_all_others_are_asked_at_the_same_time_by_priority_then_installation() -> None:
    fired = fire(
        "pre_tool_call",
        {},
        subscriber("late", order=2),
        subscriber("low", {"priority": -1}, order=0),
        subscriber("early", order=1),
        subscriber("high", {"priority": 5}, order=3),
    )
    assert fired.lines == ["ask high early late low"]
    assert [part.plugin for part in fired.outcome.parts] == ["high", "early", "late", "low"]


def test_replacers_are_asked_in_turn_then_all_others_on_the_final_payload() -> None:
    """Each replacer gets the payload that the one before has made."""
    fired = fire(
        "user_prompt_submit",
        {"a": {"replace": {"text": "from a"}}, "b": {"replace": {"text": "from b"}}, "c": None},
        subscriber("guard", event="user_prompt_submit", order=0),
        subscriber("b", {"replaces": True}, event="user_prompt_submit", order=2),
        subscriber("c", {"replaces": True, "priority": -9}, event="user_prompt_submit", order=1),
        subscriber("a", {"replaces": True, "priority": 9}, event="user_prompt_submit", order=4),
        subscriber(
            "recorder", {"mode": "event", "priority": 99}, event="user_prompt_submit", order=5
        ),
        about=payload("user_prompt_submit", text="hello"),
        shows="text",
    )
    assert fired.lines == [
        "ask a(hello)",
        "ask b(from a)",
        "ask c(from b)",
        "ask guard(from b), tell recorder(from b)",
    ]
    assert fired.outcome.payload == payload("user_prompt_submit", text="from b")
    assert [part.plugin for part in fired.outcome.parts] == ["a", "b", "c", "guard", "recorder"]


def test_a_plugin_takes_part_once_by_the_first_of_its_subscriptions_that_matches() -> None:
    one = subscriber(
        "one",
        {"match": {"tool_name": "write_*"}, "on_failure": "open"},
        {"on_failure": "closed"},
        {"mode": "event"},
    )
    assert (
        fire(
            "pre_tool_call",
            {"one": failed()},
            one,
            about=payload("pre_tool_call", tool_name="write_file"),
        ).outcome.decision
        is None
    )
    fired = fire(
        "pre_tool_call", {"one": failed()}, one, about=payload("pre_tool_call", tool_name="shell")
    )
    assert (fired.lines, fired.outcome.decision) == (["ask one"], "deny")


def test_the_first_that_matches_is_told_though_a_later_one_would_be_asked() -> None:
    fired = fire("pre_tool_call", {}, subscriber("one", {"mode": "event"}, {"replaces": True}, {}))
    assert fired.lines == ["tell one"]


def test_a_replacer_does_not_take_part_again_in_the_second_phase() -> None:
    fired = fire(
        "pre_tool_call", {}, subscriber("one", {"replaces": True}, {}), subscriber("two", order=1)
    )
    assert fired.lines == ["ask one", "ask two"]


def test_what_does_not_match_is_not_asked() -> None:
    fired = fire(
        "pre_tool_call",
        {},
        subscriber("one", {"match": {"tool_name": "write_*"}}),
        about=payload("pre_tool_call", tool_name="shell"),
    )
    assert (fired.lines, fired.outcome.parts) == ([], ())


def test_match_looks_at_the_payload_that_would_be_sent() -> None:
    fired = fire(
        "user_prompt_submit",
        {"replacer": {"replace": {"text": "secret"}}},
        subscriber("replacer", {"replaces": True}, event="user_prompt_submit"),
        subscriber("before", {"match": {"text": "hello"}}, event="user_prompt_submit", order=1),
        subscriber("after", {"match": {"text": "secret"}}, event="user_prompt_submit", order=2),
        about=payload("user_prompt_submit", text="hello"),
    )
    assert fired.lines == ["ask replacer", "ask after"]


def test_a_guard_that_replaces_and_matches_only_in_the_end_is_asked_but_replaces_no_more() -> None:
    subscribers = [
        subscriber(
            "guard",
            {"replaces": True, "priority": 9, "match": {"text": "secret"}},
            event="user_prompt_submit",
        ),
        subscriber("other", {"replaces": True}, event="user_prompt_submit", order=1),
    ]
    answers = {
        "other": {"replace": {"text": "secret"}},
        "guard": {"decision": "deny", "reason": "no secrets"},
    }
    fired = fire("user_prompt_submit", answers, *subscribers)
    assert (fired.lines, fired.outcome.reason) == (["ask other", "ask guard"], "guard: no secrets")
    answers["guard"] = {"replace": {"text": "harmless"}}
    part = fire("user_prompt_submit", answers, *subscribers).outcome.parts[1]
    assert (part.status, part.error) == (
        "refused_answer",
        "the answer has replace, but the payload is final:"
        " only a subscription with replaces is asked before that",
    )


def test_child_agents_are_heard_only_by_those_who_want_them() -> None:
    child = payload("user_prompt_submit", agent_depth=1)
    root = payload("user_prompt_submit", agent_depth=0)
    default = subscriber("default", event="user_prompt_submit")
    wants = subscriber("wants", {"subagents": True}, event="user_prompt_submit", order=1)
    assert fire("user_prompt_submit", {}, default, wants, about=child).lines == ["ask wants"]
    assert fire("user_prompt_submit", {}, default, wants, about=root).lines == ["ask default wants"]
    guard, not_below = subscriber("guard"), subscriber("rootonly", {"subagents": False}, order=1)
    assert fire(
        "pre_tool_call", {}, guard, not_below, about=payload("pre_tool_call", agent_depth=3)
    ).lines == ["ask guard"]


# -- decisions
# -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("decisions", "outcome"),
    [
        (["allow", "deny", "ask"], "deny"),
        (["allow", "ask", None], "ask"),
        ([None, "allow", None], "allow"),
        ([None, None, None], None),
        (["deny", "deny", "allow"], "deny"),
    ],
)
def test_deny_beats_ask_beats_allow_beats_abstaining(
    decisions: list[str | None], outcome: str | None
) -> None:
    names = ["a", "b", "c"]
    answers = {
        name: {"decision": decision} for name, decision in zip(names, decisions, strict=True)
    }
    fired = fire(
        "pre_tool_call",
        answers,
        *(subscriber(name, order=order) for order, name in enumerate(names)),
    )
    assert fired.outcome.decision == outcome
    assert fired.outcome.denied is (outcome == "deny")


def test_all_reasons_are_kept_in_order() -> None:
    answers = {
        "a": {"decision": "allow", "reason": "fine"},
        "b": {"decision": "deny", "reason": "no"},
        "c": {"reason": "hm"},
        "d": {"decision": "deny"},
    }
    outcome = fire(
        "pre_tool_call",
        answers,
        *(subscriber(name, order=order) for order, name in enumerate("abcd")),
    ).outcome
    assert outcome.reasons == (
        Reason("a", "fine"),
        Reason("b", "no"),
        Reason("c", "hm"),
        Reason("d", "denied without a reason"),
    )
    assert outcome.reason == "a: fine; b: no; c: hm; d: denied without a reason"


def test_a_replacer_s_deny_ends_the_fire_and_who_is_told_is_told() -> None:
    fired = fire(
        "pre_tool_call",
        {
            "first": {"replace": {"arguments": {"command": "ls -l"}}},
            "second": {"decision": "deny", "reason": "no"},
        },
        subscriber("first", {"replaces": True, "priority": 2}),
        subscriber("second", {"replaces": True, "priority": 1}),
        subscriber("third", {"replaces": True}),
        subscriber("guard"),
        subscriber("recorder", {"mode": "event"}),
        shows="arguments",
    )
    changed = "{'command': 'ls -l'}"
    assert fired.lines == [
        "ask first({'command': 'ls'})",
        f"ask second({changed})",
        f"tell recorder({changed})",
    ]
    assert fired.outcome.decision == "deny"
    assert [(part.plugin, part.status) for part in fired.outcome.parts] == [
        ("first", "answered"),
        ("second", "answered"),
        ("recorder", "told"),
    ]


def test_a_replacer_s_ask_counts_and_its_allow_counts_as_abstaining() -> None:
    replacer, guard = subscriber("replacer", {"replaces": True}), subscriber("guard", order=1)
    asks = fire(
        "pre_tool_call",
        {"replacer": {"decision": "ask"}, "guard": {"decision": "allow"}},
        replacer,
        guard,
    )
    assert (asks.lines, asks.outcome.decision) == (["ask replacer", "ask guard"], "ask")
    allows = fire(
        "pre_tool_call", {"replacer": {"decision": "allow", "reason": "fine"}}, replacer, guard
    ).outcome
    assert allows.decision is None
    assert allows.parts[0].decision is None
    assert allows.reason == "replacer: fine"
    assert allows.parts[0].answer is not None
    assert allows.parts[0].answer.decision == "allow"


# -- replace and substitute
# ----------------------------------------------------------------------------------------


def test_replace_puts_the_whole_value_in_the_place_of_the_old_one() -> None:
    about = payload("pre_tool_call", arguments={"command": "rm", "force": True})
    outcome = fire(
        "pre_tool_call",
        {"a": {"replace": {"arguments": {"x": 1}}}},
        subscriber("a", {"replaces": True}),
        about=about,
    ).outcome
    assert outcome.payload == msgspec.structs.replace(about, arguments={"x": 1})


def test_replaced_values_are_typed() -> None:
    answer = {
        "replace": {
            "model": "small",
            "messages": [{"role": "user", "content": "hi", "later": 1}],
            "tools": None,
        }
    }
    outcome = fire(
        "pre_llm_call", {"a": answer}, subscriber("a", {"replaces": True}, event="pre_llm_call")
    ).outcome
    assert outcome.payload == payload(
        "pre_llm_call", model="small", messages=[Message(role="user", content="hi")]
    )


def test_the_first_substitute_in_order_wins_and_later_ones_are_recorded() -> None:
    fired = fire(
        "pre_tool_call",
        {
            "a": {"substitute": {"result": "short"}},
            "b": {"substitute": {"result": {"content": "other", "is_error": True}}},
            "guard": {"decision": "ask"},
        },
        subscriber("b", {"replaces": True}, order=1),
        subscriber("a", {"replaces": True}, order=0),
        subscriber("guard", order=2),
    )
    outcome = fired.outcome
    assert fired.lines == ["ask a", "ask b", "ask guard"]
    assert outcome.substitute == ToolResult(content="short")
    assert outcome.substituted_by == "a"
    assert outcome.decision == "ask"
    assert outcome.parts[1].answer is not None
    assert outcome.parts[1].answer.substitute == {"result": {"content": "other", "is_error": True}}


def test_a_substitute_for_a_model_call_is_a_message() -> None:
    answer = {"substitute": {"response": {"role": "assistant", "content": "42"}}}
    outcome = fire(
        "pre_llm_call", {"a": answer}, subscriber("a", {"replaces": True}, event="pre_llm_call")
    ).outcome
    assert outcome.substitute == Message(role="assistant", content="42")


def test_replace_and_substitute_in_one_answer() -> None:
    answer: Any = {"replace": {"arguments": {}}, "substitute": {"result": "x"}}
    outcome = fire("pre_tool_call", {"a": answer}, subscriber("a", {"replaces": True})).outcome
    assert (outcome.payload, outcome.substitute) == (
        payload("pre_tool_call", arguments={}),
        ToolResult(content="x"),
    )


def test_what_is_denied_is_substituted_by_nothing() -> None:
    answers = {"a": {"substitute": {"result": "x"}}, "guard": {"decision": "deny"}}
    outcome = fire(
        "pre_tool_call", answers, subscriber("a", {"replaces": True}), subscriber("guard", order=1)
    ).outcome
    assert (outcome.substitute, outcome.substituted_by) == (None, None)


def test_null_means_absent_in_replace_and_substitute_too() -> None:
    answers: Any = {
        "a": {"replace": {"arguments": None}, "substitute": {"result": None}},
        "b": {"replace": {}, "substitute": {}},
    }
    outcome = fire(
        "pre_tool_call", answers, subscriber("a", {"replaces": True}), subscriber("b", order=1)
    ).outcome
    assert (outcome.payload, outcome.substituted_by) == (payload("pre_tool_call"), None)
    assert [part.status for part in outcome.parts] == ["answered", "answered"]


# -- context and continue_with
# -------------------------------------------------------------------------------------


def test_context_is_labelled_with_the_plugin_s_name_and_comes_in_order() -> None:
    answers = {"a": {"context": ["one", "two"]}, "b": {"context": ["", "three"], "decision": "ask"}}
    outcome = fire("pre_tool_call", answers, subscriber("a"), subscriber("b", order=1)).outcome
    assert [text.labelled() for text in outcome.context] == ["[a] one", "[a] two", "[b] three"]


def test_context_is_dropped_where_denied() -> None:
    outcome = fire(
        "pre_tool_call",
        {"a": {"context": ["x"]}, "b": {"decision": "deny"}},
        subscriber("a"),
        subscriber("b", order=1),
    ).outcome
    assert outcome.context == ()


def test_ten_thousand_characters_of_context_pass_whole() -> None:
    assert cut_context("a", ["x" * 4_000, "y" * 6_000]) == [
        Context("a", "x" * 4_000),
        Context("a", "y" * 6_000),
    ]


@pytest.mark.parametrize(
    ("texts", "kept"),
    [
        (["x" * 10_001], ["x" * 10_000 + " [cut: 1 of 10,001 characters]"]),
        (
            ["x" * 4_000, "y" * 7_000, "z"],
            ["x" * 4_000, "y" * 6_000 + " [cut: 1,001 of 11,001 characters]"],
        ),
        (["x" * 10_000, "", "y"], ["x" * 10_000 + " [cut: 1 of 10,001 characters]"]),
        (["語" * 20_000], ["語" * 10_000 + " [cut: 10,000 of 20,000 characters]"]),
    ],
)
def test_more_context_is_cut_and_said_so(texts: list[str], kept: list[str]) -> None:
    assert [text.text for text in cut_context("a", texts)] == kept


def test_the_limit_is_each_answer_s_own() -> None:
    outcome = fire(
        "pre_tool_call",
        {name: {"context": ["x" * 10_000]} for name in "ab"},
        subscriber("a"),
        subscriber("b", order=1),
    ).outcome
    assert [len(text.text) for text in outcome.context] == [10_000, 10_000]


def test_several_continue_with_are_joined_by_blank_lines() -> None:
    answers = {
        "a": {"continue_with": "Run the tests."},
        "b": None,
        "c": {"continue_with": "Then tidy up."},
    }
    outcome = fire(
        "stop",
        answers,
        *(subscriber(name, event="stop", order=order) for order, name in enumerate("abc")),
    ).outcome
    assert outcome.continue_with == "Run the tests.\n\nThen tidy up."


def test_null_is_absent_and_an_empty_text_is_not() -> None:
    assert (
        fire(
            "stop", {"a": {"continue_with": None}}, subscriber("a", event="stop")
        ).outcome.continue_with
        is None
    )
    assert (
        fire(
            "stop", {"a": {"continue_with": ""}}, subscriber("a", event="stop")
        ).outcome.continue_with
        == ""
    )


# -- answers that are refused
# --------------------------------------------------------------------------------------


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
    assert (part.status, part.answer and part.answer.meta_) == ("answered", {"rule": [1]})


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


# -- any fire
# -------------------------------------------------------------------------------------------------

TEXTS = ["x", "xy", "zz"]


@st.composite
def subscriptions(draw: st.DrawFn, event: str) -> dict[str, Any]:
    entry = CATALOGUE[event]
    mode = draw(st.sampled_from(["hook", "hook", "hook", "event"]))
    fields: dict[str, Any] = {"mode": mode, "priority": draw(st.integers(-1, 1))}
    if mode == "hook" and entry.replace:
        fields["replaces"] = draw(st.booleans())
    if "deny" in entry.decisions:
        fields["on_failure"] = draw(st.sampled_from(["open", "closed"]))
    if event == "user_prompt_submit" and draw(st.booleans()):
        fields["match"] = {"text": draw(st.sampled_from(["x*", "z*", "?", "*"]))}
    return fields


@st.composite
def answers(draw: st.DrawFn, event: str) -> Any:
    if draw(st.integers(0, 4)) == 0:
        return failed(draw(st.sampled_from(FAILURES)))
    fields: dict[str, Any] = {
        "decision": draw(st.sampled_from([None, "allow", "ask", "deny", "nonsense"])),
        "reason": draw(st.sampled_from([None, "because"])),
        "context": draw(st.sampled_from([None, ["c1"], ["c2", "c3"]])),
        "continue_with": draw(st.sampled_from([None, None, None, "more"])),
    }
    replace = {
        "user_prompt_submit": {"text": draw(st.sampled_from(TEXTS))},
        "pre_tool_call": {"arguments": {"n": draw(st.integers(0, 3))}},
    }
    fields["replace"] = draw(st.sampled_from([None, replace.get(event, {})]))
    fields["substitute"] = draw(st.sampled_from([None, None, {"result": "s"}]))
    kept = draw(st.sets(st.sampled_from(sorted(fields))))
    return {name: fields[name] for name in kept}


@st.composite
def fires(draw: st.DrawFn) -> tuple[str, list[tuple[str, list[dict[str, Any]], Any]]]:
    event = draw(st.sampled_from(["pre_tool_call", "user_prompt_submit", "stop"]))
    count = draw(st.integers(0, 5))
    return event, [
        (
            f"p{number}",
            draw(st.lists(subscriptions(event), min_size=1, max_size=3)),
            draw(answers(event)),
        )
        for number in range(count)
    ]


def fails(event: str, answer: Any, *, first_phase: bool) -> bool:
    """Written after the catalogue, not after the code."""
    if isinstance(answer, Result):
        return True
    allowed = {
        "pre_tool_call": ["allow", "ask", "deny"],
        "user_prompt_submit": ["deny"],
        "stop": [],
    }[event]
    if answer.get("decision") is not None and answer["decision"] not in allowed:
        return True
    if answer.get("continue_with") is not None and event != "stop":
        return True
    if answer.get("context") and event == "stop":
        return True
    if answer.get("substitute") and (event != "pre_tool_call" or not first_phase):
        return True
    return bool(answer.get("replace")) and (event == "stop" or not first_phase)


def glob_matches(pattern: str, text: str) -> bool:
    return {"x*": text.startswith("x"), "z*": text.startswith("z"), "?": len(text) == 1, "*": True}[
        pattern
    ]


class Model:
    """The rules of section 6 of the protocol, once more and plainly."""

    def __init__(
        self, event: str, plugins: list[tuple[str, list[dict[str, Any]], Any]], text: str
    ) -> None:
        self.event, self.plugins = event, plugins
        self.text: str = text
        self.arguments: Any = {"command": "ls"}
        self.decisions: list[str] = []
        self.context: list[str] = []
        self.reasons: list[str] = []
        self.continues: list[str] = []
        self.substituted_by: str | None = None
        self.rounds: list[tuple[list[str], list[str]]] = []
        self._run()

    def _first(self, subs: list[dict[str, Any]]) -> int | None:
        return next(
            (
                i
                for i, sub in enumerate(subs)
                if all(glob_matches(glob, self.text) for glob in sub.get("match", {}).values())
            ),
            None,
        )

    def _run(self) -> None:
        order = sorted(
            (
                (sub["priority"], number, index)
                for number, (_, subs, _) in enumerate(self.plugins)
                for index, sub in enumerate(subs)
            ),
            key=lambda one: (-one[0], one[1], one[2]),
        )
        done: set[int] = set()
        for _, number, index in order:
            name, subs, answer = self.plugins[number]
            if number not in done and subs[index].get("replaces") and self._first(subs) == index:
                done.add(number)
                self.rounds.append(([name], []))
                self._take(name, subs[index], answer, first_phase=True)
                if "deny" in self.decisions:
                    break
        denied = "deny" in self.decisions
        asked: list[tuple[str, dict[str, Any], Any]] = []
        told: list[str] = []
        for _, number, index in order:
            name, subs, answer = self.plugins[number]
            if number not in done and self._first(subs) == index:
                done.add(number)
                if subs[index]["mode"] == "event":
                    told.append(name)
                elif not denied:
                    asked.append((name, subs[index], answer))
        if asked or told:
            self.rounds.append(([name for name, _, _ in asked], told))
        for name, sub, answer in asked:
            self._take(name, sub, answer, first_phase=False)

    def _take(self, name: str, sub: dict[str, Any], answer: Any, *, first_phase: bool) -> None:
        if fails(self.event, answer, first_phase=first_phase):
            if sub.get("on_failure") == "closed":
                self.decisions.append("deny")
                self.reasons.append(name)
            return
        decision = answer.get("decision")
        if decision is not None and not (first_phase and decision == "allow"):
            self.decisions.append(decision)
        if answer.get("reason") or decision == "deny":
            self.reasons.append(name)
        self.context += answer.get("context") or []
        if answer.get("continue_with"):
            self.continues.append(answer["continue_with"])
        replace: dict[str, Any] = answer.get("replace") or {}
        self.text = replace.get("text", self.text)
        self.arguments = replace.get("arguments", self.arguments)
        if answer.get("substitute") and self.substituted_by is None:
            self.substituted_by = name


def play(
    policy: Policy, answer_of: Callable[[str], Result], arrival: Callable[[int], list[int]]
) -> tuple[Outcome, list[Round]]:
    """Play a fire as a host does: a round's answers arrive in any order, and count together."""
    rounds: list[Round] = []
    results: list[Result] | None = None
    while True:
        try:
            todo = next(policy) if results is None else policy.send(results)
        except StopIteration as stop:
            return stop.value, rounds
        rounds.append(todo)
        arrived: dict[int, Result] = {}
        for index in arrival(len(todo.asks)):
            arrived[index] = answer_of(todo.asks[index].subscriber.plugin)
        results = [arrived[index] for index in range(len(todo.asks))]


@given(fires(), st.sampled_from(TEXTS), st.randoms(use_true_random=False), st.data())
def test_any_fire_comes_out_as_the_rules_say(
    what: tuple[str, list[tuple[str, list[dict[str, Any]], Any]]],
    text: str,
    random: Random,
    data: st.DataObject,
) -> None:
    event, plugins = what
    about = payload(event, text=text) if event == "user_prompt_submit" else payload(event)
    answer_by_name = {
        name: answer if isinstance(answer, Result) else answered(answer)
        for name, _, answer in plugins
    }
    subscribers = [
        subscriber(name, *subs, event=event, order=order)
        for order, (name, subs, _) in enumerate(plugins)
    ]

    def shuffled(count: int) -> list[int]:
        order = list(range(count))
        random.shuffle(order)
        return order

    given_order = data.draw(st.permutations(subscribers))
    outcome, rounds = play(
        dispatch(CATALOGUE[event], about, given_order), answer_by_name.__getitem__, shuffled
    )
    again, _ = play(
        dispatch(CATALOGUE[event], about, subscribers),
        answer_by_name.__getitem__,
        lambda count: list(range(count)),
    )
    assert outcome == again, (
        "who answers first, and in what order the subscribers are listed, does not matter"
    )

    model = Model(event, plugins, text)
    assert [
        (
            [ask.subscriber.plugin for ask in todo.asks],
            [tell.subscriber.plugin for tell in todo.tells],
        )
        for todo in rounds
    ] == model.rounds
    ranked = [decision for decision in ("deny", "ask", "allow") if decision in model.decisions]
    assert outcome.decision == (ranked[0] if ranked else None)
    assert [reason.plugin for reason in outcome.reasons] == model.reasons
    denied = outcome.decision == "deny"
    assert [text.text for text in outcome.context] == ([] if denied else model.context)
    assert outcome.substituted_by == (None if denied else model.substituted_by)
    assert (outcome.continue_with or "") == "\n\n".join(model.continues)
    assert getattr(outcome.payload, "text", model.text) == model.text
    assert getattr(outcome.payload, "arguments", model.arguments) == model.arguments

    met = [plugin for asked, told in model.rounds for plugin in (*asked, *told)]
    assert len(met) == len(set(met)), "at most one delivery a plugin"
    assert [part.plugin for part in outcome.parts] == met
    for todo in rounds:
        for tell in todo.tells:
            assert tell.payload == outcome.payload, "who is told gets the final payload"
    failed_closed = [
        part for part in outcome.parts if part.error is not None and part.decision == "deny"
    ]
    assert not failed_closed or denied, "a closed failure is never permissive"


ANSWERS: Final[list[Any]] = [
    None,
    {},
    {"decision": "allow"},
    {"decision": "ask", "reason": "hm"},
    {"decision": "deny"},
    {"decision": "deny", "reason": "no", "context": ["x"]},
    {"context": ["a", "b"]},
    {"replace": {"arguments": {}}},
    {"desicion": "deny"},
    [],
    failed(),
    failed("crashed", "it died"),
]


@pytest.mark.parametrize("answer", ANSWERS, ids=repr)
@pytest.mark.parametrize("on_failure", ["open", "closed"])
def test_one_answer_merged_alone_is_what_the_whole_policy_makes_of_it(
    answer: Any, on_failure: str
) -> None:
    one, about = subscriber("guard", {"on_failure": on_failure}), payload("pre_tool_call")
    result = answer if isinstance(answer, Result) else answered(answer)
    alone = merge_one(
        CATALOGUE["pre_tool_call"],
        about,
        one,
        one.routes[0],
        msgspec.structs.replace(result, raw=raw(result)),
    )
    assert alone == Fired("pre_tool_call", [one], {"guard": answer}, about=about).outcome


def raw(result: Result) -> msgspec.Raw | None:
    """As it comes from a connection."""
    return msgspec.Raw(result.raw) if result.raw is not None else None
