"""A tool of the agent, and what a plugin was fired."""

from __future__ import annotations

from typing import Any

from sliphook.session.session import Session
from sliphook.testing import FakePlugin


async def shell(arguments: dict[str, Any]) -> str:
    return f"ran {arguments['command']}"


def fired(plugin: FakePlugin) -> list[dict[str, Any]]:
    return [{"method": message.method, "params": message.params} for message in plugin.fired()]


async def call_shell(session: Session) -> tuple[str, str]:
    async with session.turn("x") as turn:
        outcome = await turn.call_tool("shell", {"command": "ls"}, run=shell)
        return outcome.status, outcome.text()
    raise AssertionError("there is no interrupt here")
