"""Model calls: where they go and with which key, further attempts, and text before the answer."""

# An interrupt leaves a turn's block early; these tests know where it does.
# pyright: reportPossiblyUnboundVariable=false

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from types import MappingProxyType
from typing import Any

import msgspec
import pytest
import trio

from sliphook import PluginHost
from sliphook.session.results import LlmGate
from sliphook.session.turn import Turn
from sliphook.testing import FakePlugin
from sliphook_sdk.protocol import LlmFailure, Message, ModelRoute, Usage
from tests.docs.protocol_sentences.says import limit, says
from tests.programs import WAIT_S
from tests.trace.made import Kept

PROVIDERS = {"openai": "https://api.openai.com/v1"}
OWN = ModelRoute(provider="openai", base_url="https://api.openai.com/v1", api="openai")
LOCAL = {"base_url": "http://127.0.0.1:8080/v1", "key_env": "SWITCH_KEY"}
KEY = "sk-of-the-switch"
REFUSED = LlmFailure(kind="connection", message="no server answers at 127.0.0.1:8080")
HELLO = [Message(role="user", content="hello")]
SAYS: dict[str, Any] = {"role": "assistant", "content": "four and twenty"}


def switch(answer: Any, name: str = "switch", **more: Any) -> FakePlugin:
    fields: dict[str, Any] = {
        "subscriptions": [{"event": "pre_llm_call", "replaces": True, "attempts": True}],
        "uses": ["route"],
        "servers": ["127.0.0.1:8080"],
        "variables": {"SWITCH_KEY": KEY},
    }
    return FakePlugin(name, hooks={"pre_llm_call": answer}, **{**fields, **more})


@asynccontextmanager
async def a_turn(
    *plugins: FakePlugin,
    providers: Mapping[str, str | None] = MappingProxyType(PROVIDERS),
    **settings: Any,
) -> AsyncGenerator[Turn]:
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost(plugins, providers=providers, **settings) as host,
            host.session() as session,
            session.turn("hello") as turn,
        ):
            yield turn


class Seen:
    """What the user of the agent sees."""

    def __init__(self) -> None:
        self.logged: list[str] = []
        self.problems: list[str] = []
        self.shown: list[str] = []

    def log(self, plugin: str, level: str, message: str) -> None:
        self.logged.append(message)

    def problem(self, plugin: str, message: str) -> None:
        self.problems.append(message)

    def show(self, text: str) -> None:
        self.shown.append(text)


async def call(turn: Turn, **more: Any) -> LlmGate:
    fields: dict[str, Any] = {
        "provider": "openai",
        "model": "large",
        "messages": HELLO,
        "tools": [],
        "route": OWN,
    }
    return await turn.pre_llm_call(**{**fields, **more})


async def again(turn: Turn, gate: LlmGate, attempt: int = 2) -> LlmGate:
    """As an agent's loop does it: with what the gate before has left."""
    return await call(
        turn,
        model=gate.model,
        messages=gate.messages,
        tools=gate.tools,
        route=gate.route,
        attempt=attempt,
        failure=REFUSED,
    )


# -- where it goes


async def test_a_plugin_sends_the_call_to_another_server_with_its_key() -> None:
    plugin = switch({"replace": {"route": LOCAL, "model": "small"}})
    async with a_turn(plugin) as turn:
        gate = await call(turn)
    assert (gate.route, gate.routed_by) == (
        ModelRoute(base_url="http://127.0.0.1:8080/v1"),
        "switch",
    )
    assert (gate.api_key, gate.model) == (KEY, "small")
    (asked,) = plugin.payloads("pre_llm_call")
    assert (asked.route, asked.attempt, asked.failure) == (OWN, 1, None)


