"""The author's side of model calls: routes, further attempts, text before the answer."""

from __future__ import annotations

from typing import Any, cast

import pytest

from sliphook_sdk import Context, ModelRoute, Plugin, RegistrationError, replace, substitute
from sliphook_sdk.protocol import LlmFailure, Message, ProgressParams, Usage, Uses
from sliphook_sdk.protocol.answers import PreLlmCallReplacement
from sliphook_sdk.protocol.payloads import PreLlmCall, PreToolCall
from sliphook_sdk.testing import Harness, PluginError

SERVERS = ["127.0.0.1:8080"]


def test_a_plugin_routes_and_is_asked_again() -> None:
    plugin = Plugin("switch", uses=["route"], servers=SERVERS, env=["SWITCH_KEY"])
    seen: list[tuple[int | None, LlmFailure | None]] = []

    @plugin.hook("pre_llm_call", replaces=True, attempts=True)
    def local(call: PreLlmCall) -> PreLlmCallReplacement:
        seen.append((call.attempt, call.failure))
        there = ModelRoute(base_url="http://127.0.0.1:8080/v1", key_env="SWITCH_KEY")
        return replace(route=there, model="small")

    with Harness(plugin) as harness:
        manifest = harness.manifest()
        assert (manifest.uses, manifest.servers) == (["route"], SERVERS)
        (subscription,) = manifest.subscriptions or []
        assert (subscription.replaces, subscription.attempts) == (True, True)
        answer = harness.fire("pre_llm_call")
        assert answer is not None
        assert answer.replace == {
            "route": ModelRoute(base_url="http://127.0.0.1:8080/v1", key_env="SWITCH_KEY"),
            "model": "small",
        }
        failure = {"kind": "connection", "status": None, "message": "refused"}
        harness.fire("pre_llm_call", attempt=2, failure=failure)
    assert seen == [(1, None), (2, LlmFailure(kind="connection", message="refused"))]


def test_a_route_needs_its_grant() -> None:
    grants: list[tuple[list[Uses], list[Uses]]] = [([], ["route"]), (["route"], [])]
    for uses, granted in grants:
        plugin = Plugin("switch", uses=uses)
        plugin.hook("pre_llm_call", replaces=True)(elsewhere)
        with (
            Harness(plugin, granted=granted) as harness,
            pytest.raises(PluginError, match="needs uses="),
        ):
            harness.fire("pre_llm_call")


def elsewhere(call: PreLlmCall) -> PreLlmCallReplacement:
    return replace(route=ModelRoute(provider="router"))


def test_the_text_of_a_substitute_goes_ahead_in_pieces() -> None:
    plugin = Plugin("cache")
    text = "é" * 10_000

    @plugin.hook("pre_llm_call", replaces=True)
    def cached(call: PreLlmCall, *, ctx: Context) -> PreLlmCallReplacement:
        ctx.say("")
        ctx.say(text)
        ctx.say("x")
        return substitute(
            response=Message(role="assistant", content=f"{text}x."),
            usage=Usage(output_tokens=3),
            finish_reason="stop",
        )

    with Harness(plugin) as harness:
        assert harness.fire("pre_llm_call") is not None
        assert harness.sent == [
            ("$/progress", ProgressParams(id=1, text="é" * 8192)),
            ("$/progress", ProgressParams(id=1, text="é" * 1808)),
            ("$/progress", ProgressParams(id=1, text="x")),
        ]
        # told of it after an interrupt, the same handler says nothing
        harness.tell("pre_llm_call")
        assert len(harness.sent) == 3


def test_only_a_model_call_has_a_text() -> None:
    plugin = Plugin("guard")

    @plugin.hook("pre_tool_call")
    def guard(call: PreToolCall, *, ctx: Context) -> None:
        ctx.say("x")

    with Harness(plugin) as harness, pytest.raises(PluginError) as caught:
        harness.fire("pre_tool_call")
    assert "ctx.say() is for handlers of pre_llm_call" in str(caught.value)


def test_what_cannot_be_registered() -> None:
    with pytest.raises(RegistrationError, match="servers, which needs uses=\\['route'\\]"):
        Plugin("switch", servers=SERVERS)
    with pytest.raises(RegistrationError, match="cannot have attempts=True: stop is asked once"):
        cast("Any", Plugin("switch")).hook("stop", attempts=True)(print_it)


def print_it(call: object) -> None:
    print(call)
