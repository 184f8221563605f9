"""A result of which plugins are not told does not pass those that could have changed it."""

from __future__ import annotations

import json
from typing import Any

import pytest
import trio

from sliphook.adapters.attached import calls
from sliphook.adapters.attached import daemon as daemon_module
from sliphook.testing import FakePlugin
from tests.programs import WAIT_S

from .in_process import ask, daemon

LARGE = "a secret, and " + "x" * 1_100_000
WHY = "sliphook: withheld, since plugins that may change results cannot: it has 1,100,"
CALL = {"session_id": "s", "tool_use_id": "t", "tool_input": {"command": "ls"}}
SHELL = {"stdout": LARGE, "stderr": "e", "interrupted": False, "isImage": False, "odd": [1]}
CASES: dict[str, tuple[str, tuple[str, str], dict[str, Any]]] = {
    "claude's shell": (
        "claude-code",
        ("PreToolUse", "PostToolUse"),
        {"tool_name": "Bash", "tool_response": SHELL},
    ),
    "claude's text": (
        "claude-code",
        ("PreToolUse", "PostToolUse"),
        {"tool_name": "Bash", "tool_response": LARGE},
    ),
    "claude's server": (
        "claude-code",
        ("PreToolUse", "PostToolUse"),
        {"tool_name": "mcp__a__b", "tool_response": [{"type": "text", "text": LARGE}]},
    ),
    "codex": (
        "codex",
        ("PreToolUse", "PostToolUse"),
        {"tool_name": "Bash", "tool_response": LARGE},
    ),
    "gemini": (
        "gemini",
        ("BeforeTool", "AfterTool"),
        {"tool_name": "run_shell_command", "tool_response": {"llmContent": LARGE}},
    ),
    "copilot": (
        "copilot",
        ("preToolUse", "postToolUse"),
        {"tool_name": "bash", "toolResult": {"textResultForLlm": LARGE}},
    ),
}


async def said(
    case: str, subscription: dict[str, Any], result: bytes | None = None
) -> dict[str, Any]:
    """The answer to a result; `result`: JSON of another one, in place of the case's."""
    agent, (before, after), more = CASES[case]
    first = {"event": "post_tool_call", **subscription}
    plugin = FakePlugin("redactor", subscriptions=[first, {"event": "pre_tool_call"}])
    with trio.fail_after(WAIT_S):
        async with daemon(agent, plugin) as socket:
            name = {"tool_name": more["tool_name"]}
            await ask(socket, agent, before, json.dumps(CALL | name).encode())
            body = json.dumps(CALL | more).encode()
            if result is not None:
                (field,) = {"tool_response", "toolResult"} & set(more)
                more = name | {field: "HERE"}
                body = json.dumps(CALL | more).encode().replace(b'"HERE"', result)
            reply = await ask(socket, agent, after, body)
    body = reply.partition(b"\n")[2]
    return dict(json.loads(body)) if body else {}


@pytest.mark.parametrize("case", CASES)
async def test_the_model_reads_why(case: str) -> None:
    reply = await said(case, {"replaces": True})
    assert "a secret" not in json.dumps(reply)
    if case == "claude's shell":
        new = reply["hookSpecificOutput"]["updatedToolOutput"]
        assert new.pop("stdout").startswith(WHY)
        assert new == {"stderr": "", "interrupted": False, "isImage": False}
    else:
        found = {
            "claude's text": lambda: reply["hookSpecificOutput"]["updatedToolOutput"],
            "claude's server": lambda: reply["hookSpecificOutput"]["updatedToolOutput"][0]["text"],
            "codex": lambda: reply["reason"],
            "gemini": lambda: reply["reason"],
            "copilot": lambda: reply["modifiedResult"]["textResultForLlm"],
        }
        assert found[case]().startswith(WHY)


@pytest.mark.parametrize(
    "subscription", [{}, {"replaces": True, "match": {"tool_kind": "read"}}, {"mode": "event"}]
)
async def test_not_if_no_plugin_could_have_changed_it(subscription: dict[str, Any]) -> None:
    assert await said("codex", subscription) == {}


