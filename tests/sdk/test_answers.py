"""What answers are, how they are joined, and where they are allowed."""

from __future__ import annotations

import msgspec
import pytest

import sliphook_sdk
from sliphook_sdk import (
    Answer,
    AnswerError,
    allow,
    ask,
    context,
    continue_with,
    deny,
    replace,
    substitute,
)
from sliphook_sdk.protocol import CATALOGUE
from sliphook_sdk.registration.answers import check_answer
from tests.docs.protocol_sentences.says import says


def test_each_function_says_one_thing() -> None:
    assert allow() == Answer(decision="allow")
    assert allow("fine") == Answer(decision="allow", reason="fine")
    assert deny("no") == Answer(decision="deny", reason="no")
    assert ask("sure?") == Answer(decision="ask", reason="sure?")
    assert replace(text="other") == Answer(replace={"text": "other"})
    assert substitute(result={"content": "x"}) == Answer(substitute={"result": {"content": "x"}})
    assert context("a", "b") == Answer(context=["a", "b"])
    assert continue_with("go on") == Answer(continue_with="go on")


def test_the_package_gives_the_function_and_not_a_module() -> None:
    assert callable(sliphook_sdk.context)


def test_answers_are_joined() -> None:
    joined = allow("fine") | context("a") | replace(model="m") | context("b") | replace(tools=[])
    assert joined == Answer(
        decision="allow", reason="fine", context=["a", "b"], replace={"model": "m", "tools": []}
    )


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        (allow(), deny("no"), "decision"),
        (continue_with("a"), continue_with("b"), "continue_with"),
        (replace(text="a"), replace(text="b"), "replace"),
        (substitute(result="1"), substitute(result="2"), "substitute"),
    ],
)
def test_nothing_is_lost_in_joining(one: Answer, other: Answer, both: str) -> None:
    with pytest.raises(ValueError, match=f"both answers have `{both}`"):
        _ = one | other


ALLOWED = [
    ("session_start", context("x")),
    ("user_prompt_submit", deny("x")),
    ("user_prompt_submit", replace(text="x")),
    ("pre_llm_call", substitute(response={})),
    ("pre_tool_call", allow() | context("x")),
    ("pre_tool_call", ask("x")),
    ("post_tool_call", replace(result={})),
    ("stop", continue_with("x")),
    ("stop", Answer()),
    ("stop", Answer(reason="only a reason")),
]


@pytest.mark.parametrize(("hook", "answer"), ALLOWED)
def test_what_the_catalogue_allows_passes(hook: str, answer: Answer) -> None:
    check_answer(CATALOGUE[hook], answer, replaces=True)


FORBIDDEN = [
    ("session_start", deny("x"), "session_start takes no deny(); it takes context()"),
    (
        "user_prompt_submit",
        allow(),
        "user_prompt_submit takes no allow(); it takes deny(), replace(text=...), context()",
    ),
    (
        "user_prompt_submit",
        Answer(replace={"txt": "x"}),
        "user_prompt_submit takes no replace(txt=...); it takes deny(), replace(text=...), "
        "context()",
    ),
    (
        "post_tool_call",
        substitute(result={}),
        "post_tool_call takes no substitute(result=...); it takes replace(result=...), context()",
    ),
    ("stop", context("x"), "stop takes no context(); it takes continue_with()"),
    (
        "subagent_start",
        continue_with("x"),
        "subagent_start takes no continue_with(); it takes context()",
    ),
]


@pytest.mark.parametrize(("hook", "answer", "message"), FORBIDDEN)
def test_what_it_does_not_names_what_is(hook: str, answer: Answer, message: str) -> None:
    with pytest.raises(AnswerError) as caught:
        check_answer(CATALOGUE[hook], answer, replaces=True)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("answer", "verb"), [(replace(arguments={}), "replace"), (substitute(result={}), "substitute")]
)
def test_replacing_must_be_declared(answer: Answer, verb: str) -> None:
    with pytest.raises(AnswerError) as caught:
        check_answer(CATALOGUE["pre_tool_call"], answer, replaces=False)
    assert (
        str(caught.value)
        == f"{verb}() needs replaces=True in the decorator of the handler of pre_tool_call"
    )


@says("and leave out what you have no value for where you write.")
def test_what_has_no_value_is_left_out() -> None:
    answer = Answer(decision="deny", reason="not today")
    assert msgspec.json.encode(answer) == b'{"decision":"deny","reason":"not today"}'
