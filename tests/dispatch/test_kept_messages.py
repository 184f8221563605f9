"""Answers of `pre_llm_call` that keep messages of the payload and change the others."""

from __future__ import annotations

from typing import Any

import pytest

from sliphook.dispatch.outcome import Outcome
from sliphook_sdk.protocol import Message
from tests.docs.protocol_sentences.says import says

from .fires import fire, subscriber
from .fires import payload as payload_of

FOUR = [Message(role="user", content=text) for text in ("zero", "one", "two", "three")]
NEW = {"role": "user", "content": "new"}


def answered(messages: Any) -> Outcome:
    plugin = subscriber("a", {"replaces": True, "include": ["messages"]}, event="pre_llm_call")
    answer = {"replace": {"messages": messages}}
    about = payload_of("pre_llm_call", messages=FOUR)
    return fire("pre_llm_call", {"a": answer}, plugin, about=about).outcome


def texts(outcome: Outcome) -> list[str]:
    messages: Any = getattr(outcome.payload, "messages")  # noqa: B009
    return [message.content for message in messages]


@says(
    "**Messages**: a pair `[from, to]` in `replace.messages` keeps the payload's, counted from 0,"
    " `to` not among them.",
    "No pair begins before the one in front of it ends.",
)
@pytest.mark.parametrize(
    ("messages", "kept"),
    [
        ([[0, 1], NEW, [2, 4]], ["zero", "new", "two", "three"]),
        ([NEW, [0, 4]], ["new", "zero", "one", "two", "three"]),
        ([[3, 4], [4, 4]], ["three"]),
        ([], []),
    ],
)
def test_a_pair_keeps_messages(messages: Any, kept: list[str]) -> None:
    assert texts(answered(messages)) == kept


@pytest.mark.parametrize(
    ("messages", "why"),
    [
        ([[0, 5]], "replace.messages keeps [0, 5] of 4 messages; a pair is from 0 to 4 there"),
        ([[2, 1]], "replace.messages keeps [2, 1] of 4 messages; a pair is from 0 to 4 there"),
        ([[-1, 1]], "replace.messages keeps [-1, 1] of 4 messages; a pair is from 0 to 4 there"),
        # a conversation that doubles with each pair would have no bound
        ([[0, 4], [0, 4]], "replace.messages keeps [0, 4] of 4 messages; a pair is from 4 to 4"),
        ([[0]], "replace.messages does not fit: Expected `array` of length 2"),
        ([[0, "1"]], "replace.messages does not fit: Expected `int`, got `str`"),
    ],
)
def test_a_pair_that_is_no_range_is_a_failed_answer(messages: Any, why: str) -> None:
    outcome = answered(messages)
    assert texts(outcome) == ["zero", "one", "two", "three"]
    assert (outcome.parts[0].status, why in (outcome.parts[0].error or "")) == (
        "refused_answer",
        True,
    ), outcome.parts[0].error


def test_the_next_plugin_counts_in_what_the_one_before_has_left() -> None:
    def replacer(name: str, order: int) -> Any:
        fields: dict[str, Any] = {"replaces": True, "include": ["messages"]}
        return subscriber(name, fields, event="pre_llm_call", order=order)

    answers = {
        "a": {"replace": {"messages": [[2, 4]]}},
        "b": {"replace": {"messages": [[1, 2], NEW]}},
    }
    about = payload_of("pre_llm_call", messages=FOUR)
    fired = fire("pre_llm_call", answers, replacer("a", 1), replacer("b", 2), about=about)
    assert texts(fired.outcome) == ["three", "new"]
