"""The order of asking, and how answers merge: transcripts of fires, and a model for random ones."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec
import pytest

from sliphook.dispatch import policy
from sliphook.dispatch.answers import cut_context
from sliphook.dispatch.audience import Subscriber, first_match
from sliphook.dispatch.outcome import Context, Outcome, Reason
from sliphook.plugin.route import Route
from sliphook_sdk.protocol import Message, Payload, ToolResult

from .fires import failed, fire, payload, subscriber

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


def test_to_be_told_never_takes_the_place_of_being_asked() -> None:
    fired = fire("pre_tool_call", {}, subscriber("one", {"mode": "event"}, {}))
    assert fired.lines == ["ask one"]


def test_the_subscriptions_of_a_plugin_are_gone_through_once_for_a_payload(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each may have 256, and those of fifty plugins are looked at in one stretch."""
    looks: Counter[str] = Counter()

    def look(one: Subscriber, about: Payload) -> Route | None:
        looks[one.plugin] += 1
        return first_match(one, about)

    monkeypatch.setattr(policy, "first_match", look)
    many = [{"match": {"model": f"m{number}"}, "replaces": True} for number in range(255)]
    subscribers = [
        subscriber(name, *many, {"replaces": name == "a"}, event="pre_llm_call") for name in "abc"
    ]
    assert fire("pre_llm_call", {}, *subscribers).lines == ["ask a", "ask b c"]
    assert looks == {"a": 1, "b": 1, "c": 1}
    fire("pre_llm_call", {"a": {"replace": {"model": "big"}}}, *subscribers)
    assert looks == {"a": 2, "b": 3, "c": 3}


def test_a_replacer_does_not_take_part_again_in_the_second_phase() -> None:
    """A plugin is asked once per fire."""
    fired = fire(
        "pre_tool_call",
        {},
        subscriber("one", {"replaces": True}, {"on_failure": "open"}),
        subscriber("two", order=1),
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
    """protocol.md: a match is against the payload after the replacements."""
    fired = fire(
        "pre_llm_call",
        {"replacer": {"replace": {"model": "big"}}},
        subscriber("replacer", {"replaces": True}, event="pre_llm_call"),
        subscriber("before", {"match": {"model": "small"}}, event="pre_llm_call", order=1),
        subscriber("after", {"match": {"model": "big"}}, event="pre_llm_call", order=2),
        about=payload("pre_llm_call", model="small"),
    )
    assert fired.lines == ["ask replacer", "ask after"]


def test_a_guard_that_replaces_and_matches_only_in_the_end_is_asked_but_replaces_no_more() -> None:
    """A replacement by another plugin must not carry a payload past the guard that it concerns."""
    subscribers = [
        subscriber(
            "guard",
            {"replaces": True, "priority": 9, "match": {"model": "big"}},
            event="pre_llm_call",
        ),
        subscriber("other", {"replaces": True}, event="pre_llm_call", order=1),
    ]
    answers = {
        "other": {"replace": {"model": "big"}},
        "guard": {"decision": "deny", "reason": "not the big one"},
    }
    fired = fire("pre_llm_call", answers, *subscribers)
    assert (fired.lines, fired.outcome.reason) == (
        ["ask other", "ask guard"],
        "guard: not the big one",
    )
    answers["guard"] = {"replace": {"model": "small"}}
    part = fire("pre_llm_call", answers, *subscribers).outcome.parts[1]
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
        (["x"] * 19_000, ["x"] * 63 + ["x [cut: 18,936 of 19,000 characters]"]),
        ([""] * 64 + ["x"], ["[cut: 1 of 1 characters]"]),
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
