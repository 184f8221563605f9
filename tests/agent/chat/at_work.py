"""A gateway at work: one agent, one plugin, and what is said in it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import trio

from sliphook import PluginHost
from sliphook.agent.chat.channel import Channel
from sliphook.agent.chat.commands import COMMANDS
from sliphook.agent.chat.gateway import Gateway
from sliphook.agent.chat.replies import PendingMessage
from sliphook.agent.loop import Agent
from sliphook.agent.models.base import Model
from sliphook.agent.models.scripted import ScriptedModel
from sliphook.agent.ui.filling import Question
from sliphook.testing import HANGS, After, FakePlugin
from tests.programs import EVERYTHING

WAIT_S = 300.0
"""On the clock that jumps."""

DETAILS = {
    "session_start": ("source",),
    "session_reset": ("cause",),
    "session_end": ("reason", "turns"),
    "turn_start": ("index",),
    "user_prompt_submit": ("source", "text"),
    "agent_loop_stopped": ("reason", "invalidation_reason"),
    "turn_end": ("outcome",),
    "pre_tool_call": ("tool_name",),
    "post_tool_call": ("status",),
    "user_input_required": ("kind",),
    "user_input_received": ("choice", "by"),
}
"""The names that a story tells, with these fields."""


def story(plugin: FakePlugin, session_id: str | None = None) -> list[str]:
    """What the plugin heard, a line each, the model's calls and `stop` left out."""
    return [
        " ".join([message.name, *(str(message.params[field]) for field in DETAILS[message.name])])
        for message in plugin.fired()
        if message.name in DETAILS and session_id in (None, message.params["session_id"])
    ]


def everything(**more: Any) -> FakePlugin:
    """A plugin that hears everything, and whose tool and command hang."""
    tools: dict[str, Any] = {"hang": HANGS, "slow": After(5, {"content": "at last"})}
    commands: dict[str, Any] = {"deploys": {"text": "deployed"}, "hang": HANGS}
    return FakePlugin("probe", hears=EVERYTHING, tools=tools, commands=commands, **more)


@asynccontextmanager
async def at_work(
    plugin: FakePlugin,
    model: Model | None = None,
    *,
    asks: list[Question | None] | None = None,
    submits: bool = False,
    **settings: Any,
) -> AsyncGenerator[Gateway]:
    served = model or ScriptedModel()

    def agent_for(channel: Channel) -> Agent:
        return Agent(channel.host, channel.session, served, display=channel.display)

    def ask(_channel: Channel, question: Question | None) -> None:
        assert asks is not None
        asks.append(question)

    gateway = Gateway(agent_for, ask=None if asks is None else ask, **settings)
    with trio.fail_after(WAIT_S):
        host = PluginHost(
            [plugin],
            reserved_commands=COMMANDS,
            approver=None if asks is None else gateway.approve,
            asker=gateway.ask,
            can_ask=gateway.can_ask,
            on_submit=gateway.submit_from_plugin if submits else None,
        )
        async with host, gateway.open(host):
            yield gateway


def say(gateway: Gateway, text: str, key: str = "#oslo") -> PendingMessage:
    return gateway.submit(text, platform="irc", session_key=key, user_id="ada")


async def said(gateway: Gateway, text: str, key: str = "#oslo") -> tuple[str, str]:
    reply = await say(gateway, text, key).wait()
    return reply.outcome, reply.text