UNREAD = {
    # Python 3.15 reads 100,000 levels
    "too deep to be read in part": b'["a secret",' + b"[" * 400_000 + b"]" * 400_000 + b"]",
    "no JSON": b'["a secret", NaN]',
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("result", UNREAD)
async def test_a_result_that_cannot_be_read(case: str, result: str) -> None:
    """Claude Code may not take another in its place, so its turn ends."""
    reply = await said(case, {"replaces": True}, UNREAD[result])
    assert "sliphook: withheld: " in json.dumps(reply)
    if CASES[case][0] == "claude-code":
        assert reply["continue"] is False
    assert await said(case, {}, UNREAD[result]) == {}


async def test_half_a_character_in_a_call_is_told_to_guards() -> None:
    seen: list[Any] = []

    def look(call: Any) -> dict[str, Any]:
        seen.append(call.arguments)
        return {"decision": "deny", "reason": "no"}

    plugin = FakePlugin("guard", hooks={"pre_tool_call": look})
    body = rb'{"session_id":"s","tool_name":"Bash","tool_input":{"command":"a \ud800"}}'
    with trio.fail_after(WAIT_S):
        async with daemon("claude-code", plugin) as socket:
            reply = await ask(socket, "claude-code", "PreToolUse", body)
    assert seen == [{"command": "a \ufffd"}]
    assert b'"permissionDecisionReason":"guard: no"' in reply


SECRET = {"stdout": "the secret", "stderr": ""}
BASH = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "t"}
OTHER = BASH | {"tool_use_id": "u"}
DONE = BASH | {"tool_response": SECRET}
CHILD = {"agent_id": "a", "agent_type": "worker"}
PROMPT = ("UserPromptSubmit", {"prompt": "a"})
UNHEARD: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "the daemon of its first hook was killed": [("PostToolUse", DONE)],
    "its turn had ended": [PROMPT, ("PreToolUse", BASH), ("Stop", {}), ("PostToolUse", DONE)],
    "the next turn had begun": [PROMPT, ("PreToolUse", BASH), PROMPT, ("PostToolUse", DONE)],
    "its child agent works beyond the turn": [
        PROMPT,
        ("SubagentStart", CHILD),
        ("PreToolUse", BASH | CHILD),
        ("Stop", {}),
        ("PostToolUse", DONE | CHILD),
    ],
    "too many others were open": [
        ("PreToolUse", BASH),
        ("PreToolUse", OTHER),
        ("PostToolUse", DONE),
    ],
}


async def last_answer(
    agent: str, hooks: list[tuple[str, dict[str, Any]]], **subscription: Any
) -> dict[str, Any]:
    """The answer to the last of these hooks."""
    first = {"event": "post_tool_call", **subscription}
    plugin = FakePlugin("redactor", subscriptions=[first, {"event": "pre_tool_call"}])
    reply = b""
    with trio.fail_after(WAIT_S):
        async with daemon(agent, plugin) as socket:
            for event, fields in hooks:
                body = json.dumps({"session_id": "s", **fields}).encode()
                reply = await ask(socket, agent, event, body)
    body = reply.partition(b"\n")[2]
    return dict(json.loads(body)) if body else {}


@pytest.mark.parametrize("case", UNHEARD)
async def test_a_result_of_a_call_that_is_over_for_plugins(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if case == "too many others were open":
        monkeypatch.setattr(calls, "MOST_OPEN", 1)
    reply = await last_answer("claude-code", UNHEARD[case], replaces=True)
    new = reply["hookSpecificOutput"]["updatedToolOutput"]
    assert new["stdout"].startswith("sliphook: withheld, since plugins that may change results")
    assert await last_answer("claude-code", UNHEARD[case]) == {}


async def test_what_a_command_gave_before_the_person_stopped_it() -> None:
    """Gemini CLI gives it to the model, and tells it like any result."""
    shell = {"tool_name": "run_shell_command", "tool_input": {"command": "env"}}
    stopped = {"llmContent": "Command was cancelled by user before it could complete. the secret"}
    hooks = [("BeforeTool", shell), ("AfterTool", shell | {"tool_response": stopped})]
    reply = await last_answer("gemini", hooks, replaces=True)
    assert reply["reason"].startswith("sliphook: withheld, since plugins that may change results")


async def test_a_hook_is_answered_if_there_is_no_room_for_a_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(pid: int) -> int:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(daemon_module, "agent_of", fails)
    reply = await last_answer("claude-code", [("PreToolUse", BASH)])
    assert reply["hookSpecificOutput"]["permissionDecision"] == "deny"
