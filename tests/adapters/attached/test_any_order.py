"""Whatever an agent tells, in whatever order and how many at once: for plugins all pairs hold."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
import trio

from sliphook import PluginHost
from sliphook.adapters.attached.rooms import Room
from sliphook.adapters.dialects.dialect import Dialect
from sliphook.adapters.dialects.known import DIALECTS
from sliphook.adapters.dialects.told import Happening, Misread
from sliphook.adapters.relayed.served import SharedOffers
from sliphook.testing import FakePlugin
from sliphook_sdk.protocol import Answer
from tests.pairs import check_pairs
from tests.programs import EVERYTHING, WAIT_S

STEPS = 60
IDS = ("t-1", "t-2", "t-3", None)


def anything(dialect: Dialect, chance: random.Random) -> Happening | None:
    """One event with fields of any sense; None if it could not be read."""
    event = chance.choice([*dialect.readers])
    child = chance.choice((None, None, "a-1", "a-2"))
    fields: dict[str, Any] = {
        **dict.fromkeys(("session_id", "sessionId", "conversation_id"), "s"),
        **dict.fromkeys(("tool_name", "toolName"), chance.choice(("Bash", "Agent", "Task"))),
        "tool_input": {"command": chance.choice("abc")},
        **dict.fromkeys(("agent_id", "subagent_id"), child),
        "tool_use_id": chance.choice(IDS),
        "tool_calls": [
            {"tool_name": "Bash", "tool_use_id": id} for id in IDS[:-1] if chance.random() < 0.5
        ],
        "prompt": chance.choice(("go", "on")),
        "source": chance.choice(("startup", "resume", "clear", "compact")),
        "reason": chance.choice(("other", "clear", "error")),
        "status": chance.choice(("completed", "aborted", "error")),
        "is_interrupt": chance.random() < 0.2,
        "message": "hello",
        "text": "hello",
        "delta": "hello",
        "final": chance.random() < 0.5,
        "notification_type": "ToolPermission",
        "mcp_server_name": "files",
        "action": chance.choice(("accept", "decline", "cancel")),
        "llm_response": {"text": "x", "candidates": [{"finishReason": chance.choice((None, "x"))}]},
    }
    read = dialect.read(event, fields)
    return None if isinstance(read, Misread) else read


def decides(chance: random.Random) -> Callable[[Any], Answer | None]:
    def decide(_: Any) -> Answer | None:
        return chance.choice(
            (
                None,
                Answer(decision="deny", reason="no"),
                Answer(context=["note"]),
            )
        )

    return decide


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", DIALECTS)
async def test_the_pairs_hold(name: str, seed: int) -> None:
    chance, dialect = random.Random(seed), DIALECTS[name]
    plugin = FakePlugin(
        "ear",
        subscriptions=[{"event": one, "subagents": True} for one in EVERYTHING],
        hooks={
            "pre_tool_call": decides(chance),
            "stop": lambda _: chance.choice((None, Answer(continue_with="on"))),
        },
    )
    with trio.fail_after(WAIT_S):
        async with PluginHost([plugin]) as host, trio.open_nursery() as holding:
            room = Room(dialect, SharedOffers(host), holding)
            async with trio.open_nursery() as hooks:
                for _ in range(STEPS):
                    told = anything(dialect, chance)
                    if told is None:
                        continue
                    if chance.random() < 0.3:
                        hooks.start_soon(room.take, told)
                    else:
                        await room.take(told)
                    if chance.random() < 0.05:
                        await room.interrupt("transcript")
            await room.end("exit")
            holding.cancel_scope.cancel()
    sessions: dict[str, list[dict[str, Any]]] = {}
    for one in plugin.fired():
        message = {"method": f"event/{one.name}", "params": one.params}
        sessions.setdefault(one.params["session_id"], []).append(message)
    for fired in sessions.values():
        check_pairs(fired, gapless=False, unread=True, nested=False)
