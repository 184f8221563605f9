"""The patterns of `match`: what they match, and that no pattern can hold the agent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sliphook.plugin.checks import ManifestError
from sliphook.plugin.manifest import read_manifest
from sliphook_sdk.protocol import CATALOGUE, Globs, match_fields
from sliphook_sdk.protocol.describe import example_of

from .manifests import payload, read, refused_subscription, subscribe


@pytest.mark.parametrize(
    ("globs", "name", "matches"),
    [
        ("shell", "shell", True),
        ("shell", "Shell", False),
        ("shell", "shells", False),
        ("write_*", "write_file", True),
        ("write_*", "write_", True),
        ("*", "", True),
        ("**", "x", True),
        ("?", "", False),
        ("?", "/", True),
        ("src/*", "src/a/b", True),
        ("a*b*c", "a-b-b-c", True),
        ("a*b*c", "a-c-b", False),
        ("*a?c*", "xxabcxx", True),
        ("a*", "a\nb", True),
        ("?", "\n", True),
        ("a.c", "abc", False),
        ("[ab]", "a", False),
        ("[ab]", "[ab]", True),
        ("a|b", "a", False),
        ("", "", True),
        ("", "x", False),
        (["a", "b*"], "bcd", True),
        (["a", "b*"], "ab", False),
        (["a", "ab"], "ab", True),
    ],
)
def test_patterns(globs: str | list[str], name: str, matches: bool) -> None:
    assert subscribe(match={"platform": globs}).matches(payload(platform=name)) is matches


def test_all_fields_must_match() -> None:
    route = subscribe(match={"tool_name": "write_*", "origin": ["agent", "me"]})
    assert route.matches(payload(tool_name="write_file", origin="me"))
    assert not route.matches(payload(tool_name="write_file", origin="you"))
    assert not route.matches(payload(tool_name="read", origin="me"))
    assert subscribe(match={}).matches(payload())


def test_null_never_matches() -> None:
    assert not subscribe("stop", match={"platform": "*"}).matches(payload("stop", platform=None))
    assert subscribe("stop", match={"platform": "*"}).matches(payload("stop", platform=""))


def test_a_kind_that_nobody_says_fits_every_pattern_so_that_no_guard_is_passed_by() -> None:
    for event in ("pre_tool_call", "post_tool_call"):
        route = subscribe(event, match={"tool_kind": ["shell", "f*"]})
        kinds = ("shell", "fetch", "read", "other", None)
        fit = [kind for kind in kinds if route.matches(payload(event, tool_kind=kind))]
        assert fit == ["shell", "fetch", None]
    both = subscribe(match={"tool_kind": "shell", "origin": "agent"})
    assert not both.matches(payload(tool_kind=None, origin="me"))


def test_a_kind_that_there_is_not_is_refused_by_name() -> None:
    assert refused_subscription(match={"tool_kind": "bash"}).endswith(
        "match.tool_kind: the pattern 'bash' can fit nothing: tool_kind is one of shell, read, write,"
        " edit, fetch, search, agent, mcp, other"
    )
    assert refused_subscription("pre_llm_call", match={"tool_kind": "shell"}).endswith(
        "match names 'tool_kind', which is no string field of pre_llm_call; there are session_key,"
        " platform, user_id, cwd, provider, model"
    )


def test_an_origin_and_a_plugin_that_there_cannot_be_are_refused() -> None:
    assert refused_subscription(match={"origin": ["agent", "mcp"]}).endswith(
        "match.origin: the pattern 'mcp' can fit nothing: origin is agent, the name of a plugin, or a"
        " text with a colon, such as mcp:github; mcp:* fits all that are of MCP servers"
    )
    assert refused_subscription("user_prompt_submit", match={"submitted_by": "Remind"}).endswith(
        "the pattern 'Remind' can fit nothing: submitted_by is the name of a plugin,"
        " [a-z0-9][a-z0-9_-]{0,63}"
    )


def test_fields_of_a_few_words_can_be_matched() -> None:
    route = subscribe("post_tool_call", match={"status": ["error", "timed_out"]})
    assert route.matches(payload("post_tool_call", status="error"))
    assert not route.matches(payload("post_tool_call", status="ok"))


def test_only_string_fields_can_be_matched_or_the_guard_would_never_fire() -> None:
    for field in ("arguments", "meta", "seq", "agent_depth", "timeout_s"):
        assert (
            f"match names '{field}', which is no string field of pre_tool_call"
            in refused_subscription(match={field: "*rm*"})
        )
    for field in ("truncated", "messages", "tools"):
        assert f"match names '{field}', which is no string field" in refused_subscription(
            "pre_llm_call", match={field: "*"}
        )
    assert "match names 'usage', which is no string field" in refused_subscription(
        "turn_end", match={"usage": "*"}
    )


def test_every_field_that_can_be_matched_does_hold_a_string() -> None:
    for entry in CATALOGUE.values():
        fields = {info.name: info.type for info in msgspec.structs.fields(entry.payload)}
        assert not set(match_fields(entry)) & set(entry.heavy)
        for name in match_fields(entry):
            assert msgspec.convert(example_of(entry.payload)[name] or "text", fields[name])
            with pytest.raises(msgspec.ValidationError):
                msgspec.convert({}, fields[name])
            with pytest.raises(msgspec.ValidationError):
                msgspec.convert([], fields[name])


def test_a_misspelt_field_of_match_names_the_nearest() -> None:
    assert refused_subscription(match={"tool-name": "x"}).endswith(
        "no string field of pre_tool_call; did you mean tool_name?"
    )
    assert "there are session_key, platform, user_id, cwd" in refused_subscription(
        "stop", match={"xyzzy": "x"}
    )


def test_an_empty_list_of_patterns_is_an_error() -> None:
    assert "match.tool_name is an empty list, which never matches" in refused_subscription(
        match={"tool_name": []}
    )


GLOBS = st.text(alphabet="ab*?[]!.\n", max_size=8)


@given(st.lists(GLOBS, min_size=1, max_size=3), st.text(alphabet="ab[]!.\n", max_size=10))
def test_patterns_match_as_in_the_shell_without_classes(globs: list[str], text: str) -> None:
    def plainly(glob: str) -> bool:
        return fnmatchcase(text, glob.replace("[", "[[]"))

    assert subscribe(match={"platform": globs}).matches(payload(platform=text)) is any(
        map(plainly, globs)
    )


@pytest.mark.parametrize(
    ("event", "field"),
    [
        ("user_prompt_submit", "text"),
        ("stop", "last_assistant_message"),
        ("llm_call_failed", "message"),
        ("notification", "message"),
        ("user_input_required", "prompt"),
        ("user_input_received", "choice"),
        ("subagent_start", "goal"),
        ("pre_tool_call", "call_id"),
        ("pre_tool_call", "event_id"),
        ("session_reset", "old_session_id"),
    ],
)
def test_free_text_and_new_ids_are_looked_at_in_the_handler(event: str, field: str) -> None:
    """A text of any length would be searched at each fire, and a guard passed by padding it."""
    assert refused_subscription(event, match={field: "*"}).endswith(
        f"match names '{field}', which cannot be matched:"
        " it is free text, an id that is new each time, or a kind that may not be known;"
        " match it in the handler"
    )


@pytest.mark.parametrize(
    ("event", "fields"),
    [
        ("agent_loop_stopped", "reason"),
        ("turn_end", "outcome"),
        ("subagent_stop", "status"),
        ("post_tool_call", "tool_name, tool_kind, origin, status, substituted_by"),
    ],
)
def test_what_is_told_inside_an_interrupt_is_chosen_by_few_fields(event: str, fields: str) -> None:
    assert refused_subscription(event, match={"cwd": "*"}).endswith(
        f"match names 'cwd', which cannot be matched: {event} is told inside an interrupt,"
        f" where only {fields} can be looked at; match it in the handler"
    )
    assert all(subscribe(event, match={name: "*"}).patterns for name in fields.split(", "))


@pytest.mark.parametrize(("event", "most"), [("turn_end", 4), ("post_tool_call", 8)])
def test_what_is_told_inside_an_interrupt_has_few_subscriptions(event: str, most: int) -> None:
    assert len(read(subscriptions=[{"event": event}] * most).routes[event]) == most
    with pytest.raises(ManifestError) as refused:
        read(subscriptions=[{"event": event}] * (most + 1))
    assert str(refused.value) == (
        f"it has {most + 1} subscriptions to {event}, which is told inside an interrupt;"
        f" at most {most} are allowed"
    )


def test_of_a_field_of_a_few_words_those_that_fit_are_known_beforehand() -> None:
    route = subscribe("turn_end", match={"outcome": ["*ed", "f?i*"]})
    assert route.matches(payload("turn_end", outcome="interrupted"))
    assert not route.matches(payload("turn_end", outcome="max_iterations"))
    (pattern,) = route.patterns
    assert not pattern.globs.fits("x-y-ed")  # it is none of the words
    assert pattern.texts == {"*ed", "f?i*"}


def test_a_long_value_fits_every_pattern_so_that_no_guard_is_passed_by() -> None:
    for glob in ("shell", "write_*"):
        route = subscribe(match={"tool_name": glob})
        assert not route.matches(payload(tool_name="a" * 1_024))
        assert route.matches(payload(tool_name="a" * 1_025))


class Counted(str):
    """A text that counts how often one of its characters is taken."""

    taken = 0

    def __iter__(self) -> Iterator[str]:
        for char in super().__iter__():
            self.taken += 1
            yield char


@pytest.mark.parametrize(
    "glob",
    ["*a" * 40 + "*b", "*" * 50 + "b", "*?" * 40 + "*b", "a*" * 60 + "?b", f"*{'?' * 80}b*"],
)
def test_no_pattern_can_hold_the_agent(glob: str) -> None:
    """With backtracking each of these would run for years: here a character is taken once."""
    text = Counted("a" * 1_000)
    assert not Globs([glob]).fits(text)
    assert text.taken <= 1_000


def test_many_patterns_are_followed_together() -> None:
    text = Counted("a" * 1_000)
    assert not Globs([f"*a?{number:03x}*" for number in range(1_000)]).fits(text)
    assert text.taken <= 8_000  # 8,192 characters of patterns make eight groups


@given(st.lists(GLOBS, min_size=1, max_size=300), st.text(alphabet="ab[]!.\n", max_size=10))
def test_patterns_in_many_groups_match_like_one_by_one(globs: list[str], text: str) -> None:
    assert Globs(globs).fits(text) is any(Globs([glob]).fits(text) for glob in globs)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3),
        max_leaves=5,
    ),
    st.data(),
)
def test_whatever_stands_in_a_field_the_only_exception_is_ours(
    value: Any, data: st.DataObject
) -> None:
    names = [
        "event",
        "mode",
        "match",
        "timeout_s",
        "on_failure",
        "priority",
        "replaces",
        "include",
        "subagents",
        "optional",
        "_meta",
        "x",
    ]
    subscription = {
        "event": data.draw(st.sampled_from(list(CATALOGUE))),
        data.draw(st.sampled_from(names)): value,
    }
    fields = {
        "subscriptions": [subscription],
        data.draw(
            st.sampled_from(["tools", "commands", "uses", "env", "disabled", "version"])
        ): value,
    }
    why = None
    try:
        read(**fields)
    except ManifestError as error:
        why = str(error)
    assert why is None or (why != "" and why.isprintable())


def _manifest_with(**fields: object) -> bytes:
    return json.dumps({"protocol_version": 1, "name": "guard", **fields}).encode()


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        (
            {"subscriptions": [{"event": "turn_end"}] * 257},
            "it has 257 subscriptions; at most 256 are allowed",
        ),
        (
            {"subscriptions": [{"event": "pre_tool_call", "match": {"tool_name": ["a"] * 1001}}]},
            "its subscriptions have 1,001 patterns; at most 1,000 are allowed",
        ),
        (
            {
                "subscriptions": [
                    {"event": "pre_tool_call", "match": {"tool_name": ["*" * 4096, "a" * 4097]}}
                ]
            },
            "the patterns of its subscriptions have 8,193 characters; at most 8,192 are allowed",
        ),
        (
            {"tools": [{"name": f"t{number}"} for number in range(513)]},
            "it offers 513 tools; at most 512 are allowed",
        ),
        (
            {"tools": [{"name": "deploy", "input_schema": {"description": "x" * 65_519}}]},
            "the input_schema of the tool deploy is 65,537 bytes, over 65,536",
        ),
    ],
)
def test_a_manifest_cannot_hold_the_agent_by_its_size(fields: dict[str, object], says: str) -> None:
    with pytest.raises(ManifestError) as caught:
        read_manifest(_manifest_with(**fields))
    assert str(caught.value) == says


def test_a_null_pattern_is_absent() -> None:
    read = read_manifest(
        _manifest_with(subscriptions=[{"event": "pre_tool_call", "match": {"tool_name": None}}])
    )
    assert read.routes["pre_tool_call"][0].patterns == ()
