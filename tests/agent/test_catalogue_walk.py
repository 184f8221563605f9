"""The real loop fires every entry of the catalogue, with the documented payload.

It is walked on every way through it and out of it.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Final, cast

import msgspec
import pytest

from sliphook.testing import Received
from sliphook_sdk.protocol import CATALOGUE
from tests.agent import walks
from tests.agent.grammar import faults

KEY_FIELDS: Final[dict[str, tuple[str, ...]]] = {
    "session_start": ("source", "model"),
    "session_reset": ("cause",),
    "session_end": ("reason", "turns", "model_calls", "tool_calls", "usage"),
    "turn_start": ("index",),
    "user_prompt_submit": ("source", "text"),
    "pre_llm_call": ("call_index", "model"),
    "post_llm_call": ("call_index", "finish_reason", "substituted_by", "usage"),
    "llm_call_failed": ("call_index", "attempt", "kind", "status", "message", "will_retry"),
    "pre_tool_call": ("tool_name", "origin", "model_call_id", "arguments"),
    "post_tool_call": ("tool_name", "started", "status", "result"),
    "stop": ("turn_count", "stop_count", "last_assistant_message"),
    "agent_loop_stopped": ("reason", "invalidation_reason", "inflight"),
    "turn_end": ("outcome", "interrupt_count", "model_calls", "usage", "last_assistant_message"),
    "notification": ("level", "source", "message"),
    "user_input_required": ("kind", "prompt"),
    "user_input_received": ("kind", "choice", "by"),
    "subagent_start": ("goal",),
    "subagent_stop": ("status", "summary"),
}
"""What a story tells of each entry.