async def test_to_say_the_agent_s_own_route_again_needs_no_server() -> None:
    parameters = {"temperature": 0}
    again = {"base_url": OWN.base_url, "provider": OWN.provider, "parameters": parameters}
    async with a_turn(switch({"replace": {"route": again}}), providers={}) as turn:
        gate = await call(turn)
    assert gate.routed_by == "switch"
    assert gate.route is not None
    assert gate.route.parameters == parameters


async def test_no_plugin_is_told_what_an_agent_calls_its_key() -> None:
    plugin = switch(None)
    async with a_turn(plugin) as turn:
        gate = await call(turn, route=msgspec.structs.replace(OWN, key_env="OPENAI_API_KEY"))
    assert plugin.payloads("pre_llm_call")[0].route == gate.route == OWN


async def test_without_a_plugin_the_route_is_the_agent_s() -> None:
    async with a_turn() as turn:
        gate = await call(turn)
    assert (gate.route, gate.routed_by, gate.api_key, gate.asks_again) == (OWN, None, None, False)


@says(
    "`key_env` is for a `base_url`, and names a variable that the user gave the plugin; its value is"
    " in no message.",
    "others see a route without its `key_env`.",
)
async def test_the_key_is_in_no_payload_trace_log_or_repr() -> None:
    kept = Kept()
    seen = Seen()
    guard = FakePlugin("guard", hears=["pre_llm_call", "post_llm_call"])
    plugin = switch({"replace": {"route": LOCAL}})
    async with a_turn(plugin, guard, trace=kept, on_log=seen.log) as turn:
        gate = await call(turn)
        turn.post_llm_call(
            provider="openai",
            model="small",
            response=Message(role="assistant", content="x"),
            finish_reason=None,
            usage=Usage(),
            duration_ms=1.0,
            routed_by=gate.routed_by,
        )
        await guard.hears("post_llm_call")
    assert gate.api_key == KEY
    assert KEY not in repr(gate)
    assert "api_key='***'" in repr(gate)
    assert ("api_key", "***") in gate.__rich_repr__()
    everything = f"{kept.records}{seen.logged}{plugin.received}{guard.received}"
    assert KEY not in everything
    assert "SWITCH_KEY" not in str(guard.received)
    assert guard.payloads("pre_llm_call")[0].route == gate.route
    assert guard.payloads("post_llm_call")[0].routed_by == "switch"


REFUSALS: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    (LOCAL, {"uses": [], "servers": []}, "needs 'route' in the manifest's uses"),
    (LOCAL, {"grants": frozenset()}, "has not granted 'route' to switch"),
    (LOCAL, {"granted_servers": ()}, "has not let switch send model calls to 127.0.0.1:8080"),
    (LOCAL, {"variables": {}}, "is not given the variable 'SWITCH_KEY'"),
    ({"provider": "groq"}, {}, "there is no provider 'groq'; the only one is openai"),
    ({"parameters": {"messages": []}}, {}, "parameters may not have 'messages'"),
]


@says(
    "**Route**: `replace.route` says where the call goes, and needs `route` in the manifest's"
    " `uses`.",
    "It names a `provider`, or a `base_url` (without a login or a query) whose server the user has"
    " granted:",
    "A route that breaks a rule is a failed answer;",
)
@pytest.mark.parametrize(
    ("route", "more", "why"),
    REFUSALS,
)
async def test_what_the_user_has_not_granted_does_not_happen_and_is_said(
    route: Any, more: dict[str, Any], why: str
) -> None:
    seen = Seen()
    plugin = switch({"replace": {"route": route, "model": "small"}}, **more)
    async with a_turn(plugin, on_problem=seen.problem) as turn:
        gate = await call(turn)
    assert (gate.route, gate.model, gate.routed_by, gate.api_key) == (OWN, "large", None, None)
    (problem,) = seen.problems
    assert problem.startswith("switch did not answer pre_llm_call: ")
    assert why in problem
    assert problem.endswith("; it counts as no opinion")


