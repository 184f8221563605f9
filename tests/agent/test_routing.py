"""Where model calls go: plugins send them to other servers, with other keys, and answer themselves.

The servers are real, the plugins are in memory.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest
import trio

from sliphook import PluginHost
from sliphook.agent.loop import Agent
from sliphook.agent.models.base import Model
from sliphook.agent.models.choice import Models
from sliphook.agent.models.scripted import ScriptedModel
from sliphook.settings import Provider
from sliphook.testing import FakePlugin
from tests.agent.fakes import RecordingDisplay
from tests.agent.loopback import Answer, LoopbackServer, Request, one_call, text
from tests.docs.protocol_sentences.says import says
from tests.free_ports import dead_port

WAIT_S = 120.0
KEYS = {"SLIPHOOK_API_KEY": "sk-of-the-agent-itself", "ROUTER_KEY": "sk-of-the-router"}
SWITCH_KEY = "sk-of-the-switch"


def switch(answer: Any, **more: Any) -> FakePlugin:
    """A plugin that may send model calls to any port of this machine."""
    fields: dict[str, Any] = {
        "subscriptions": [{"event": "pre_llm_call", "replaces": True}],
        "uses": ["route"],
        "servers": ["127.0.0.1"],
        "variables": {"SWITCH_KEY": SWITCH_KEY},
    }
    return FakePlugin("switch", hooks={"pre_llm_call": answer}, **{**fields, **more})


def one_after_the_other(answers: Sequence[Any]) -> Callable[[object], Any]:
    left = iter(answers)
    return lambda _: next(left)


def told(name: str = "told") -> FakePlugin:
    return FakePlugin(name, hears=["post_llm_call", "llm_call_failed", "turn_end"])


def one_text(answer: str) -> Answer:
    return Answer([text(answer)])


@asynccontextmanager
async def an_agent(
    *plugins: FakePlugin,
    base_url: str | None = None,
    providers: Mapping[str, Provider] | None = None,
    model: Model | None = None,
) -> AsyncGenerator[tuple[Agent, RecordingDisplay]]:
    """An agent whose own model is m-1 of the server, or `model` without any servers."""
    display = RecordingDisplay()
    with trio.fail_after(WAIT_S):
        async with aclosing(Models(providers or {}, KEYS, base_url)) as models:
            own = model or models.first("m-1")
            async with (
                PluginHost(plugins, providers=models.addresses(own)) as host,
                host.session() as session,
            ):
                kept = None if model is not None else models
                yield Agent(host, session, own, display=display, models=kept), display


def keys_in(request: Request) -> list[str]:
    """The keys that a request shows anywhere."""
    return [key for key in (*KEYS.values(), SWITCH_KEY) if key in str(request)]


def notices(display: RecordingDisplay) -> list[str]:
    return [f"{shown[1]}: {shown[2]}" for shown in display.shown if shown[0] == "notice"]


async def test_a_call_goes_to_another_server_with_its_key_and_comes_back() -> None:
    with (
        LoopbackServer(one_text("own")) as own,
        LoopbackServer(one_text("one"), one_text("two")) as other,
    ):
        route = {
            "base_url": other.base_url,
            "key_env": "SWITCH_KEY",
            "parameters": {"temperature": 0.5},
        }
        answers = [{"replace": {"model": "small", "route": route}}] * 2 + [None]
        hears = told()
        plugin = switch(one_after_the_other(answers))
        async with an_agent(plugin, hears, base_url=own.base_url) as (agent, display):
            for _ in range(3):
                assert await agent.run("hello") == "completed"
    for request in other.requests:
        assert request.headers["authorization"] == f"Bearer {SWITCH_KEY}"
        assert (request.body["model"], request.body["temperature"]) == ("small", 0.5)
        assert keys_in(request) == [SWITCH_KEY]
    (request,) = own.requests
    assert keys_in(request) == ["sk-of-the-agent-itself"]
    assert (request.body["model"], "temperature" in request.body) == ("m-1", False)
    assert notices(display) == [
        f"info: switch sends model calls to {other.base_url}",
        f"info: model calls go to {own.base_url} again",
    ]
    assert [shown[1] for shown in display.shown if shown[0] == "text"] == ["one", "two", "own"]
    calls = [message.params for message in hears.fired() if message.name == "post_llm_call"]
    assert [(call["provider"], call["model"], call["routed_by"]) for call in calls] == [
        ("openai", "m-1", "switch"),  # the server's own word for the model that answered
        ("openai", "m-1", "switch"),
        ("openai", "m-1", None),
    ]


@says(
    "What it leaves null is the agent's choice for that server, but its own key goes to no other"
    " one."
)
async def test_another_server_gets_no_key_if_the_plugin_names_none() -> None:
    with LoopbackServer() as own, LoopbackServer(one_text("one")) as other:
        plugin = switch({"replace": {"route": {"base_url": other.base_url}}})
        async with an_agent(plugin, base_url=own.base_url) as (agent, _):
            assert await agent.run("hello") == "completed"
    (request,) = other.requests
    assert ("authorization" in request.headers, keys_in(request)) == (False, [])
    assert request.body["model"] == "m-1"
    assert own.requests == []


async def test_a_plugin_s_key_for_the_agent_s_own_server_takes_the_place_of_the_agent_s() -> None:
    with LoopbackServer(one_text("one")) as own:
        route = {"base_url": own.base_url, "key_env": "SWITCH_KEY"}
        async with an_agent(switch({"replace": {"route": route}}), base_url=own.base_url) as (
            agent,
            _,
        ):
            assert await agent.run("hello") == "completed"
    assert [keys_in(request) for request in own.requests] == [[SWITCH_KEY]]


async def test_a_provider_at_the_agent_s_own_server_has_its_own_key() -> None:
    with LoopbackServer(one_text("one")) as own:
        router = Provider(base_url=own.base_url, key_env="ROUTER_KEY")
        async with an_agent(
            switch({"replace": {"route": {"provider": "router"}}}),
            base_url=own.base_url,
            providers={"router": router},
        ) as (agent, _):
            assert await agent.run("hello") == "completed"
    assert [keys_in(request) for request in own.requests] == [["sk-of-the-router"]]


async def test_the_api_of_another_server_is_guessed_or_told() -> None:
    with LoopbackServer(*[Answer([b"{}"], status=400) for _ in range(3)]) as other:
        routes = [
            {"base_url": f"{other.base_url}/anthropic", "key_env": "SWITCH_KEY"},
            {"base_url": other.base_url, "api": "anthropic"},
            {"base_url": f"{other.base_url}/anthropic", "api": "openai"},
        ]
        answers = [{"replace": {"route": route}} for route in routes]
        plugin = switch(one_after_the_other(answers))
        async with an_agent(plugin, base_url="http://127.0.0.1:1/v1") as (agent, _):
            for _ in routes:
                assert await agent.run("hello") == "failed"
    assert [request.path for request in other.requests] == [
        "/v1/anthropic/v1/messages",
        "/v1/messages",
        "/v1/anthropic/chat/completions",
    ]
    assert other.requests[0].headers["x-api-key"] == SWITCH_KEY


async def test_parameters_alone_are_for_the_agents_own_server() -> None:
    with LoopbackServer(one_text("one"), one_text("two")) as own:
        here = {"provider": "openai", "base_url": own.base_url, "api": "openai"}
        routes: list[dict[str, Any]] = [{}, here]
        answers = [
            {"replace": {"route": {**route, "parameters": {"temperature": 0}}}} for route in routes
        ]
        plugin = switch(one_after_the_other(answers))
        async with an_agent(plugin, base_url=own.base_url) as (agent, display):
            assert await agent.run("hello") == "completed"
            assert await agent.run("hello") == "completed"
    for request in own.requests:
        assert (request.body["temperature"], keys_in(request)) == (0, ["sk-of-the-agent-itself"])
    assert notices(display) == []


async def test_a_provider_of_the_settings_has_its_own_key_and_parameters() -> None:
    with LoopbackServer() as own, LoopbackServer(one_text("one"), one_text("two")) as other:
        router = Provider(
            base_url=other.base_url, key_env="ROUTER_KEY", parameters={"temperature": 1}
        )
        answers: list[dict[str, Any]] = [
            {"replace": {"model": "big", "route": {"provider": "router"}}},
            {"replace": {"model": "big", "route": {"provider": "router", "parameters": {}}}},
        ]
        hears = told()
        async with an_agent(
            switch(one_after_the_other(answers)),
            hears,
            base_url=own.base_url,
            providers={"router": router},
        ) as (agent, display):
            assert await agent.run("hello") == "completed"
            assert await agent.run("hello") == "completed"
    assert [request.body.get("temperature") for request in other.requests] == [1, None]
    for request in other.requests:
        assert (request.body["model"], keys_in(request)) == ("big", ["sk-of-the-router"])
    assert notices(display) == [f"info: switch sends model calls to router at {other.base_url}"]
    assert [
        (message.params["provider"], message.params["routed_by"])
        for message in hears.fired()
        if message.name == "post_llm_call"
    ] == [("router", "switch")] * 2


async def test_an_agent_of_ones_own_that_keeps_no_models_takes_routes_too() -> None:
    with LoopbackServer(one_text("one")) as other:
        plugin = switch({"replace": {"route": {"base_url": other.base_url}, "model": "m"}})
        async with an_agent(plugin, model=ScriptedModel()) as (agent, display):
            assert await agent.run("hello") == "completed"
    assert notices(display) == [f"info: switch sends model calls to {other.base_url}"]
    assert ("text", "one") in display.shown


@pytest.mark.parametrize(
    ("provider", "why"),
    [
        (
            Provider(base_url="http://127.0.0.1:1/v1", key_env="NOT_SET"),
            "providers.router has its key in the variable NOT_SET, which is not set",
        ),
        (
            Provider(base_url="http://127.0.0.1:1/v1"),
            "cannot reach the model server at http://127.0.0.1:1/v1 (all attempts to connect to"
            " 127.0.0.1:1 failed); is it running, and is providers.router.base_url right?",
        ),
    ],
)
async def test_a_route_that_leads_nowhere_is_an_error_that_says_what_to_do(
    provider: Provider, why: str
) -> None:
    plugin = switch({"replace": {"route": {"provider": "router"}}})
    with LoopbackServer() as own:
        async with an_agent(plugin, base_url=own.base_url, providers={"router": provider}) as (
            agent,
            display,
        ):
            assert await agent.run("hello") == "failed"
    assert notices(display)[-1] == f"error: {why}"
    assert own.requests == []


async def test_errors_of_a_plugins_server_name_the_plugin() -> None:
    answers = [Answer([b"{}"], status=status) for status in (401, 404)]
    with LoopbackServer() as own, LoopbackServer(*answers) as other:
        plugin = switch({"replace": {"route": {"base_url": other.base_url}, "model": "big"}})
        async with an_agent(plugin, base_url=own.base_url) as (agent, display):
            await agent.run("hello")
            await agent.run("hello")
    assert [line for line in notices(display) if line.startswith("error")] == [
        f"error: the model server at {other.base_url} refused the key (401); set the key that"
        " switch is given",
        f"error: no model 'big' at {other.base_url} (404); check the model that switch names and"
        " the address that switch names",
    ]


@pytest.fixture
def dead() -> Iterator[str]:
    """An address where no server is."""
    with dead_port() as port:
        yield f"http://127.0.0.1:{port}/v1"


ATTEMPTS = [{"event": "pre_llm_call", "replaces": True, "attempts": True}]


@says(
    "After a refused connection the agent tries again, too: the plugin may have started the server."
)
async def test_a_server_that_is_not_there_is_asked_again_if_a_plugin_can_start_it(
    dead: str,
) -> None:
    with LoopbackServer(one_text("at last")) as started:

        def start(payload: Any) -> dict[str, Any]:
            # in place of a start: the server is at another address the second time
            url = dead if payload.attempt == 1 else started.base_url
            return {"replace": {"route": {"base_url": url}, "model": "small"}}

        plugin, hears = switch(start, subscriptions=ATTEMPTS), told()
        async with an_agent(plugin, hears, base_url="http://127.0.0.1:1/v1") as (agent, display):
            assert await agent.run("hello") == "completed"
    first, second = plugin.payloads("pre_llm_call")
    assert (first.attempt, first.failure) == (1, None)
    assert (second.attempt, second.failure.kind, second.model) == (2, "connection", "small")
    assert second.route.base_url == dead
    assert [(m.name, m.params.get("will_retry")) for m in hears.fired()][:2] == [
        ("llm_call_failed", True),
        ("post_llm_call", None),
    ]
    assert ("text", "at last") in display.shown


async def test_a_later_attempt_is_told_as_the_one_before_has_left_it(dead: str) -> None:
    router = Provider(base_url=dead, parameters={"temperature": 1})
    first = {"replace": {"model": "big", "route": {"provider": "router", "parameters": {"n": 1}}}}
    with LoopbackServer(one_text("own")) as own:
        back = {"replace": {"model": "m-1", "route": {"provider": "openai"}}}
        plugin = switch(one_after_the_other([first, back]), subscriptions=ATTEMPTS)
        async with an_agent(plugin, base_url=own.base_url, providers={"router": router}) as (
            agent,
            display,
        ):
            assert await agent.run("hello") == "completed"
    second = plugin.payloads("pre_llm_call")[1]
    assert (second.provider, second.model, second.route.provider) == ("router", "big", "router")
    assert (second.route.base_url, second.route.parameters) == (router.base_url, {"n": 1})
    assert [keys_in(request) for request in own.requests] == [["sk-of-the-agent-itself"]]
    assert notices(display)[-1] == f"info: model calls go to {own.base_url} again"


async def test_a_refused_connection_is_for_good_without_such_a_plugin(dead: str) -> None:
    plugin, hears = switch({"replace": {"route": {"base_url": dead}}}), told()
    async with an_agent(plugin, hears, base_url="http://127.0.0.1:1/v1") as (agent, display):
        assert await agent.run("hello") == "failed"
    assert [message.params["will_retry"] for message in hears.fired()[:1]] == [False]
    assert notices(display)[-1] == (
        f"error: cannot reach the model server at {dead} (all attempts to connect to"
        f" {dead[7:-3]} failed); is it running, and is the address that switch names right?"
    )


async def test_a_plugin_ends_the_attempts(dead: str) -> None:
    def give_up(payload: Any) -> dict[str, Any]:
        if payload.attempt == 1:
            return {"replace": {"route": {"base_url": dead}}}
        return {"decision": "deny", "reason": "it does not start"}

    plugin = switch(give_up, subscriptions=ATTEMPTS)
    async with an_agent(plugin, base_url="http://127.0.0.1:1/v1") as (agent, display):
        assert await agent.run("hello") == "denied"
    assert display.shown[-1] == ("denied", "the model call", "switch: it does not start")


async def test_the_user_is_told_once_for_the_child_agents_too() -> None:
    delegates = Answer([one_call("c-1", "delegate", '{"goal": "count"}')])
    with LoopbackServer(delegates, one_text("four"), one_text("done")) as other:
        plugin = switch({"replace": {"route": {"base_url": other.base_url}}})
        async with an_agent(plugin, model=ScriptedModel()) as (agent, display):
            assert await agent.run("hello") == "completed"
    assert len(other.requests) == 3
    (child,) = display.children
    assert notices(display) == [f"info: switch sends model calls to {other.base_url}"]
    assert child.shown == [("text", "four"), ("text_end",)]


async def test_a_guard_sees_where_the_call_goes_and_may_deny() -> None:
    with LoopbackServer() as other:
        plugin = switch({"replace": {"route": {"base_url": other.base_url}}})
        guard = FakePlugin(
            "guard",
            hooks={
                "pre_llm_call": lambda payload: {
                    "decision": "deny",
                    "reason": f"not to {payload.route.base_url}",
                }
            },
        )
        async with an_agent(plugin, guard, model=ScriptedModel()) as (agent, display):
            assert await agent.run("hello") == "denied"
    assert display.shown[-1] == (
        "denied",
        "the model call",
        f"guard: not to {other.base_url}",
    )
    assert other.requests == []
