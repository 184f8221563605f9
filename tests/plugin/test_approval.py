"""What a plugin asks for beyond what was approved."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sliphook.plugin.approval import asks_for_more
from sliphook.plugin.checks import ManifestError
from sliphook.plugin.manifest import ReadManifest, read_manifest


def manifest(*subscriptions: dict[str, Any], **fields: Any) -> ReadManifest:
    whole = {"protocol_version": 1, "name": "guard", "subscriptions": list(subscriptions), **fields}
    return read_manifest(msgspec.json.encode(whole))


def guard(**fields: Any) -> dict[str, Any]:
    return {"event": "pre_tool_call", "on_failure": "closed", **fields}


OPEN_FOR_SHELL = {
    "event": "pre_tool_call",
    "on_failure": "open",
    "match": {"tool_name": "shell"},
}

FULL = manifest(
    guard(match={"tool_name": ["shell", "write_*"]}),
    {"event": "post_tool_call", "replaces": True, "match": {"tool_name": "web"}},
    tools=[{"name": "deploy"}],
    uses=["inject"],
    env=[{"name": "TOKEN"}],
)


@pytest.mark.parametrize(
    ("declared", "more"),
    [
        (FULL, []),
        (manifest(guard()), []),
        (
            manifest(
                guard(match={"tool_name": ["write_*", "shell", "x"]}, timeout_s=0.1, priority=-3)
            ),
            [],
        ),
        (manifest(guard(match={"tool_name": "*"})), []),
        (
            manifest(
                guard(),
                tools=[{"name": "deploy", "description": "other"}],
                commands=[{"name": "new-one"}],
            ),
            [],
        ),
        (manifest(guard(), {"event": "turn_start"}, {"event": "stop"}), []),
        (
            manifest(
                guard(),
                {
                    "event": "post_tool_call",
                    "replaces": True,
                    "match": {"tool_name": "web", "origin": "*"},
                },
            ),
            [],
        ),
        (
            manifest(
                guard(),
                tools=[{"name": "undo"}, {"name": "deploy"}],
                uses=["notify", "inject", "interrupt"],
                env=[{"name": "KEY"}, {"name": "TOKEN"}],
            ),
            ["the tool undo", "the use of interrupt", "the use of notify", "the variable KEY"],
        ),
        (manifest(guard(replaces=True)), ["to replace in pre_tool_call"]),
        (
            manifest(guard(), {"event": "post_tool_call", "replaces": True}),
            ["to replace in post_tool_call"],
        ),
        (
            manifest(
                guard(),
                {
                    "event": "post_tool_call",
                    "replaces": True,
                    "match": {"tool_name": ["web", "shell"]},
                },
            ),
            ["to replace in post_tool_call"],
        ),
        (manifest(), ["not to guard pre_tool_call as before"]),
        (
            manifest({"event": "pre_tool_call", "on_failure": "open"}),
            ["not to guard pre_tool_call as before"],
        ),
        (
            manifest({"event": "pre_tool_call", "mode": "event"}),
            ["not to guard pre_tool_call as before"],
        ),
        (manifest(guard(match={"tool_name": "shell"})), ["not to guard pre_tool_call as before"]),
        (manifest(guard(match={"origin": "*"})), ["not to guard pre_tool_call as before"]),
        (manifest(guard(subagents=False)), ["not to guard pre_tool_call as before"]),
        # the first that matches is delivered to, so an open one before the guard takes its place
        (
            manifest(OPEN_FOR_SHELL, guard(priority=1)),
            ["not to guard pre_tool_call as before"],
        ),
        (manifest(guard(), {"event": "pre_tool_call", "on_failure": "open", "priority": 1}), []),
        # to be told takes no place
        (manifest({"event": "pre_tool_call", "mode": "event"}, guard()), []),
        (manifest(guard(), {"event": "pre_tool_call", "on_failure": "open"}), []),
    ],
)
def test_what_is_more(declared: ReadManifest, more: list[str]) -> None:
    assert asks_for_more(FULL, declared) == more


def test_another_server_is_more() -> None:
    def wants(*servers: str) -> ReadManifest:
        return manifest(uses=["route"], servers=list(servers))

    before = wants("gpu.lan", "127.0.0.1:8080")
    assert asks_for_more(before, wants("GPU.lan:9", "gpu.lan", "127.0.0.1:8080")) == []
    assert asks_for_more(before, wants("127.0.0.1", "gpu2.lan")) == [
        "to send model calls to 127.0.0.1",
        "to send model calls to gpu2.lan",
    ]


def test_an_open_one_that_stood_before_the_guard_already_may_stay() -> None:
    before = manifest(
        {"event": "pre_tool_call", "on_failure": "open", "match": {"tool_name": ["a", "b"]}},
        guard(),
    )
    fewer = manifest(
        {"event": "pre_tool_call", "on_failure": "open", "match": {"tool_name": "a"}}, guard()
    )
    assert asks_for_more(before, fewer) == []
    assert asks_for_more(fewer, before) == ["not to guard pre_tool_call as before"]


def test_a_guard_that_is_not_asked_before_further_attempts_is_weaker() -> None:
    once, again = (
        {"event": "pre_llm_call", "on_failure": "closed"} | more
        for more in ({}, {"attempts": True})
    )
    assert asks_for_more(manifest(again), manifest(once)) == ["not to guard pre_llm_call as before"]
    assert asks_for_more(manifest(once), manifest(again)) == []
    before = {"event": "pre_llm_call", "match": {"model": "small"}}
    approved, declared = manifest(before, again), manifest({**before, "attempts": True}, again)
    assert asks_for_more(approved, declared) == ["not to guard pre_llm_call as before"]
    replaces = [manifest({**one, "replaces": True}) for one in (once, again)]
    assert asks_for_more(*replaces) == ["to replace in pre_llm_call"]


def test_the_only_tools_guard_by_default() -> None:
    assert asks_for_more(
        manifest({"event": "pre_tool_call"}), manifest({"event": "user_prompt_submit"})
    ) == ["not to guard pre_tool_call as before"]
    assert asks_for_more(manifest({"event": "user_prompt_submit"}), manifest()) == []


GLOBS = st.sampled_from(["*", "shell", "write_*", "?"])
SUBSCRIPTIONS: Any = st.fixed_dictionaries(
    {"event": st.sampled_from(["pre_tool_call", "user_prompt_submit"])},
    optional={
        "on_failure": st.sampled_from(["open", "closed"]),
        "priority": st.integers(-1, 1),
        "replaces": st.booleans(),
        "subagents": st.booleans(),
    },
)


@st.composite
def manifests(draw: st.DrawFn) -> ReadManifest:
    subscriptions: list[dict[str, Any]] = draw(st.lists(SUBSCRIPTIONS, max_size=4))
    for one in subscriptions:
        globs = draw(st.lists(GLOBS, max_size=2))
        if globs and one["event"] == "pre_tool_call":
            one["match"] = {"tool_name": globs}
        if not one.get("replaces") and draw(st.booleans()):
            one["mode"] = "event"
    tools = [{"name": name} for name in draw(st.lists(st.sampled_from("abc"), unique=True))]
    env = [{"name": name} for name in draw(st.lists(st.sampled_from("ABC"), unique=True))]
    uses = draw(st.lists(st.sampled_from(["notify", "tools", "inject", "interrupt"]), unique=True))
    try:
        return manifest(*subscriptions, tools=tools, uses=uses, env=env)
    except ManifestError as error:
        assume("would never be asked" not in str(error))
        raise


@given(manifests())
def test_the_same_is_never_more(one: ReadManifest) -> None:
    assert asks_for_more(one, one) == []


@given(manifests(), manifests(), manifests())
def test_what_is_no_more_than_no_more_is_no_more(
    first: ReadManifest, second: ReadManifest, third: ReadManifest
) -> None:
    if not asks_for_more(first, second) and not asks_for_more(second, third):
        rights = [
            line for line in asks_for_more(first, third) if not line.startswith("not to guard")
        ]
        assert rights == []


@given(manifests(), manifests(), st.sampled_from(["shell", "write_x", "y"]), st.integers(0, 1))
def test_where_nothing_is_more_every_guard_still_guards(
    approved: ReadManifest, declared: ReadManifest, tool: str, depth: int
) -> None:
    if asks_for_more(approved, declared):
        return
    for event in ("pre_tool_call", "user_prompt_submit"):
        if guards(approved, event, tool, depth):
            assert guards(declared, event, tool, depth), event


def guards(one: ReadManifest, event: str, tool: str, depth: int) -> bool:
    """The subscription that gets the fire fails closed.

    A second opinion: the rules of the protocol, tried on one payload.
    """
    routes = sorted(
        one.routes.get(event, ()), key=lambda route: (route.mode == "event", route.index)
    )
    for route in routes:
        fits = all(
            pattern.globs.fits(tool) for pattern in route.patterns if pattern.field == "tool_name"
        )
        if fits and (route.subagents or depth == 0):
            return route.mode == "hook" and route.on_failure == "closed"
    return False
