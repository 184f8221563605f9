"""Several calls at once that a guard wants asked: each hook is answered, none waits for another."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import trio

from sliphook.adapters.attached.build import Client
from sliphook.testing import FakePlugin
from tests.programs import WAIT_S

from .conftest import Install
from .fake_agent import Agent, Said, wait_for
from .in_process import ask, daemon
from .test_dialogues import bash, done
from .test_questions import ASKED, batch

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


def test_clients_at_once_and_what_the_person_says_to_each(
    client: Client, install: Install, agents: Callable[..., Agent]
) -> None:
    on = """
    if method == "hook/pre_tool_call":
        return {"decision": "ask", "reason": params["arguments"]["command"]}
    """
    guard = install(subscriptions=ASKED, on=on)
    agent = agents(client)
    agent.hook("UserPromptSubmit", prompt="go")
    numbers = range(8)
    asked = [agent.asked("PreToolUse", closed=True, **bash(f"t-{n}", f"do {n}")) for n in numbers]
    assert [one.specific for one in agent.run(asked)] == [
        {"permissionDecision": "ask", "permissionDecisionReason": f"guard: do {n}"} for n in numbers
    ]
    ends = [agent.asked("PostToolUse", **done(f"t-{n}", f"do {n}", "x")) for n in (6, 1, 4)]
    assert agent.run(ends) == [Said(0, "", "")] * 3
    agent.hook("PostToolBatch", tool_calls=batch(*(f"t-{n}" for n in numbers)))
    wait_for(lambda: len(guard.params("event/user_input_received")) == 8)
    commands = {
        one["call_id"]: one["arguments"]["command"] for one in guard.params("hook/pre_tool_call")
    }
    received = guard.params("event/user_input_received")
    assert {commands[one["call_id"]]: one["choice"] for one in received} == {
        **{f"do {n}": "allow" for n in (1, 4, 6)},
        **{f"do {n}": "deny" for n in (0, 2, 3, 5, 7)},
    }
