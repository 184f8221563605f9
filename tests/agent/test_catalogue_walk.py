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
from tests.docs.protocol_sentences.says import says

from .stories import SAYINGS, STORIES

KEY_FIELDS: Final[dict[str, tuple[str, ...]]] = {
    "session_start": ("source", "model"),
    "session_reset": ("cause",),
    "session_end": ("reason", "turns", "model_calls", "tool_calls", "usage"),
    "turn_start": ("index", "submitted_by"),
    "user_prompt_submit": ("source", "text"),
    "pre_llm_call": ("call_index", "attempt", "model"),
    "post_llm_call": ("call_index", "finish_reason", "substituted_by", "routed_by", "usage"),
    "llm_call_failed": ("call_index", "attempt", "kind", "status", "message", "will_retry"),
    "pre_tool_call": ("tool_name", "origin", "model_call_id", "arguments"),
    "post_tool_call": ("tool_name", "started", "status", "result"),
    "stop": ("turn_count", "stop_count", "last_assistant_message"),
    "agent_loop_stopped": ("reason", "invalidation_reason", "inflight"),
    "submission_end": ("by", "outcome", "reply"),
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


def test_the_agent_says_what_its_own_tools_do_and_not_what_a_plugins_does() -> None:
    calls = [one.params for one in walked("completed") if one.name.endswith("_tool_call")]
    assert {(call["tool_name"], call["tool_kind"]) for call in calls} == {
        ("ship", None),
        ("delegate", "agent"),
        ("look", "read"),
    }


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


@says(
    "The order of fires in one session, as a grammar (`*` any number, `+` at least one, `?` at most"
    " one, `|` or):",
    "After a failed attempt there may be another one; if there is none, the turn ends.",
    "If a `stop` is answered with `continue_with`, the model goes on.",
    "Events that happen at their own time (`notification`, `user_input_*`, `subagent_*`,"
    " `agent_loop_stopped`, `submission_end`) come in between.",
    "The `turn_end` of a submitted message comes right behind its `submission_end`.",
    "Whatever happens, each `turn_start` has exactly one `turn_end`, each `pre_tool_call` exactly one"
    " `post_tool_call`, each `subagent_start` exactly one `subagent_stop`, and each `session_start`"
    " one `session_end`.",
)
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
