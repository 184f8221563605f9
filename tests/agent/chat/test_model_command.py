"""`/model`: the users of a conversation see which model answers, and take another one."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import trio
from trio.testing import MockClock

from sliphook.agent.chat.gateway import Gateway
from sliphook.agent.models.choice import Models
from sliphook.agent.models.script import ScriptedCall, ScriptedReply
from sliphook.settings import Provider
from sliphook.testing import FakePlugin
from tests.agent.fakes import RecordingModel
from tests.agent.loopback import Answer, LoopbackServer, text

from .at_work import at_work, everything, said, say

OWN = ScriptedReply(text="own")
HAS = "there are: local, router"
FORMS = " model of OpenAI is openai/NAME, one of Anthropic anthropic/NAME"
ROUTER = Provider(base_url="https://router.example/v1", key_env="ROUTER_KEY")


@asynccontextmanager
async def with_local(
    plugin: FakePlugin, *answers: Answer, own: Sequence[ScriptedReply] = (OWN, OWN)
) -> AsyncGenerator[tuple[Gateway, LoopbackServer]]:
    """A gateway whose own model is scripted, and a server that is the provider `local`."""
    async with AsyncExitStack() as stack:
        server = stack.enter_context(LoopbackServer(*answers))
        local = Provider(base_url=server.base_url, model="m-1")
        # a key that a mistyped name would be sent with
        models = Models({"local": local, "router": ROUTER}, {"OPENAI_API_KEY": "k"})
        stack.push_async_callback(models.aclose)
        gateway = await stack.enter_async_context(
            at_work(plugin, RecordingModel(*own), models=models)
        )
        yield gateway, server


async def test_the_models_are_listed_with_the_one_that_answers() -> None:
    async with with_local(everything()) as (gateway, server):
        outcome, text = await said(gateway, "/model")
        assert (outcome, text.splitlines()) == (
            "command",
            [
                "scripted answers",
                f"local   m-1 at {server.base_url}",
                "router  its only model at https://router.example/v1",
                "/model NAME takes one of these, /model NAME/MODEL another model there",
            ],
        )


async def test_another_model_answers_in_its_channel_alone_and_after_new_too() -> None:
    plugin = everything()
    answers = [Answer([text("one")]), Answer([text("two")])]
    async with with_local(plugin, *answers) as (gateway, server):
        taken = await said(gateway, "/model local")
        assert taken == (
            "command",
            f"local/m-1 at {server.base_url} answers from the next model call on",
        )
        assert await said(gateway, "hello") == ("completed", "one")
        assert await said(gateway, "hello", "#bergen") == ("completed", "own")
        assert (await said(gateway, "/new"))[0] == "command"
        assert await said(gateway, "hello") == ("completed", "two")
        assert (await said(gateway, "/model"))[1].splitlines()[0] == "local/m-1 answers"
    assert [request.body["model"] for request in server.requests] == ["m-1", "m-1"]
    calls = [
        (message.name, message.params.get("provider"), message.params["model"])
        for message in plugin.fired()
        if message.name in ("session_start", "post_llm_call")
    ]
    assert calls == [
        ("session_start", None, None),
        ("post_llm_call", "local", "m-1"),
        ("session_start", None, None),
        ("post_llm_call", "scripted", "scripted"),
        ("session_start", None, "m-1"),
        ("post_llm_call", "local", "m-1"),
    ]


async def test_a_model_that_cannot_be_taken_changes_nothing() -> None:
    async with with_local(everything()) as (gateway, _):
        for name, says in (
            ("router", "providers.router has its key in the variable ROUTER_KEY, which is not set"),
            ("rooter/x", f"there is no provider 'rooter'; {HAS}; did you mean router? A{FORMS}"),
            ("locl", f"there is no provider 'locl'; {HAS}; did you mean local? A{FORMS}"),
            ("gpt-5", f"there is no provider 'gpt-5'; {HAS}. A{FORMS}"),
            ("slow.json", "scripts are not taken here; start with --model FILE.json"),
            ("two words", "there is /model and /model NAME, and nothing goes behind it"),
        ):
            assert await said(gateway, f"/model {name}") == ("command", says)
        assert await said(gateway, "hello") == ("completed", "own")


async def test_it_takes_effect_with_the_next_call_of_an_open_turn() -> None:
    go_on = trio.Event()

    async def held(_: Any) -> dict[str, str]:
        await go_on.wait()
        return {"content": "done"}

    plugin = FakePlugin("probe", hears=["post_llm_call"], tools={"held": held})
    own = [ScriptedReply(calls=[ScriptedCall(name="held")])]
    async with with_local(plugin, Answer([text("from the server")]), own=own) as (gateway, _):
        message = say(gateway, "hello")
        await plugin.hears("tool/call")
        assert (await said(gateway, "/model local"))[0] == "command"
        go_on.set()
        reply = await message.wait()
        assert (reply.outcome, reply.text) == ("completed", "from the server")
    assert [heard.params["provider"] for heard in plugin.fired()] == ["scripted", "local"]


async def test_a_gateway_without_models_says_so(autojump_clock: MockClock) -> None:
    async with at_work(everything()) as gateway:
        assert await said(gateway, "/model") == (
            "command",
            "scripted answers; there is no other model here",
        )
        assert await said(gateway, "/model gpt-5") == ("command", "there is no other model here")


async def test_without_providers_any_name_can_be_taken(autojump_clock: MockClock) -> None:
    models = Models({}, {"OPENAI_API_KEY": "k"})
    async with at_work(everything(), models=models) as gateway:
        assert (await said(gateway, "/model"))[1] == (
            "scripted answers; /model NAME takes another. There are no providers."
        )
        for name in ("gpt-5", "openai/gpt-5"):
            assert (await said(gateway, f"/model {name}"))[1] == (
                "gpt-5 at https://api.openai.com/v1 answers from the next model call on"
            )
        assert (await said(gateway, "/model scripted"))[1].startswith("scripted answers")
        assert (await said(gateway, "hello"))[0] == "completed"
