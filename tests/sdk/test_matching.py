"""Which handler a message is for."""

from __future__ import annotations

import fnmatch
from typing import Any, cast

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sliphook_sdk import Plugin, RegistrationError, context, deny
from sliphook_sdk.errors import RpcError
from sliphook_sdk.protocol import CATALOGUE, match_fields
from sliphook_sdk.protocol.answers import PreToolCallAnswer
from sliphook_sdk.protocol.describe import example_of
from sliphook_sdk.protocol.payloads import PreToolCall
from sliphook_sdk.registration.entry_handlers import EntryHandlers
from sliphook_sdk.registration.matching import Matcher
from sliphook_sdk.testing import Harness


def call(**fields: object) -> PreToolCall:
    return msgspec.convert({**example_of(PreToolCall), **fields}, PreToolCall)


@pytest.mark.parametrize(
    ("match", "fields", "fits"),
    [
        ({}, {}, True),
        ({"tool_name": "shell"}, {"tool_name": "shell"}, True),
        ({"tool_name": "shell"}, {"tool_name": "Shell"}, False),
        ({"tool_name": "shell"}, {"tool_name": "shell "}, False),
        ({"tool_name": ["a", "write_*"]}, {"tool_name": "write_file"}, True),
        ({"tool_name": ["a", "write_*"]}, {"tool_name": "rewrite_file"}, False),
        ({"cwd": "/home/*"}, {"cwd": "/home/ada/x"}, True),
        ({"cwd": "*"}, {"cwd": "a\nb"}, True),
        ({"cwd": "*"}, {"cwd": None}, False),
        ({"tool_name": "a.c"}, {"tool_name": "abc"}, False),
        ({"tool_name": "[ab]"}, {"tool_name": "a"}, False),
        ({"tool_name": "?"}, {"tool_name": "é"}, True),
        ({"tool_kind": "shell"}, {"tool_kind": "shell"}, True),
        ({"tool_kind": ["read", "edit"]}, {"tool_kind": "shell"}, False),
        ({"tool_kind": "shell"}, {"tool_kind": None}, True),
        ({"tool_kind": "shell", "cwd": "*"}, {"tool_kind": None, "cwd": None}, False),
        ({"tool_name": "s*", "platform": "api"}, {"tool_name": "shell", "platform": "cli"}, False),
    ],
)
def test_patterns(match: dict[str, str | list[str]], fields: dict[str, object], fits: bool) -> None:
    assert Matcher(match).fits(call(**fields)) is fits


@given(st.text("ab*?.", max_size=6), st.text("ab.", max_size=8))
def test_patterns_are_those_of_a_shell_without_classes(pattern: str, name: str) -> None:
    assert Matcher({"tool_name": pattern}).fits(call(tool_name=name)) is fnmatch.fnmatchcase(
        name, pattern
    )


def test_the_fields_that_hold_names_and_words() -> None:
    common = ("session_key", "platform", "user_id", "cwd")
    assert match_fields(CATALOGUE["pre_tool_call"]) == (*common, "tool_name", "tool_kind", "origin")
    assert match_fields(CATALOGUE["stop"]) == common
    assert match_fields(CATALOGUE["turn_end"]) == ("outcome",)


def test_free_text_is_refused_with_advice() -> None:
    plugin = Plugin("p")
    with pytest.raises(RegistrationError, match=r"cannot match 'text': it is free text.*handler$"):

        @plugin.hook("user_prompt_submit", match=cast("Any", {"text": "deploy*"}))
        def prompt(call: object) -> None:
            pass


def test_the_first_that_fits_is_asked() -> None:
    plugin = Plugin("p")

    @plugin.hook("pre_tool_call", match={"tool_name": "a*"})
    def first(call: PreToolCall) -> PreToolCallAnswer:
        return context("first")

    @plugin.hook("pre_tool_call", match={"tool_name": "*b"}, subagents=False)
    def second(call: PreToolCall) -> PreToolCallAnswer:
        return context("second")

    @plugin.hook("pre_tool_call", match={"tool_name": "*b"})
    def third(call: PreToolCall) -> PreToolCallAnswer:
        return context("third")

    harness = Harness(plugin)
    assert harness.fire("pre_tool_call", tool_name="ab") == context("first")
    assert harness.fire("pre_tool_call", tool_name="bb") == context("second")
    assert harness.fire("pre_tool_call", tool_name="bb", agent_depth=1) == context("third")
    assert harness.fire("pre_tool_call", tool_name="cc") is None


def test_none_that_fits_is_an_error_and_no_abstention() -> None:
    """The host has asked, so it found that one fits; to abstain would open a guard."""
    plugin = Plugin("p")

    @plugin.hook("pre_tool_call", match={"tool_name": "a*"})
    def first(call: PreToolCall) -> None: ...

    @plugin.hook("pre_tool_call", match={"tool_name": "b*"})
    def second(call: PreToolCall) -> PreToolCallAnswer:
        return deny("no")

    handlers = EntryHandlers(CATALOGUE["pre_tool_call"], plugin.hooks)
    with pytest.raises(RpcError, match="no handler's match fits this pre_tool_call"):
        handlers.to_ask(call(tool_name="cc"))


def test_all_that_fit_are_told() -> None:
    plugin = Plugin("p")
    told: list[str] = []

    @plugin.on("post_tool_call", match={"tool_name": "a*"})
    def first(call: object) -> None:
        told.append("first")

    @plugin.on("post_tool_call")
    def second(call: object) -> None:
        told.append("second")

    harness = Harness(plugin)
    harness.tell("post_tool_call", tool_name="ab")
    harness.tell("post_tool_call", tool_name="bb")
    harness.tell("post_tool_call", tool_name="ab", agent_depth=1)
    assert told == ["first", "second", "second", "first", "second"]