@says("So is one for an agent whose `route` is null: it knows no other server than its own.")
async def test_an_agent_that_does_not_say_where_its_calls_go_takes_no_route() -> None:
    seen = Seen()
    plugin = switch({"replace": {"route": LOCAL, "model": "small"}})
    async with a_turn(plugin, on_problem=seen.problem) as turn:
        gate = await call(turn, route=None)
    assert (gate.route, gate.model, gate.routed_by, gate.api_key) == (None, "large", None, None)
    assert seen.problems == [
        "switch did not answer pre_llm_call: this agent does not say where its model calls go, so"
        " it takes no route; it counts as no opinion"
    ]


async def test_a_guard_sees_the_server_and_may_deny_it() -> None:
    def judge(asked: Any) -> Any:
        return {"decision": "deny", "reason": f"not to {asked.route.base_url}"}

    guard = FakePlugin("guard", hooks={"pre_llm_call": judge})
    async with a_turn(guard, switch({"replace": {"route": LOCAL}})) as turn:
        gate = await call(turn)
    assert gate.denied
    assert gate.reason == "guard: not to http://127.0.0.1:8080/v1"


# -- further attempts


@says(
    "**Attempts**: with `attempts` a plugin is asked again before each further attempt, with the"
    " last one's payload;",
    "What was said before counts until an answer says otherwise; a new `context` replaces the old one.",
)
async def test_before_another_attempt_those_are_asked_that_want_it() -> None:
    """A dead server is started, and the call is made again with what was said before."""
    started: list[int] = []

    def mend(asked: Any) -> Any:
        started.append(asked.attempt)
        if asked.attempt == 1:
            return {"replace": {"route": LOCAL, "model": "small"}, "context": ["one"]}
        return {"context": ["two"]}

    mender = switch(mend)
    watcher = FakePlugin("watcher", hooks={"pre_llm_call": {"context": ["seen"]}})
    async with a_turn(mender, watcher) as turn:
        first = await call(turn)
        assert first.asks_again
        turn.llm_call_failed(
            attempt=1, kind="connection", status=None, message=REFUSED.message, will_retry=True
        )
        second = await again(turn, first)
        third = await again(turn, second, attempt=3)
    assert started == [1, 2, 3]
    assert len(watcher.payloads("pre_llm_call")) == 1
    assert (second.route, second.routed_by, second.api_key) == (first.route, "switch", KEY)
    assert (third.model, third.api_key) == ("small", KEY)
    texts = [(one.plugin, one.text) for one in second.context]
    assert texts == [("watcher", "seen"), ("switch", "two")]
    asked = mender.payloads("pre_llm_call")
    assert [one.call_index for one in asked] == [1, 1, 1]
    assert [one.failure for one in asked] == [None, REFUSED, REFUSED]
    assert asked[1].route == first.route
    assert asked[0].seq < asked[1].seq < asked[2].seq


async def test_calls_are_counted_in_their_turn_and_attempts_in_their_call() -> None:
    plugin = switch(None, hears=["post_llm_call", "llm_call_failed"])
    with trio.fail_after(WAIT_S):
        async with PluginHost([plugin]) as host, host.session() as session:
            for text in ("hello", "and now?"):
                async with session.turn(text) as turn:
                    for _ in range(2):
                        gate = await call(turn)
                        turn.llm_call_failed(
                            attempt=1, kind="timeout", status=None, message="", will_retry=True
                        )
                        await again(turn, gate)
                        turn.post_llm_call(
                            provider=None,
                            model="large",
                            response=Message(role="assistant", content="so"),
                            finish_reason="stop",
                            usage=Usage(),
                            duration_ms=1.0,
                        )
    counted = [
        (one.name, one.params["call_index"], one.params.get("attempt"))
        for one in plugin.fired()
        if "call_index" in one.params
    ]
    of_a_turn = [
        ("pre_llm_call", 1, 1),
        ("llm_call_failed", 1, 1),
        ("pre_llm_call", 1, 2),
        ("post_llm_call", 1, None),
        ("pre_llm_call", 2, 1),
        ("llm_call_failed", 2, 1),
        ("pre_llm_call", 2, 2),
        ("post_llm_call", 2, None),
    ]
    assert counted == of_a_turn * 2