A new one needs a line here and a way in `walks` that fires it.
"""


@cache
def walked(way: str) -> tuple[Received, ...]:
    return tuple(walks.walk(way))


def told(fired: Iterable[Received]) -> str:
    """A story, a line for each hook or event, indented by the depth of the agent."""
    return "\n".join(
        "  " * one.params["agent_depth"]
        + " ".join([one.name, *(_short(one.params[field]) for field in KEY_FIELDS[one.name])])
        for one in fired
    )


def _short(value: Any) -> str:
    """A value in one word, if possible.

    Of usage it has the counts, of a result the text, of what was under way how much there was.
    """
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        if "input_tokens" in fields:
            return "/".join(
                _short(fields[key]) for key in ("input_tokens", "output_tokens", "cached_tokens")
            )
        if "is_error" in fields:
            return _short(fields["content"])
        if "llm" in fields:
            tools, requests = len(fields["tools"]), len(fields["requests"])
            return f"llm={_short(fields['llm'])},tools={tools},requests={requests}"
    if isinstance(value, str) and re.fullmatch(r"[\w.-]+", value):
        return value
    return json.dumps(value)


def unfit(message: Received) -> list[str]:
    """How a payload differs from the catalogue: in its fields, their types or their order."""
    entry = CATALOGUE[message.name]
    wrong: list[str] = []
    if message.method not in (f"{entry.kind}/{entry.name}", f"event/{entry.name}"):
        wrong.append(f"it came as {message.method}")
    if ("timeout_s" in message.params) != message.method.startswith("hook/"):
        wrong.append("timeout_s is for hooks that are asked")
    declared = [field for field in entry.payload.__struct_fields__ if field in message.params]
    missing = [
        field.name
        for field in msgspec.structs.fields(entry.payload)
        if field.default is msgspec.NODEFAULT and field.name not in declared
    ]
    if list(message.params) != declared or missing:
        wrong.append(f"its fields are {list(message.params)}, without {missing}")
    try:
        understood = msgspec.to_builtins(
            msgspec.convert(message.params, entry.payload, strict=True)
        )
    except msgspec.ValidationError as error:
        return [*wrong, str(error)]
    if _without_nulls(understood) != _without_nulls(message.params):
        wrong.append(f"it says more than the catalogue knows: {message.params}")
    return wrong


def _without_nulls(value: Any) -> Any:
    """Absent and null are the same."""
    if isinstance(value, dict):
        return {
            key: _without_nulls(inner)
            for key, inner in cast("dict[str, Any]", value).items()
            if inner is not None
        }
    if isinstance(value, list):
        return [_without_nulls(inner) for inner in cast("Sequence[Any]", value)]
    return value


def unfired(catalogue: Mapping[str, object], walked: Iterable[Sequence[Received]]) -> list[str]:
    fired = {message.name for messages in walked for message in messages}
    return [name for name in catalogue if name not in fired]


SAYINGS: Final = {
    "<circles>": "the model goes in circles: it has called look 4 times in a row, "
    "with the same results",
    "<unapproved>": "host: a person must approve this, and nobody can be asked",
    "<unfinished>": "the child agent did not finish",
}
"""Texts that are too long for a line of a story."""

STORIES: Final = {
    "completed": """
    session_start startup m-1
    turn_start 1
    user_prompt_submit user work
    pre_llm_call 1 scripted
    llm_call_failed 1 1 stream null "broke off" true
    notification warning agent "broke off; asking again in 0.5 s"
    post_llm_call 1 tool_calls null 5/2/null
    pre_tool_call ship probe call_2_1 {}
    user_input_required approval "Run ship? probe: Friday"
    user_input_received approval allow user
    post_tool_call ship true ok shipped
    pre_llm_call 2 scripted
    post_llm_call 2 tool_calls null 5/2/null
    pre_tool_call delegate agent call_3_1 {"goal": "look around"}
    subagent_start "look around"
      turn_start 1
      pre_llm_call 1 scripted
      post_llm_call 1 tool_calls null 5/2/null
      pre_tool_call look agent call_4_1 {}
      post_tool_call look true ok "nothing new"
      pre_llm_call 2 scripted
      post_llm_call 2 stop null 7/null/null
      turn_end completed 0 2 12/2/null "all quiet"
    subagent_stop completed "all quiet"
    post_tool_call delegate true ok "all quiet"
    pre_llm_call 3 scripted
    post_llm_call 3 stop null 10/1/null
    stop 1 0 done
    pre_llm_call 4 scripted
    post_llm_call 4 stop null 10/1/null
    stop 1 1 done
    turn_end completed 0 6 42/8/null done
    session_end exit 1 6 3 42/8/null
    """,
    "interrupted_while_the_model_thinks": """
    session_start startup m-1
    turn_start 1
    user_prompt_submit user work
    pre_llm_call 1 scripted
    agent_loop_stopped user_stop stop_command llm=true,tools=0,requests=0
    turn_end interrupted 1 0 null/null/null null
    session_end exit 1 0 0 null/null/null
    """,
    "interrupted_while_the_model_speaks": """
    session_start startup m-1
    turn_start 1
    user_prompt_submit user work
    pre_llm_call 1 scripted
    agent_loop_stopped user_stop stop_command llm=true,tools=0,requests=0
    turn_end interrupted 1 0 null/null/null null
    session_end exit 1 0 0 null/null/null
    """,
    "interrupted_before_another_attempt": """
    session_start startup m-1
    turn_start 1
    user_prompt_submit user work
    pre_llm_call 1 scripted
    llm_call_failed 1 1 rate_limited 429 busy true
    notification warning agent "busy; asking again in 30 s"
    agent_loop_stopped user_stop stop_command llm=true,tools=0,requests=0
    turn_end interrupted 1 0 null/null/null null
    session_end exit 1 0 0 null/null/null
    """,
    "interrupted_in_tools": """
    session_start startup m-1
    turn_start 1
    user_prompt_submit user work
    pre_llm_call 1 scripted
    post_llm_call 1 tool_calls null null/null/null
    pre_tool_call look agent call_1_1 {}
    pre_tool_call sleep agent call_1_2 {}
    pre_tool_call sleep agent call_1_3 {}
    post_tool_call look true ok "nothing new"
    agent_loop_stopped user_stop stop_command llm=false,tools=2,requests=0
    post_tool_call sleep true cancelled null
    post_tool_call sleep true cancelled null
    turn_end interrupted 1 1 null/null/null "I look and sleep."
    session_end exit 1 1 3 null/null/null
    """,
    "interrupted_in_a_plugins_tool": """
    session_start startup m-1
    turn_start 1
    user_prompt_submit user work
    pre_llm_call 1 scripted
    post_llm_call 1 tool_calls null 5/2/null
    pre_tool_call ship probe call_1_1 {}
    agent_loop_stopped user_stop stop_command llm=false,tools=1,requests=1
    post_tool_call ship true cancelled null
    turn_end interrupted 1 1 5/2/null null
    session_end exit 1 1 1 5/2/null
    """,
    "interrupted_in_a_child": """
    session_start startup m-1
    turn_start 1
    user_prompt_submit user work
    pre_llm_call 1 scripted
    post_llm_call 1 tool_calls null 5/2/null
    pre_tool_call delegate agent call_1_1 {"goal": "look"}
    subagent_start look
      turn_start 1
      pre_llm_call 1 scripted
      post_llm_call 1 tool_calls null 5/2/null
      pre_tool_call delegate agent call_2_1 {"goal": "look closer"}
      subagent_start "look closer"
        turn_start 1
        pre_llm_call 1 scripted
        post_llm_call 1 tool_calls null 5/2/null
        pre_tool_call sleep agent call_3_1 {}
    agent_loop_stopped user_stop stop_command llm=false,tools=3,requests=0
        post_tool_call sleep true cancelled null
        turn_end interrupted 0 1 5/2/null null
      subagent_stop cancelled null
      post_tool_call delegate true cancelled null
      turn_end interrupted 0 2 10/4/null null
    subagent_stop cancelled null
    post_tool_call delegate true cancelled null
    turn_end interrupted 1 3 15/6/null null
    session_end exit 1 3 3 15/6/null
    """,
    "interrupted_while_a_person_thinks": """
    session_start startup m-1
    turn_start 1
    user_prompt_submit user work
    pre_llm_call 1 scripted
    post_llm_call 1 tool_calls null 5/2/null
    pre_tool_call ship probe call_1_1 {}
    user_input_required approval "Run ship? probe: Friday"
    agent_loop_stopped user_stop stop_command llm=false,tools=1,requests=0
    post_tool_call ship false cancelled null
    turn_end interrupted 1 1 5/2/null null
    session_end exit 1 1 1 5/2/null
    """,
    "interrupted_at_the_limit": """
    session_start startup m-1
    turn_start 1
    user_prompt_submit user work
    pre_llm_call 1 scripted
    post_llm_call 1 tool_calls null 5/2/null
    pre_tool_call look agent call_1_1 {}
    post_tool_call look true ok "nothing new"
    notification warning agent "model calls in this turn: 1"
    user_input_required max_iterations "model calls in this turn: 1. Go on?"
    agent_loop_stopped user_stop stop_command llm=false,tools=0,requests=0
    turn_end interrupted 1 1 5/2/null null
    session_end exit 1 1 1 5/2/null
    """,
    "failed": """
    session_start startup m-1
    turn_start 1
    user_prompt_submit user work
    pre_llm_call 1 scripted
    llm_call_failed 1 1 refused 401 "no such key" false
    notification error agent "no such key"
    turn_end failed 0 0 null/null/null null
    session_end exit 1 0 0 null/null/null
    """,
    "broken": """
    session_start startup m-1
    turn_start 1
    user_prompt_submit user work
    pre_llm_call 1 scripted
    turn_end failed 0 0 null/null/null null
    session_end error 1 0 0 null/null/null
    """,
    "prompt_denied": """
    session_start startup m-1
    turn_start 1
    user_prompt_submit user work
    turn_end denied 0 0 null/null/null null
    session_end exit 1 0 0 null/null/null
    """,
    "model_call_denied": """
    session_start startup m-1
    turn_start 1
    user_prompt_submit user work
    pre_llm_call 1 scripted
    llm_call_failed 1 1 denied null "probe: spent" false
    turn_end denied 0 0 null/null/null null
    session_end exit 1 0 0 null/null/null
    """,
    "tools_denied": """
    session_start startup m-1
    turn_start 1
    user_prompt_submit user work
    pre_llm_call 1 scripted
    post_llm_call 1 tool_calls null null/null/null
    pre_tool_call ship probe call_1_1 {}
    user_input_required approval "Run ship?"
    user_input_received approval deny user
    post_tool_call ship false denied "the call of ship was denied: user: declined"
    pre_llm_call 2 scripted
    post_llm_call 2 tool_calls null null/null/null
    pre_tool_call look agent call_2_1 {}
    post_tool_call look false denied "the call of look was denied: probe: do not look"
    pre_llm_call 3 scripted
    post_llm_call 3 stop null 10/1/null
    stop 1 0 done
    turn_end completed 0 3 10/1/null done
    session_end exit 1 3 2 10/1/null
    """,
    "tool_denied_for_nobody_can_be_asked": """
    session_start startup m-1
    turn_start 1
    user_prompt_submit user work
    pre_llm_call 1 scripted
    post_llm_call 1 tool_calls null 5/2/null
    pre_tool_call ship probe call_1_1 {}
    user_input_required approval "Run ship? probe: Friday"
    user_input_received approval deny none
    post_tool_call ship false denied "the call of ship was denied: probe: Friday; <unapproved>"
    pre_llm_call 2 scripted
    post_llm_call 2 stop null 10/1/null
    stop 1 0 done
    turn_end completed 0 2 15/3/null done
    session_end exit 1 2 1 15/3/null
    """,
    "child_denied": """
    session_start startup m-1
    turn_start 1
    user_prompt_submit user work
    pre_llm_call 1 scripted
    post_llm_call 1 tool_calls null 5/2/null
    pre_tool_call delegate agent call_1_1 {"goal": "look"}
    subagent_start look
      turn_start 1
      pre_llm_call 1 scripted
      llm_call_failed 1 1 denied null "probe: no children" false
      turn_end denied 0 0 null/null/null null
    subagent_stop denied null
    post_tool_call delegate true error "<unfinished>: the model call was denied: probe: no children"
    pre_llm_call 2 scripted
    post_llm_call 2 stop null 10/1/null
    stop 1 0 done
    turn_end completed 0 2 15/3/null done
    session_end exit 1 2 1 15/3/null
    """,
    "looped": """
    session_start startup m-1
    turn_start 1
    user_prompt_submit user work
    pre_llm_call 1 scripted
    post_llm_call 1 tool_calls null 5/2/null
    pre_tool_call look agent call_1_1 {}
    post_tool_call look true ok "nothing new"
    pre_llm_call 2 scripted
    post_llm_call 2 tool_calls null 5/2/null
    pre_tool_call look agent call_2_1 {}
    post_tool_call look true ok "nothing new"
    pre_llm_call 3 scripted
    post_llm_call 3 tool_calls null 5/2/null
    pre_tool_call look agent call_3_1 {}
    post_tool_call look true ok "nothing new"
    pre_llm_call 4 scripted
    post_llm_call 4 tool_calls null 5/2/null
    pre_tool_call look agent call_4_1 {}
    post_tool_call look true ok "nothing new"
    notification warning agent "<circles>"
    user_input_required question "<circles>. Go on?"
    user_input_received question allow user
    pre_llm_call 5 scripted
    post_llm_call 5 tool_calls null 5/2/null
    pre_tool_call look agent call_5_1 {}
    post_tool_call look true ok "nothing new"
    pre_llm_call 6 scripted
    post_llm_call 6 tool_calls null 5/2/null
    pre_tool_call look agent call_6_1 {}
    post_tool_call look true ok "nothing new"
    pre_llm_call 7 scripted
    post_llm_call 7 tool_calls null 5/2/null
    pre_tool_call look agent call_7_1 {}
    post_tool_call look true ok "nothing new"
    pre_llm_call 8 scripted
    post_llm_call 8 tool_calls null 5/2/null
    pre_tool_call look agent call_8_1 {}
    post_tool_call look true ok "nothing new"
    notification warning agent "<circles>"
    user_input_required question "<circles>. Go on?"
    user_input_received question deny user
    turn_end loop_detected 0 8 40/16/null null
    session_end exit 1 8 8 40/16/null
    """,
    "limited": """
    session_start startup m-1
    turn_start 1
    user_prompt_submit user work
    pre_llm_call 1 scripted
    post_llm_call 1 tool_calls null 5/2/null
    pre_tool_call look agent call_1_1 {}
    post_tool_call look true ok "nothing new"
    notification warning agent "model calls in this turn: 1"
    user_input_required max_iterations "model calls in this turn: 1. Go on?"
    user_input_received max_iterations allow user
    pre_llm_call 2 scripted
    post_llm_call 2 tool_calls null 5/2/null
    pre_tool_call look agent call_2_1 {}
    post_tool_call look true ok "nothing new"
    notification warning agent "model calls in this turn: 2"
    user_input_required max_iterations "model calls in this turn: 2. Go on?"
    user_input_received max_iterations deny user
    turn_end max_iterations 0 2 10/4/null null
    session_end exit 1 2 2 10/4/null
    """,
    "limited_and_nobody_to_ask": """
    session_start startup m-1
    turn_start 1
    user_prompt_submit user work
    pre_llm_call 1 scripted
    post_llm_call 1 tool_calls null 5/2/null
    pre_tool_call look agent call_1_1 {}
    post_tool_call look true ok "nothing new"
    user_input_required max_iterations "model calls in this turn: 1. Go on?"
    user_input_received max_iterations deny none
    notification warning agent "model calls in this turn: 1; the turn ends, for nobody can be asked"
    turn_end max_iterations 0 1 5/2/null null
    session_end exit 1 1 1 5/2/null
    """,
    "begun_anew": """
    session_start startup m-1
    turn_start 1
    user_prompt_submit user work
    pre_llm_call 1 scripted
    post_llm_call 1 tool_calls null 5/2/null
    pre_tool_call sleep agent call_1_1 {}
    agent_loop_stopped reset new_command llm=false,tools=1,requests=0
    post_tool_call sleep true cancelled null
    turn_end interrupted 1 1 5/2/null null
    session_end reset 1 1 1 5/2/null
    session_reset new_command
    session_start reset m-1
    turn_start 1
    user_prompt_submit user again
    pre_llm_call 1 scripted
    post_llm_call 1 stop null 10/1/null
    stop 1 0 done
    turn_end completed 0 1 10/1/null done
    session_end exit 1 1 0 10/1/null
    """,
    "interrupted_in_session_start": """
    session_start startup m-1
    turn_start 1
    agent_loop_stopped user_stop stop_command llm=false,tools=0,requests=0
    turn_end interrupted 1 0 null/null/null null
    session_end exit 1 0 0 null/null/null
    """,
    "interrupted_in_user_prompt_submit": """
    session_start startup m-1
    turn_start 1
    user_prompt_submit user work
    agent_loop_stopped user_stop stop_command llm=false,tools=0,requests=1
    turn_end interrupted 1 0 null/null/null null
    session_end exit 1 0 0 null/null/null
    """,
    "interrupted_in_pre_llm_call": """
    session_start startup m-1
    turn_start 1
    user_prompt_submit user work
    pre_llm_call 1 scripted
    agent_loop_stopped user_stop stop_command llm=false,tools=0,requests=1
    turn_end interrupted 1 0 null/null/null null
    session_end exit 1 0 0 null/null/null
    """,
    "interrupted_in_pre_tool_call": """
    session_start startup m-1
    turn_start 1
    user_prompt_submit user work
    pre_llm_call 1 scripted
    post_llm_call 1 tool_calls null 5/2/null
    pre_tool_call look agent call_1_1 {}
    agent_loop_stopped user_stop stop_command llm=false,tools=1,requests=1
    post_tool_call look false cancelled null
    turn_end interrupted 1 1 5/2/null null
    session_end exit 1 1 1 5/2/null
    """,
    "interrupted_in_post_tool_call": """
    session_start startup m-1
    turn_start 1
    user_prompt_submit user work
    pre_llm_call 1 scripted
    post_llm_call 1 tool_calls null 5/2/null
    pre_tool_call look agent call_1_1 {}
    post_tool_call look true ok "nothing new"
    agent_loop_stopped user_stop stop_command llm=false,tools=0,requests=1
    turn_end interrupted 1 1 5/2/null null
    session_end exit 1 1 1 5/2/null
    """,
    "interrupted_in_stop": """
    session_start startup m-1
    turn_start 1
    user_prompt_submit user work
    pre_llm_call 1 scripted
    post_llm_call 1 stop null 10/1/null
    stop 1 0 done
    agent_loop_stopped user_stop stop_command llm=false,tools=0,requests=1
    turn_end interrupted 1 1 10/1/null done
    session_end exit 1 1 0 10/1/null
    """,
    "interrupted_in_subagent_start": """
    session_start startup m-1
    turn_start 1
    user_prompt_submit user work
    pre_llm_call 1 scripted
    post_llm_call 1 tool_calls null 5/2/null
    pre_tool_call delegate agent call_1_1 {"goal": "look"}
    subagent_start look
    agent_loop_stopped user_stop stop_command llm=false,tools=1,requests=1
    subagent_stop cancelled null
    post_tool_call delegate true cancelled null
    turn_end interrupted 1 1 5/2/null null
    session_end exit 1 1 1 5/2/null
    """,
}


def test_every_entry_is_fired() -> None:
    assert unfired(CATALOGUE, map(walked, walks.WALKS)) == []


def test_an_entry_that_nothing_fires_is_found() -> None:
    assert unfired({"turn_start": None, "coffee_break": None}, [walked("failed")]) == [
        "coffee_break"
    ]


def test_every_way_has_its_story() -> None:
    assert list(STORIES) == list(walks.WALKS)


@pytest.mark.parametrize("way", STORIES)
def test_the_story_of_a_way(way: str) -> None:
    story = textwrap.dedent(STORIES[way]).strip()
    for short, saying in SAYINGS.items():
        story = story.replace(short, saying)
    assert told(walked(way)) == story


@pytest.mark.parametrize("way", walks.WALKS)
def test_every_payload_is_what_the_catalogue_says(way: str) -> None:
    assert {
        f"{message.params['seq']} {message.name}": wrong
        for message in walked(way)
        if (wrong := unfit(message))
    } == {}


@pytest.mark.parametrize("way", walks.WALKS)
def test_every_way_keeps_to_the_grammar(way: str) -> None:
    sessions = dict.fromkeys(message.params["session_id"] for message in walked(way))
    for session_id in sessions:
        assert (
            faults(
                [message for message in walked(way) if message.params["session_id"] == session_id]
            )
            == []
        )


CHANGES: Final[dict[str, Callable[[list[Received]], list[Received]]]] = {
    "turn_end is lost": lambda fired: [one for one in fired if one.name != "turn_end"],
    "turn_end comes twice": lambda fired: fired[:-1] + fired[-2:],
    "a post_tool_call is lost": lambda fired: _without(fired, "post_tool_call"),
    "a subagent_stop is lost": lambda fired: _without(fired, "subagent_stop"),
    "an answer of the person is lost": lambda fired: _without(fired, "user_input_received"),
    "session_end is lost": lambda fired: fired[:-1],
    "session_start is lost": lambda fired: fired[1:],
    "the user's prompt is not submitted": lambda fired: _without(fired, "user_prompt_submit"),
    "a model call comes to nothing": lambda fired: _without(fired, "post_llm_call"),
    "a model call was not asked about": lambda fired: _without(fired, "pre_llm_call"),
    "the prompt comes after the model call": lambda fired: [
        *fired[:2],
        fired[3],
        fired[2],
        *fired[4:],
    ],
    "a tool is done before it was asked about": lambda fired: [
        *fired[:7],
        fired[10],
        *fired[8:10],
        fired[7],
        *fired[11:],
    ],
    "no plugin was asked whether the model may stop": lambda fired: [
        one for one in fired if one.name != "stop"
    ],
    "the child's turn begins before the child": lambda fired: [
        *fired[:14],
        fired[15],
        fired[14],
        *fired[16:],
    ],
    "an interrupt in a turn that was completed": lambda fired: [
        *fired[:3],
        _named(fired[2], "agent_loop_stopped"),
        *fired[3:],
    ],
}


def _without(fired: list[Received], name: str) -> list[Received]:
    at = next(at for at, one in enumerate(fired) if one.name == name)
    return fired[:at] + fired[at + 1 :]


def _named(message: Received, name: str) -> Received:
    return Received(method=f"event/{name}", params=message.params)


@pytest.mark.parametrize("change", CHANGES)
def test_the_grammar_finds_what_is_wrong(change: str) -> None:
    fired = CHANGES[change](list(walked("completed")))
    numbered = [
        Received(method=one.method, params={**one.params, "seq": seq})
        for seq, one in enumerate(fired, 1)
    ]
    assert faults(numbered) != []


def test_the_grammar_finds_a_gap() -> None:
    assert faults(_without(list(walked("completed")), "notification"))[0].startswith(
        "seq is not 1, 2, 3"
    )


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"outcome": "finished"}, "Invalid enum value 'finished' - at `$.outcome`"),
        ({"model_calls": "2"}, "Expected `int`, got `str` - at `$.model_calls`"),
        ({"mood": "good"}, "its fields are"),
        (
            {"usage": {"input_tokens": 1, "output_tokens": 1, "cached_tokens": None, "cost": 3}},
            "it says more than the catalogue knows",
        ),
        ({"timeout_s": 5.0}, "timeout_s is for hooks that are asked"),
    ],
)
def test_a_payload_that_is_not_as_documented_is_found(params: dict[str, Any], says: str) -> None:
    turn_end = next(one for one in walked("failed") if one.name == "turn_end")
    assert unfit(Received(method=turn_end.method, params={**turn_end.params, **params}))[
        0
    ].startswith(says)


def test_a_payload_that_lacks_a_field_is_found() -> None:
    turn_end = next(one for one in walked("failed") if one.name == "turn_end")
    params = {name: value for name, value in turn_end.params.items() if name != "duration_ms"}
    assert unfit(Received(method=turn_end.method, params=params))[0].endswith(
        "without ['duration_ms']"
    )
