"""Several calls at once that a guard wants asked: each hook is answered, none waits for another."""

from __future__ import annotations

import json
from typing import Any

import pytest
import trio

from sliphook.testing import FakePlugin
from tests.programs import WAIT_S

from .in_process import ask, daemon

ASKS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "claude-code": ("PreToolUse", "Bash", {"permissionDecision": "ask"}),
    "codex": ("PreToolUse", "Bash", {"permissionDecision": "deny"}),
    "gemini": ("BeforeTool", "run_shell_command", {"decision": "deny"}),
    "copilot": ("preToolUse", "bash", {"permissionDecision": "ask"}),
    "cursor": ("preToolUse", "Shell", {"permission": "deny"}),
}


@pytest.mark.parametrize("agent", ASKS)
async def test_each_is_answered_while_the_first_is_open(agent: str) -> None:
    event, tool, wanted = ASKS[agent]
    guard = FakePlugin("guard", hooks={"pre_tool_call": {"decision": "ask", "reason": "sure?"}})
    replies: list[dict[str, Any]] = []

    async def call(socket: Any, number: int) -> None:
        said = {"session_id": "s", "tool_name": tool, "tool_input": {"command": f"echo {number}"}}
        if agent in ("claude-code", "codex"):
            said["tool_use_id"] = f"t-{number}"
        reply = await ask(socket, agent, event, json.dumps(said).encode())
        body = json.loads(reply.partition(b"\n")[2])
        replies.append(body.get("hookSpecificOutput", body))

    with trio.fail_after(WAIT_S):
        async with daemon(agent, guard) as socket:
            async with trio.open_nursery() as nursery:
                for number in range(3):
                    nursery.start_soon(call, socket, number)
            await call(socket, 3)  # and one behind the others, in the same turn
    assert len(replies) == 4
    for reply in replies:
        assert {key: reply.get(key) for key in wanted} == wanted
        assert "guard: sure?" in json.dumps(reply)