async def test_nobody_is_asked_again_who_did_not_want_it() -> None:
    plugin = switch(
        {"replace": {"route": LOCAL}}, subscriptions=[{"event": "pre_llm_call", "replaces": True}]
    )
    async with a_turn(plugin) as turn:
        first = await call(turn)
        seq = turn.hooks.state.seq
        second = await again(turn, first)
        assert turn.hooks.state.seq == seq  # what is put to no plugin has no number
        other = await call(turn, attempt=3, failure=REFUSED)
    assert not first.asks_again
    assert len(plugin.payloads("pre_llm_call")) == 1
    assert (second.route, second.routed_by, second.api_key) == (first.route, "switch", KEY)
    # a key is for the route that it came with
    assert (other.route, other.routed_by, other.api_key) == (OWN, None, None)


async def test_a_deny_before_another_attempt_ends_the_call() -> None:
    def judge(asked: Any) -> Any:
        return {"decision": "deny", "reason": "enough"} if asked.attempt > 1 else None

    plugin = switch(judge)
    hearer = FakePlugin("hearer", hears=["llm_call_failed"])
    async with a_turn(plugin, hearer) as turn:
        gate = await again(turn, await call(turn))
        await hearer.hears("llm_call_failed")
    assert (gate.denied, gate.reason) == (True, "switch: enough")
    (failed,) = hearer.payloads("llm_call_failed")
    assert (failed.attempt, failed.kind) == (2, "denied")


async def test_a_child_is_asked_again_for_only_if_it_was_subscribed_to() -> None:
    alone = [{"event": "pre_llm_call", "replaces": True, "attempts": True, "subagents": False}]
    plugin = switch(None, subscriptions=alone)
    async with a_turn(plugin) as turn, turn.subagent("look") as child:
        gate = await call(child)
    assert not gate.asks_again


# -- text before the answer


def streaming(answer: Any, *pieces: str) -> Callable[[Any], Any]:
    async def say(asked: Any) -> Any:
        for piece in pieces:
            await PLUGINS[-1].say(piece)
        return answer

    return say


PLUGINS: list[FakePlugin] = []


def saying(answer: Any, *pieces: str, **more: Any) -> FakePlugin:
    plugin = switch(streaming(answer, *pieces), **more)
    PLUGINS.append(plugin)
    return plugin


@says(
    "Meanwhile a plugin MAY send the text of its response by [`$/progress`](#progress), piece by"
    " piece:",
)
async def test_text_is_shown_before_the_answer() -> None:
    shown: list[str] = []
    usage = {"input_tokens": 9, "output_tokens": 3}
    whole = {"substitute": {"response": SAYS, "usage": usage, "finish_reason": "stop"}}
    async with a_turn(saying(whole, "four ", "and")) as turn:
        gate = await call(turn, on_text=shown.append)
    assert shown == ["four ", "and"]
    assert (gate.shown, gate.substituted_by) == ("four and", "switch")
    assert gate.substitute == Message(role="assistant", content="four and twenty")
    assert (gate.usage, gate.finish_reason) == (Usage(input_tokens=9, output_tokens=3), "stop")


async def test_text_without_an_answer_is_known_as_shown() -> None:
    async with a_turn(saying({"decision": "deny", "reason": "no"}, "four")) as turn:
        gate = await call(turn, on_text=Seen().show)
    assert (gate.denied, gate.shown, gate.substitute) == (True, "four", None)


async def test_pieces_are_not_dropped_by_the_rate_of_logs() -> None:
    shown: list[str] = []
    pieces = [f"{number} " for number in range(400)]
    async with a_turn(saying({"substitute": {"response": SAYS}}, *pieces)) as turn:
        await call(turn, on_text=shown.append)
    assert shown == pieces


