"""A plugin that hears everything, and a whole turn of one of everything."""

from __future__ import annotations

import pytest

from sliphook import Turn
from sliphook_sdk.protocol import Message, Usage
from tests.pairs import check_pairs
from tests.programs import EVERYTHING, Program, Workshop

WHOLE_TURN = [
    "session_start",
    "turn_start",
    "user_prompt_submit",
    "pre_llm_call",
    "post_llm_call",
    "pre_tool_call",
    "post_tool_call",
    "subagent_start",
    "turn_start",
    "turn_end",
    "subagent_stop",
    "stop",
    "turn_end",
    "session_end",
]


class Fault(Exception):
    """The agent's own."""


@pytest.fixture
def probe(shop: Workshop) -> Program:
    """Hears everything, child agents too, and holds nothing up."""
    subscriptions = [{"event": event, "subagents": True} for event in EVERYTHING]
    return shop.program(subscriptions=subscriptions, tools=["look"])


async def whole_turn(turn: Turn) -> None:
    """One of everything."""
    await turn.submit()
    await turn.pre_llm_call(provider=None, model="m", messages=[], tools=[])
    answer = Message(role="assistant", content="done")
    turn.post_llm_call(
        provider=None,
        model="m",
        response=answer,
        finish_reason="stop",
        usage=Usage(),
        duration_ms=1.0,
    )
    await turn.call_tool("look", {})
    async with turn.subagent("look around"):
        pass
    await turn.stop()


def ends(probe: Program) -> tuple[list[str], list[str]]:
    """The outcomes of all turns, the reasons of all sessions."""
    check_pairs(probe.fired())
    return [one["outcome"] for one in probe.params("event/turn_end")], [
        one["reason"] for one in probe.params("event/session_end")
    ]
