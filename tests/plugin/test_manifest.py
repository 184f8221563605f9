"""A plugin's manifest: what is declared, what null means, and every way to get it wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sliphook.plugin.checks import ManifestError
from sliphook.plugin.manifest import read_manifest
from sliphook.plugin.tools import read_tools
from sliphook_sdk.protocol import ToolSpec

from .manifests import LEAST, read, refused, refused_subscription, subscribe

# -- what may be left out
# ------------------------------------------------------------------------------------------


def test_only_the_version_and_the_name_are_required() -> None:
    manifest = read()
    assert manifest.name == "guard"
    assert manifest.routes == {}
    assert manifest.tools == ()
    assert manifest.commands == ()
    assert (manifest.uses, manifest.env) == (frozenset(), ())


def test_null_means_absent() -> None:
    nothing = dict.fromkeys(
        [
            "version",
            "description",
            "subscriptions",
            "tools",
            "commands",
            "uses",
            "env",
            "config_schema",
            "disabled",
        ],
    )
    assert read(**nothing) == read()
    of_a_subscription: dict[str, Any] = dict.fromkeys(
        [
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
        ],
    )
    assert subscribe(**of_a_subscription) == subscribe()
    tool = {"name": "t"}
    assert (
        read(tools=[{**tool, "description": None, "input_schema": None, "timeout_s": None}]).tools
        == read(tools=[tool]).tools
    )


def test_the_defaults_of_a_subscription() -> None:
    route = subscribe()
    assert route.mode == "hook"
    assert route.patterns == ()
    assert route.timeout_s == 5.0
    assert route.on_failure == "closed"
    assert route.priority == 0
    assert route.replaces is False
    assert route.include == frozenset()
    assert route.subagents is True
    assert route.index == 0
    assert subscribe("turn_end").mode == "event"


@pytest.mark.parametrize(
    ("event", "on_failure", "subagents"),
    [
        ("session_start", "open", False),
        ("user_prompt_submit", "open", False),
        ("pre_llm_call", "open", True),
        ("post_llm_call", "open", True),
        ("llm_call_failed", "open", True),
        ("pre_tool_call", "closed", True),
        ("post_tool_call", "open", True),
        ("stop", "open", False),
        ("turn_end", "open", False),
        ("notification", "open", False),
        ("user_input_required", "open", True),
        ("user_input_received", "open", True),
        ("subagent_start", "open", False),
    ],
)
def test_the_catalogue_decides_where_the_subscription_is_silent(
    event: str, on_failure: str, subagents: bool
) -> None:
    route = subscribe(event)
    assert (route.on_failure, route.subagents) == (on_failure, subagents)
    assert subscribe(event, subagents=not subagents).subagents is not subagents


def test_what_a_subscription_says_counts() -> None:
    route = subscribe(mode="event", timeout_s=600, on_failure="open", priority=-7, subagents=False)
    assert route.mode == "event"
    assert route.timeout_s == 600.0
    assert route.on_failure == "open"
    assert route.priority == -7
    assert route.subagents is False
    assert subscribe("pre_llm_call", replaces=True, include=["messages"]).include == {"messages"}


def test_subscriptions_keep_their_order_a_name() -> None:
    manifest = read(
        subscriptions=[{"event": "stop"}, {"event": "turn_end"}, {"event": "stop", "priority": 9}]
    )
    assert [(route.index, route.priority) for route in manifest.routes["stop"]] == [(0, 0), (2, 9)]
    assert list(manifest.routes) == ["stop", "turn_end"]


def test_unknown_fields_are_ignored_everywhere_but_in_subscriptions() -> None:
    manifest = read(
        later={"x": 1},
        tools=[{"name": "t", "later": 1}],
        commands=[{"name": "c", "later": 1}],
        env=[{"name": "E", "later": 1}],
    )
    assert manifest.tools[0].name == "t"
    assert manifest.commands[0].name == "c"
    assert manifest.env[0].name == "E"
    assert subscribe(_meta={"free": [1]}) == subscribe()


def test_tools_get_their_defaults() -> None:
    (tool,) = read(tools=[{"name": "t"}]).tools
    assert tool.description == ""
    assert tool.input_schema == {"type": "object"}
    assert tool.timeout_s == 30.0
    (tool,) = read(tools=[{"name": "t", "input_schema": {"properties": {"a": {}}}}]).tools
    assert tool.input_schema == {"type": "object", "properties": {"a": {}}}


# -- every error names what is right
# -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "nearest"),
    [
        ("on_failur", "on_failure"),
        ("onFailure", "on_failure"),
        ("timeout", "timeout_s"),
        ("Match", "match"),
        ("prio", "priority"),
        ("events", "event"),
    ],
)
def test_a_misspelt_field_of_a_subscription_names_the_nearest(field: str, nearest: str) -> None:
    why = refused(subscriptions=[{"event": "stop"}, {"event": "pre_tool_call", field: 1}])
    assert why == (
        f"the manifest does not fit: Object contains unknown field `{field}` - at "
        f"`$.subscriptions[1]`; did you mean {nearest}?"
    )


def test_a_field_that_is_near_to_none_is_still_an_error() -> None:
    assert refused_subscription(zzzzzz=None).endswith(
        "unknown field `zzzzzz` - at `$.subscriptions[0]`"
    )


@pytest.mark.parametrize(
    ("event", "hint"),
    [
        ("pre_tool_cal", "did you mean pre_tool_call?"),
        ("pre-tool-call", "did you mean pre_tool_call?"),
        ("Stop", "did you mean stop?"),
        ("turn_ended", "did you mean turn_end?"),
        ("", "`sliphook events` lists them"),
        ("xyzzy", "`sliphook events` lists them"),
    ],
)
def test_an_unknown_name_names_the_nearest(event: str, hint: str) -> None:
    assert (
        refused_subscription(event)
        == f"subscription 1 ({event}): this host fires no such hook or event; {hint}"
    )


def test_an_unknown_name_that_is_optional_is_left_out() -> None:
    assert read(
        subscriptions=[
            {"event": "of_the_future", "optional": True},
            {"event": "stop", "optional": True},
        ]
    ).routes.keys() == {"stop"}


def test_a_name_that_this_host_does_not_fire_is_unknown() -> None:
    raw = json.dumps({**LEAST, "subscriptions": [{"event": "stop"}]}).encode()
    with pytest.raises(
        ManifestError, match=r"subscription 1 \(stop\): this host fires no such hook or event"
    ):
        read_manifest(raw, fires=["turn_end"])


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        (
            {"mode": "hok"},
            "Invalid enum value 'hok' - at `$.subscriptions[0].mode`; there are hook, event",
        ),
        (
            {"on_failure": "close"},
            "Invalid enum value 'close' - at `$.subscriptions[0].on_failure`; there are "
            "open, closed",
        ),
        (
            {"on_failure": ""},
            "Invalid enum value '' - at `$.subscriptions[0].on_failure`; there are open, closed",
        ),
        ({"replaces": 1}, "Expected `bool | null`, got `int` - at `$.subscriptions[0].replaces`"),
        (
            {"priority": 1.5},
            "Expected `int | null`, got `float` - at `$.subscriptions[0].priority`",
        ),
        (
            {"timeout_s": "2"},
            "Expected `float | null`, got `str` - at `$.subscriptions[0].timeout_s`",
        ),
        (
            {"timeout_s": True},
            "Expected `float | null`, got `bool` - at `$.subscriptions[0].timeout_s`",
        ),
        (
            {"match": "write_*"},
            "Expected `object | null`, got `str` - at `$.subscriptions[0].match`",
        ),
        (
            {"match": {"tool_name": 7}},
            "Expected `str | array | null`, got `int` - at `$.subscriptions[0].match[...]`",
        ),
    ],
)
def test_a_value_of_the_wrong_kind_says_where_it_is(fields: dict[str, Any], why: str) -> None:
    assert refused_subscription(**fields) == f"the manifest does not fit: {why}"


def test_a_use_that_cannot_be_granted_names_those_that_can() -> None:
    why = refused(uses=["notify", "injct"])
    assert why == (
        "the manifest does not fit: Invalid enum value 'injct' - at `$.uses[1]`; there "
        "are notify, tools, inject, interrupt, submit, route, approve, ask"
    )
    assert read(uses=["notify", "tools", "inject", "interrupt", "notify"]).uses == {
        "notify",
        "tools",
        "inject",
        "interrupt",
    }


def test_a_wrong_word_of_megabytes_is_cut_and_takes_no_time() -> None:
    for word in ("x" * 4_000_000, " - at `$." * 400_000, "\x1b[2J" * 500_000):
        assert "…" in refused_subscription(mode=word)
        assert "…" in refused(subscriptions=[{"event": "stop", word: 1}])
        assert "…" in refused_subscription(word)
        assert "…" in refused_subscription(match={word: "x"})
        assert "…" in refused_subscription(include=[word])
        assert "…" in refused(name=word)


def test_hook_on_an_event_is_an_error() -> None:
    assert refused_subscription("turn_end", mode="hook") == (
        "subscription 1 (turn_end): turn_end is an event, which is told and cannot be "
        "answered; leave out mode"
    )


def test_closed_needs_a_hook_that_can_deny() -> None:
    assert "on_failure closed needs a hook that can deny, and stop cannot" in refused_subscription(
        "stop", on_failure="closed"
    )
    assert (
        "on_failure closed needs a hook that can deny, and turn_end cannot"
        in refused_subscription("turn_end", on_failure="closed")
    )
    assert subscribe("user_prompt_submit", on_failure="closed").on_failure == "closed"


@pytest.mark.parametrize(
    ("event", "fields"),
    [("stop", {}), ("session_start", {}), ("turn_end", {}), ("pre_tool_call", {"mode": "event"})],
)
def test_replaces_needs_a_hook_whose_answer_may_replace(event: str, fields: dict[str, Any]) -> None:
    assert "replaces needs a hook whose answer may replace" in refused_subscription(
        event, replaces=True, **fields
    )
    assert not subscribe(event, replaces=False, **fields).replaces


def test_include_names_heavy_fields_only_and_says_which_there_are() -> None:
    assert refused_subscription("pre_llm_call", include=["tools", "mesages"]) == (
        "subscription 1 (pre_llm_call): include names 'mesages',"
        " which is no heavy field of pre_llm_call; there are tools, messages"
    )
    assert refused_subscription("stop", include=["messages"]).endswith(
        "include names 'messages', which is no heavy field of stop; there are none"
    )


@pytest.mark.parametrize("timeout_s", [0, -1, 0.049, 600.0001, 1e300, -0.0])
def test_a_timeout_out_of_range_is_an_error_and_never_clamped(timeout_s: float) -> None:
    why = refused_subscription(timeout_s=timeout_s)
    assert why == (
        f"timeout_s of subscription 1 (pre_tool_call) is {float(timeout_s)}; it must be 0.05 to 600"
    )
    why = refused(tools=[{"name": "t", "timeout_s": timeout_s}])
    assert why == f"timeout_s of the tool t is {float(timeout_s)}; it must be 0.05 to 600"


@pytest.mark.parametrize("literal", ["NaN", "Infinity", "1e999"])
def test_a_timeout_that_is_no_number_is_an_error(literal: str) -> None:
    subscription = '{"event":"stop","timeout_s":' + literal + "}"
    raw = '{"protocol_version":1,"name":"g","subscriptions":[' + subscription + "]}"
    with pytest.raises(ManifestError, match="the manifest does not fit"):
        read_manifest(raw.encode())


@pytest.mark.parametrize("timeout_s", [float("nan"), float("inf"), -float("inf")])
def test_a_tool_s_timeout_that_is_no_number_is_an_error(timeout_s: float) -> None:
    with pytest.raises(ManifestError, match=r"must be 0\.05 to 600"):
        read_tools([ToolSpec(name="t", timeout_s=timeout_s)])


def test_the_ends_of_the_range_are_in_it() -> None:
    assert (subscribe(timeout_s=0.05).timeout_s, subscribe(timeout_s=600).timeout_s) == (
        0.05,
        600.0,
    )


@pytest.mark.parametrize("version", [0, 2, -1, 99])
def test_a_version_that_this_host_does_not_speak_shows_both_sides_whatever_else_has_changed(
    version: int,
) -> None:
    with pytest.raises(ManifestError) as caught:
        read_manifest(
            json.dumps(
                {"protocol_version": version, "title": "of another time", "subscriptions": {}}
            ).encode()
        )
    assert str(caught.value) == f"it speaks version {version} of the protocol, this host speaks 1"


@pytest.mark.parametrize(
    "raw",
    [
        b"null",
        b"[]",
        b"7",
        b'"x"',
        b"{}",
        b'{"name":"g"}',
        b'{"protocol_version":1}',
        b'{"protocol_version":"1","name":"g"}',
        b"{",
        b"\xff",
    ],
)
def test_what_is_no_manifest_is_said_to_be_none(raw: bytes) -> None:
    with pytest.raises(ManifestError, match="the manifest does not fit: "):
        read_manifest(raw)


@pytest.mark.parametrize("name", ["guard", "0", "a-b_c", "a" * 64])
def test_names_of_plugins(name: str) -> None:
    assert read(name=name).name == name


@pytest.mark.parametrize("name", ["", "Guard", "_a", "-a", "a b", "a.b", "é", "a\n", "a" * 65])
def test_a_name_that_no_plugin_may_have(name: str) -> None:
    assert refused(name=name).endswith("does not fit [a-z0-9][a-z0-9_-]{0,63}")


@pytest.mark.parametrize("name", ["", "a b", "a.b", "é", "a\n", "a" * 65])
def test_a_name_that_no_tool_may_have(name: str) -> None:
    assert refused(tools=[{"name": name}]).endswith("does not fit [A-Za-z0-9_-]{1,64}")


def test_names_of_tools_are_what_model_apis_accept() -> None:
    assert [
        tool.name
        for tool in read(tools=[{"name": "Get-It_2"}, {"name": "_"}, {"name": "a" * 64}]).tools
    ] == [
        "Get-It_2",
        "_",
        "a" * 64,
    ]


@pytest.mark.parametrize("name", ["", "Deploy", "0a", "_a", "/a", "a\n", "a" * 33])
def test_a_name_that_no_command_may_have(name: str) -> None:
    assert refused(commands=[{"name": name}]).endswith("does not fit [a-z][a-z0-9_-]{0,31}")


@pytest.mark.parametrize("name", ["stop", "new", "reset", "quit", "exit", "help"])
def test_the_agent_s_own_commands_are_reserved(name: str) -> None:
    assert (
        refused(commands=[{"name": name}])
        == f"the command /{name} is the agent's own; give it another name"
    )


def test_a_name_stands_once() -> None:
    assert (
        refused(tools=[{"name": "t"}, {"name": "u"}, {"name": "t"}])
        == "the tool t is declared twice"
    )
    assert refused(commands=[{"name": "c"}, {"name": "c"}]) == "the command c is declared twice"


@pytest.mark.parametrize("type_", ["string", None, ["object", "null"]])
def test_a_tool_takes_an_object(type_: Any) -> None:
    assert (
        refused(tools=[{"name": "t", "input_schema": {"type": type_}}])
        == "the input_schema of the tool t must describe an object"
    )


def test_a_refusal_says_the_first_near_misses_too() -> None:
    unknown = {f"of_mine_{number}": 1 for number in range(1_000)}
    why = refused(descripton="x", uses=["injct"], **unknown)
    assert why == (
        "the manifest does not fit: Invalid enum value 'injct' - at `$.uses[0]`; there are notify,"
        " tools, inject, interrupt, submit, route, approve, ask; also: the manifest has the unknown"
        " field 'descripton', which is ignored; did you mean description?; the manifest has the"
        " unknown field 'of_mine_0', which is ignored; the manifest has the unknown field"
        " 'of_mine_1', which is ignored"
    )
    assert "also" not in refused(descripton="x", protocol_version=2)
