"""Answers that plugins give in place of the model's: what is shown, and what is counted."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from sliphook import PluginHost
from sliphook.agent.loop import Agent
from sliphook.agent.models.script import ScriptedReply
from sliphook.testing import HANGS, After, FakePlugin
from sliphook_sdk.protocol import Message, Usage
from tests.agent.fakes import RecordingDisplay, RecordingModel
from tests.docs.protocol_sentences.says import says

SAYS = {"role": "assistant", "content": "four and twenty"}


def cache(answer: Any) -> FakePlugin:
    subscription = {"event": "pre_llm_call", "replaces": True, "timeout_s": 60}
    return FakePlugin(
        "cache",
        hooks={"pre_llm_call": answer},
        hears=["post_llm_call", "turn_end"],
        subscriptions=[subscription],
    )


@asynccontextmanager
async def an_agent(
    plugin: FakePlugin, *replies: ScriptedReply
) -> AsyncGenerator[tuple[Agent, RecordingDisplay]]:
    display = RecordingDisplay()
    with trio.fail_after(120):
        async with PluginHost([plugin]) as host, host.session() as session:
            yield Agent(host, session, RecordingModel(*replies), display=display), display


async def run_streamed(
    plugin: FakePlugin, *pieces: str, replies: tuple[ScriptedReply, ...] = ()
) -> tuple[str, RecordingDisplay, Agent]:
    """A turn in which the plugin sends the pieces a second before its answer."""
    async with an_agent(plugin, *replies) as (agent, display):
        outcome = ""

        async def turn() -> None:
            nonlocal outcome
            outcome = await agent.run("count")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(turn)
            await plugin.hears("pre_llm_call")
            (asked,) = [one for one in plugin.received if one.name == "pre_llm_call"]
            for piece in pieces:
                await plugin.tell("$/progress", id=asked.id, text=piece)
        return outcome, display, agent


@says("**Substitute**: `usage` and `finish_reason` beside `response` count as those of a model.")
async def test_usage_reason_and_time_of_a_substitute_count(autojump_clock: MockClock) -> None:
    usage = {"input_tokens": 7, "output_tokens": 3, "cached_tokens": None}
    answer = {"substitute": {"response": SAYS, "usage": usage, "finish_reason": "length"}}
    plugin = cache(After(2, answer))
    async with an_agent(plugin) as (agent, display):
        assert await agent.run("count") == "completed"
    post, end = (message.params for message in plugin.fired() if message.name != "pre_llm_call")
    assert (post["usage"], post["finish_reason"]) == (usage, "length")
    assert (round(post["duration_ms"]), post["substituted_by"]) == (2000, "cache")
    assert (end["usage"], end["model_calls"]) == (usage, 1)
    assert display.shown == [
        ("text", "four and twenty"),
        ("text_end",),
        ("notice", "warning", "the model's answer was cut: it reached its limit of tokens"),
    ]


@says("it is shown at once, and")
async def test_the_text_of_a_substitute_is_shown_as_it_comes(autojump_clock: MockClock) -> None:
    plugin = cache(After(1, {"substitute": {"response": SAYS}}))
    outcome, display, agent = await run_streamed(plugin, "four", " and")
    assert outcome == "completed"
    assert display.shown == [
        ("text", "four"),
        ("text", " and"),
        ("text", " twenty"),
        ("text_end",),
    ]
    assert agent.conversation.messages[-1] == Message(role="assistant", content="four and twenty")


@says("given up if the response does not begin with it, or there is none.")
@pytest.mark.parametrize(
    ("answer", "then", "ends"),
    [
        (
            {"substitute": {"response": SAYS}},
            [("text", "four and twenty"), ("text_end",)],
            "completed",
        ),
        (None, [("text", "own"), ("text_end",)], "completed"),
        ({"context": ["x"]}, [("text", "own"), ("text_end",)], "completed"),
        (
            {"decision": "deny", "reason": "no"},
            [("denied", "the model call", "cache: no")],
            "denied",
        ),
    ],
)
async def test_text_that_is_not_the_answer_is_abandoned(
    autojump_clock: MockClock, answer: Any, then: list[Any], ends: str
) -> None:
    outcome, display, _ = await run_streamed(
        cache(After(1, answer)), "three", replies=(ScriptedReply(text="own"),)
    )
    assert outcome == ends
    assert display.shown == [("text", "three"), ("text_abandoned",), *then]


async def test_shown_text_stays_in_the_conversation_after_an_interrupt(
    autojump_clock: MockClock,
) -> None:
    plugin = cache(HANGS)
    async with an_agent(plugin) as (agent, display), trio.open_nursery() as nursery:
        nursery.start_soon(agent.run, "count")
        await plugin.hears("pre_llm_call")
        (asked,) = plugin.received[-1:]
        await plugin.tell("$/progress", id=asked.id, text="four")
        await trio.testing.wait_all_tasks_blocked()
        assert agent.session.interrupt()
    assert display.shown == [("text", "four"), ("text_end",)]
    assert agent.conversation.messages[-1] == Message(role="assistant", content="four")


async def test_a_substitute_of_one_plugin_has_no_usage_unless_it_says_so() -> None:
    plugin = cache({"substitute": {"response": SAYS}})
    async with an_agent(plugin) as (agent, _):
        assert await agent.run("count") == "completed"
    assert agent.session.totals()["usage"] == Usage()