@limit("`text` of `$/progress`, of one request")
async def test_at_most_a_mib_of_text_is_shown() -> None:
    shown: list[str] = []
    seen = Seen()
    kib = "é" * 512
    pieces = [*([kib] * 1023), "x" * 1024, "y", "z"]
    plugin = saying({"substitute": {"response": SAYS}}, *pieces)
    async with a_turn(plugin, on_log=seen.log) as turn:
        gate = await call(turn, on_text=shown.append)
        assert len(gate.shown.encode()) == 1024 * 1024
        await call(turn, on_text=shown.append)
    assert shown == [*pieces[:1024], *pieces[:1024]]
    assert seen.logged == [
        "the text of a $/progress is left out: its request has sent over 1,048,576 bytes"
    ]


async def test_text_of_a_plugin_that_may_not_substitute_is_left_out() -> None:
    shown: list[str] = []
    seen = Seen()
    plugin = saying(None, "psst", subscriptions=[])
    async with a_turn(plugin, on_log=seen.log) as turn:
        gate = await call(turn, on_text=shown.append)
    assert (shown, gate.shown) == ([], "")
    assert seen.logged == [
        "the text of a $/progress is left out: it is for a hook/pre_llm_call of a subscription with"
        " replaces, if no other plugin has substituted the response"
    ]


async def test_an_agent_that_shows_no_text_has_none() -> None:
    async with a_turn(saying({"substitute": {"response": SAYS}}, "four")) as turn:
        gate = await call(turn)
    assert (gate.shown, gate.substituted_by) == ("", "switch")


async def test_a_fault_of_the_agent_s_callback_ends_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def show(_: str) -> None:
        raise ValueError("no terminal")

    async with a_turn(saying({"substitute": {"response": SAYS}}, "four")) as turn:
        gate = await call(turn, on_text=show)
    assert (gate.shown, gate.substituted_by) == ("four", "switch")
    assert "a callback of the agent failed" in caplog.text


async def test_text_and_a_message_of_one_progress() -> None:
    told: list[Any] = []
    shown: list[str] = []

    async def say(asked: Any) -> Any:
        number = plugin.received[-1].id
        await plugin.tell("$/progress", id=number, message="half", text="four", fraction=0.5)
        return {"substitute": {"response": SAYS}}

    plugin = switch(say)
    async with a_turn(plugin, on_progress=told.append) as turn:
        await call(turn, on_text=shown.append)
    assert shown == ["four"]
    assert [(one.message, one.fraction) for one in told] == [("half", 0.5)]


async def test_what_is_no_text_shows_nothing() -> None:
    shown: list[str] = []

    async def say(asked: Any) -> Any:
        number = plugin.received[-1].id
        for text in (None, 7, ["x"]):
            await plugin.tell("$/progress", id=number, text=text)
        await plugin.tell("$/progress", id=10_000, text="late")
        return None

    plugin = switch(say)
    async with a_turn(plugin) as turn:
        gate = await call(turn, on_text=shown.append)
    assert (shown, gate.shown, gate.denied) == ([], "", False)


def test_the_arguments_of_an_attempt_are_checked() -> None:
    async def wrong(**more: Any) -> None:
        async with a_turn() as turn:
            await call(turn, **more)

    for more, what in (
        ({"attempt": 0}, "attempt is 0"),
        ({"attempt": True}, "attempt must be an int"),
        ({"route": {"provider": "x"}}, "route must be a ModelRoute or None, not dict"),
        ({"failure": "x"}, "failure must be a LlmFailure or None, not str"),
        ({"tools": ["x"]}, "tools\\[0\\] must be a ModelTool, not str"),
    ):
        with pytest.raises((TypeError, ValueError), match=what):
            trio.run(partial(wrong, **more))
