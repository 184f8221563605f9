"""A guard that was installed after the hooks were attached: their commands do not say `closed`."""

from __future__ import annotations

import json
from typing import Any

import pytest
import trio

from sliphook.testing import FakePlugin
from tests.programs import WAIT_S

from .in_process import ask, daemon

CALL = {"session_id": "s", "tool_use_id": "t"}
UNTOLD: dict[str, bytes] = {
    "too many values": json.dumps(
        CALL | {"tool_name": "Bash", "tool_input": {"a": [0] * 25_000}}
    ).encode(),
    "too long": json.dumps(
        CALL | {"tool_name": "Bash", "tool_input": {"a": "x" * 1_100_000}}
    ).encode(),
    "no name of a tool": json.dumps(CALL | {"tool_input": {}}).encode(),
    "no JSON": b'{"session_id":"s","tool_name":',
}


async def said(event: str, body: bytes, *subscriptions: dict[str, Any]) -> bytes:
    plugin = FakePlugin("guard", subscriptions=list(subscriptions))
    with trio.fail_after(WAIT_S):
        async with daemon("claude-code", plugin) as socket:
            return await ask(socket, "claude-code", event, body, closed=False)


@pytest.mark.parametrize("untold", UNTOLD)
async def test_what_it_cannot_be_told_is_denied(untold: str) -> None:
    reply = await said("PreToolUse", UNTOLD[untold], {"event": "pre_tool_call"})
    assert b'"permissionDecision":"deny"' in reply


@pytest.mark.parametrize("untold", UNTOLD)
@pytest.mark.parametrize(
    "other",
    [
        {"event": "pre_tool_call", "on_failure": "open"},
        {"event": "pre_tool_call", "mode": "event"},
        {"event": "user_prompt_submit", "on_failure": "closed"},
    ],
)
async def test_without_a_closed_guard_it_runs(untold: str, other: dict[str, Any]) -> None:
    reply = await said("PreToolUse", UNTOLD[untold], other)
    assert reply == b"sliphook 1 0 0 0\n"


async def test_a_guard_of_prompts() -> None:
    body = b'{"session_id":"s","prompt":'
    guard = {"event": "user_prompt_submit", "on_failure": "closed"}
    assert b'"decision":"block"' in await said("UserPromptSubmit", body, guard)
    calls = {"event": "pre_tool_call", "on_failure": "closed"}
    assert await said("UserPromptSubmit", body, calls) == b"sliphook 1 0 0 0\n"
