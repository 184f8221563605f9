"""Codex, Gemini CLI, Copilot CLI: what they sent is read, and what we say they were seen to take."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from sliphook.adapters.dialects.answer import HookAnswer
from sliphook.adapters.dialects.known import DIALECTS
from sliphook.adapters.dialects.told import Misread, ToolDone

from .recorded import SESSION, TURN, event_of, names, told

CODEX_CHILD = "00000000-0000-4000-8000-000000000003"
SCRIPT = 'SCRIPT: TOOL bash {"command":"echo hi-from-tool","description":"say hi"}'
SAY_HI = {"command": "echo hi-from-tool", "description": "say hi"}
ECHO = {
    "tool_name": "mcp__sliphook__echo",
    "tool_kind": "mcp",
    "origin": "mcp:sliphook",
    "arguments": {"text": "hello"},
    "model_call_id": "call_e658975f69c04ad2",
}
SPAWN = {
    "tool_name": "spawn_agent",
    "tool_kind": "agent",
    "arguments": {"message": "child task"},
    "model_call_id": "call_d50c917d114f4a3b",
}
GEMINI_SHELL = {"tool_name": "run_shell_command", "tool_kind": "shell", "arguments": SAY_HI}
GEMINI_PROMPT = (
    "<hook_context>session ctx</hook_context>\n\n"
    'SCRIPT: TOOL run_shell_command {"command":"echo hi-from-tool","description":"say hi"}'
)
GEMINI_REQUEST = (
    "<session_context>\nThis is the Gemini CLI. We are setting up the context for our chat.\n"
    "Today's date is Saturday, November 28, 2026 (formatted according to the us … (cut)"
)
COPILOT_SHELL = {"tool_name": "bash", "tool_kind": "shell", "arguments": SAY_HI}

READ: dict[tuple[str, str], dict[str, Any]] = {
    ("codex", "SessionStart"): {"type": "SessionStarted", "source": "startup"},
    ("codex", "SessionEnd"): {"type": "SessionEnded", "reason": "exit"},
    ("codex", "UserPromptSubmit"): {
        "type": "Prompted",
        "turn_id": TURN,
        "model": "fake-model",
        "agent_id": None,
        "text": 'SCRIPT: TOOL exec_command {"cmd":"echo hi-from-tool"} TOOL exec_command {"cmd":"false"}',
    },
    ("codex", "UserPromptSubmit-in-subagent"): {
        "type": "Prompted",
        "agent_id": CODEX_CHILD,
        "agent_type": "default",
        "text": "child task",
    },
    ("codex", "PreToolUse"): {
        "type": "ToolAsked",
        "turn_id": TURN,
        "tool_name": "Bash",
        "tool_kind": "shell",
        "origin": "agent",
        "arguments": {"command": "echo hi-from-tool"},
        "permission_mode": "bypassPermissions",
    },
    ("codex", "PreToolUse-mcp"): {"type": "ToolAsked", **ECHO},
    ("codex", "PreToolUse-subagent"): {"type": "ToolAsked", **SPAWN},
    ("codex", "PostToolUse"): {
        "type": "ToolDone",
        "model_call_id": "call_a3e0e0d335534635",
        "status": "ok",
        "status_known": False,
        "content": "hi-from-tool\n",
        "duration_ms": None,
    },
    ("codex", "PostToolUse-mcp"): {
        "type": "ToolDone",
        **ECHO,
        "status": "ok",
        "status_known": True,
        "content": "echo: hello",
    },
    ("codex", "PostToolUse-subagent"): {
        "type": "ToolDone",
        **SPAWN,
        "content": '{"agent_id":"00000000-0000-4000-8000-000000000003","nickname":"Confucius"}',
    },
    ("codex", "Stop"): {
        "type": "StopAsked",
        "again": False,
        "last_assistant_message": "done after 2 tool results",
    },
    ("codex", "Stop-active"): {"type": "StopAsked", "again": True},
    ("codex", "Interrupt"): {"type": "TurnInterrupted", "turn_id": TURN},
    ("codex", "SubagentStart"): {"type": "SubagentStarted", "agent_id": CODEX_CHILD},
    ("codex", "SubagentStop"): {
        "type": "SubagentStopped",
        "agent_id": CODEX_CHILD,
        "status": "completed",
        "summary": "ok",
    },
    ("gemini-cli", "SessionStart"): {"type": "SessionStarted", "source": "startup"},
    ("gemini-cli", "SessionEnd"): {"type": "SessionEnded", "reason": "exit"},
    ("gemini-cli", "BeforeAgent"): {"type": "Prompted", "text": GEMINI_PROMPT, "queued": False},
    ("gemini-cli", "BeforeTool"): {"type": "ToolAsked", **GEMINI_SHELL, "model_call_id": None},
    ("gemini-cli", "AfterTool"): {
        "type": "ToolDone",
        **GEMINI_SHELL,
        "status": "ok",
        "content": "<untrusted_context>\nOutput: hi-from-tool\nProcess Group PGID: 1194\n"
        "</untrusted_context>",
    },
    ("gemini-cli", "AfterAgent"): {
        "type": "StopAsked",
        "again": False,
        "last_assistant_message": "done after 1 tool results",
    },
    ("gemini-cli", "BeforeModel"): {
        "type": "ModelAsked",
        "model": "fake-model",
        "messages": (("user", GEMINI_REQUEST),),
    },
    ("gemini-cli", "AfterModel"): {
        "type": "ModelAnswered",
        "model": "fake-model",
        "text": "no tool run_shell_command here",
        "last": True,
        "usage": (100, 10),
    },
    ("gemini-cli", "Notification"): {
        "type": "Notified",
        "kind": "ToolPermission",
        "message": "Tool Confirm Shell Command requires execution",
    },
    ("copilot-cli", "sessionStart"): {"type": "SessionStarted", "source": "startup"},
    ("copilot-cli", "sessionEnd"): {"type": "SessionEnded", "reason": "exit"},
    ("copilot-cli", "userPromptSubmitted"): {"type": "Prompted", "text": SCRIPT},
    ("copilot-cli", "preToolUse"): {"type": "ToolAsked", **COPILOT_SHELL, "origin": "agent"},
    ("copilot-cli", "permissionRequest"): {
        "type": "PermissionAsked",
        "tool_name": "bash",
        "arguments": {"command": "echo rewritten"},
    },
    ("copilot-cli", "postToolUse"): {
        "type": "ToolDone",
        "tool_name": "bash",
        "arguments": {"command": "echo rewritten", "description": "x"},
        "status": "ok",
        "content": "rewritten\n<shellId: 0 completed with exit code 0>",
    },
    ("copilot-cli", "agentStop"): {
        "type": "StopAsked",
        "again": False,
        "last_assistant_message": None,
        "transcript_path": f"/home/ada/.copilot/session-state/{SESSION}/events.jsonl",
    },
    ("copilot-cli", "SessionStart-pascal"): {"type": "SessionStarted", "source": "startup"},
    ("copilot-cli", "SessionEnd-pascal"): {"type": "SessionEnded", "reason": "exit"},
    ("copilot-cli", "UserPromptSubmit-pascal"): {"type": "Prompted", "text": SCRIPT},
    ("copilot-cli", "PreToolUse-pascal"): {
        "type": "ToolAsked",
        **(COPILOT_SHELL | {"tool_name": "Bash"}),
    },
    ("copilot-cli", "PermissionRequest-pascal"): {"type": "PermissionAsked", "tool_name": "bash"},
    ("copilot-cli", "PostToolUse-pascal"): {
        "type": "ToolDone",
        "status": "ok",
        "content": "hi-from-tool\n<shellId: 0 completed with exit code 0>",
    },
    ("copilot-cli", "Stop-pascal"): {"type": "StopAsked", "again": False},
}

NOT_OURS = {
    ("gemini-cli", "BeforeToolSelection"),
    ("gemini-cli", "PreCompress"),
    ("copilot-cli", "userPromptTransformed"),
}
"""Events that were recorded and that nothing of ours is made of."""


def test_every_sample_is_here() -> None:
    recorded = {
        (agent, sample)
        for agent in ("codex", "gemini-cli", "copilot-cli")
        for sample in names(agent)
    }
    assert recorded == set(READ) | NOT_OURS
    for agent, sample in NOT_OURS:
        assert event_of(sample) not in DIALECTS[agent.removesuffix("-cli")].readers


@pytest.mark.parametrize(("agent", "sample"), READ)
def test_a_sample_is_read(agent: str, sample: str) -> None:
    wanted = READ[agent, sample]
    read = msgspec.to_builtins(told(agent, sample))
    assert {name: read[name] for name in wanted} == wanted
    assert (read["session_id"], read["cwd"]) == (SESSION, "/home/ada/project")


@pytest.mark.parametrize(
    ("agent", "sample", "changed", "status"),
    [
        (
            "gemini-cli",
            "AfterTool",
            {"tool_response": {"llmContent": "no\nExit Code: 1\n"}},
            "error",
        ),
        ("gemini-cli", "AfterTool", {"tool_response": {"llmContent": "Exit Code: 0"}}, "ok"),
        ("gemini-cli", "AfterTool", {"tool_response": {"llmContent": "", "error": {}}}, "error"),
        (
            "gemini-cli",
            "AfterTool",
            {
                "tool_response": {
                    "llmContent": "<untrusted_context>\nCommand was cancelled by user before it "
                    "could complete. There was no output before it was cancelled.\n"
                    "</untrusted_context>",
                    "returnDisplay": "Command cancelled by user.",
                }
            },
            "interrupted",
        ),
        (
            "gemini-cli",
            "AfterTool",
            {"tool_response": {"llmContent": "Output: Command was cancelled by user before"}},
            "ok",
        ),
        (
            "copilot-cli",
            "postToolUse",
            {"toolResult": {"textResultForLlm": "<shellId: 0 completed with exit code 2>"}},
            "error",
        ),
        ("copilot-cli", "postToolUse", {"toolResult": {"resultType": "failure"}}, "error"),
        ("codex", "PostToolUse-mcp", {"tool_response": {"content": [], "isError": True}}, "error"),
    ],
)
def test_how_a_call_ended_is_found(
    agent: str, sample: str, changed: dict[str, Any], status: str
) -> None:
    read = told(agent, sample, **changed)
    assert isinstance(read, ToolDone)
    assert read.status == status


def hook(event: str, **said: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": event, **said}}


NEEDS = "needs a person's approval: guard: sure?"
NO = HookAnswer(denied="guard: no")
ASK = HookAnswer(ask="guard: sure?")
TEXT = HookAnswer(context=("[guard] one",))
CHANGED = HookAnswer(arguments={"command": "ls", "description": "say hi"})
REDACTED = HookAnswer(result="[redacted]")
GO_ON = HookAnswer(continue_with="Run the tests.")
BLOCK = {"decision": "block", "reason": "guard: no"}
DENY = {"decision": "deny", "reason": "guard: no"}
ON = {"decision": "block", "reason": "Run the tests."}

WRITTEN: list[tuple[str, str, HookAnswer, dict[str, Any] | None]] = [
    ("codex", "SessionStart", TEXT, hook("SessionStart", additionalContext="[guard] one")),
    ("codex", "UserPromptSubmit", NO, BLOCK),
    ("codex", "UserPromptSubmit", TEXT, hook("UserPromptSubmit", additionalContext="[guard] one")),
    ("codex", "PreToolUse", HookAnswer(), None),
    (
        "codex",
        "PreToolUse",
        NO,
        hook("PreToolUse", permissionDecision="deny", permissionDecisionReason="guard: no"),
    ),
    (
        "codex",
        "PreToolUse",
        ASK,
        hook("PreToolUse", permissionDecision="deny", permissionDecisionReason=NEEDS),
    ),
    (
        "codex",
        "PreToolUse",
        CHANGED,
        hook(
            "PreToolUse",
            permissionDecision="allow",
            updatedInput={"command": "ls", "description": "say hi"},
        ),
    ),
    ("codex", "PreToolUse", TEXT, hook("PreToolUse", additionalContext="[guard] one")),
    ("codex", "PreToolUse", HookAnswer(end="stop"), None),
    ("codex", "PostToolUse", REDACTED, {"decision": "block", "reason": "[redacted]"}),
    ("codex", "PostToolUse", HookAnswer(result=""), {"decision": "block", "reason": "(nothing)"}),
    # to Codex a reason of blanks is none: the model would read the tool's own result
    (
        "codex",
        "PostToolUse",
        HookAnswer(result=" \n"),
        {"decision": "block", "reason": "(nothing)"},
    ),
    (
        "codex",
        "PreToolUse",
        HookAnswer(denied=" "),
        hook(
            "PreToolUse",
            permissionDecision="deny",
            permissionDecisionReason="denied by a plugin",
        ),
    ),
    ("codex", "PostToolUse", TEXT, hook("PostToolUse", additionalContext="[guard] one")),
    ("codex", "Stop", GO_ON, ON),
    ("codex", "Interrupt", HookAnswer(message="hello"), {"systemMessage": "hello"}),
    ("codex", "Interrupt", GO_ON, None),
    ("codex", "SessionEnd", HookAnswer(message="hello"), None),
    ("codex", "SubagentStart", TEXT, hook("SubagentStart", additionalContext="[guard] one")),
    ("gemini-cli", "SessionStart", TEXT, hook("SessionStart", additionalContext="[guard] one")),
    ("gemini-cli", "BeforeAgent", NO, DENY),
    ("gemini-cli", "BeforeAgent", TEXT, hook("BeforeAgent", additionalContext="[guard] one")),
    ("gemini-cli", "BeforeTool", HookAnswer(), None),
    ("gemini-cli", "BeforeTool", NO, DENY),
    ("gemini-cli", "BeforeTool", ASK, {"decision": "deny", "reason": NEEDS}),
    (
        "gemini-cli",
        "BeforeTool",
        CHANGED,
        hook("BeforeTool", tool_input={"command": "ls", "description": "say hi"}),
    ),
    (
        "gemini-cli",
        "BeforeTool",
        HookAnswer(arguments={"command": "ls"}),
        {
            "decision": "deny",
            "reason": "sliphook: Gemini CLI cannot take the argument 'description' out of a call",
        },
    ),
    (
        "gemini-cli",
        "BeforeTool",
        HookAnswer(end="guard: interrupted"),
        {"continue": False, "stopReason": "guard: interrupted"},
    ),
    ("gemini-cli", "AfterTool", REDACTED, {"decision": "deny", "reason": "[redacted]"}),
    (
        "gemini-cli",
        "AfterTool",
        HookAnswer(result="[redacted]", context=("[guard] one",)),
        {"decision": "deny", "reason": "[redacted]\n\n[guard] one"},
    ),
    ("gemini-cli", "AfterTool", TEXT, hook("AfterTool", additionalContext="[guard] one")),
    ("gemini-cli", "AfterAgent", GO_ON, {"decision": "deny", "reason": "Run the tests."}),
    ("gemini-cli", "BeforeModel", NO, None),
    ("copilot-cli", "sessionStart", TEXT, {"additionalContext": "[guard] one"}),
    ("copilot-cli", "userPromptSubmitted", NO, BLOCK),
    ("copilot-cli", "userPromptSubmitted", TEXT, {"additionalContext": "[guard] one"}),
    ("copilot-cli", "preToolUse", HookAnswer(), None),
    (
        "copilot-cli",
        "preToolUse",
        NO,
        {"permissionDecision": "deny", "permissionDecisionReason": "guard: no"},
    ),
    (
        "copilot-cli",
        "preToolUse",
        ASK,
        {"permissionDecision": "ask", "permissionDecisionReason": "guard: sure?"},
    ),
    (
        "copilot-cli",
        "preToolUse",
        CHANGED,
        {"modifiedArgs": {"command": "ls", "description": "say hi"}},
    ),
    (
        "copilot-cli",
        "postToolUse",
        REDACTED,
        {"modifiedResult": {"resultType": "success", "textResultForLlm": "[redacted]"}},
    ),
    ("copilot-cli", "postToolUse", TEXT, {"additionalContext": "[guard] one"}),
    ("copilot-cli", "agentStop", GO_ON, ON),
    ("copilot-cli", "permissionRequest", NO, None),
]


@pytest.mark.parametrize(("agent", "sample", "answer", "wanted"), WRITTEN)
def test_an_answer_is_written(
    agent: str, sample: str, answer: HookAnswer, wanted: dict[str, Any] | None
) -> None:
    reply = DIALECTS[agent.removesuffix("-cli")].write(told(agent, sample), answer)
    assert (json.loads(reply.stdout) if reply.stdout else None) == wanted
    assert (reply.exit_code, reply.stderr) == (0, "")


CURSOR = {"conversation_id": "c1", "generation_id": "g1", "workspace_roots": ["/home/ada/project"]}
SHELL = {"tool_name": "Shell", "tool_input": {"command": "ls"}, "tool_use_id": "t1"}


@pytest.mark.parametrize(
    ("event", "payload", "answer", "wanted"),
    [
        ("sessionStart", {}, TEXT, {"additional_context": "[guard] one"}),
        (
            "beforeSubmitPrompt",
            {"prompt": "x"},
            NO,
            {"continue": False, "user_message": "guard: no"},
        ),
        ("preToolUse", SHELL, HookAnswer(), None),
        (
            "preToolUse",
            SHELL,
            NO,
            {"permission": "deny", "user_message": "guard: no", "agent_message": "guard: no"},
        ),
        (
            "preToolUse",
            SHELL,
            ASK,
            {"permission": "deny", "user_message": NEEDS, "agent_message": NEEDS},
        ),
        (
            "preToolUse",
            SHELL,
            HookAnswer(arguments={"command": "x"}),
            {"updated_input": {"command": "x"}},
        ),
        ("postToolUse", SHELL, TEXT, {"additional_context": "[guard] one"}),
        ("postToolUse", SHELL, REDACTED, None),
        ("stop", {"status": "completed"}, GO_ON, {"followup_message": "Run the tests."}),
        ("stop", {"status": "aborted"}, GO_ON, None),
    ],
)
def test_cursor_is_answered_as_its_documents_say(
    event: str, payload: dict[str, Any], answer: HookAnswer, wanted: dict[str, Any] | None
) -> None:
    cursor = DIALECTS["cursor"]
    read = cursor.read(event, CURSOR | payload)
    assert not isinstance(read, Misread)
    assert (read.session_id, read.turn_id, read.cwd) == ("c1", "g1", "/home/ada/project")
    reply = cursor.write(read, answer)
    assert (json.loads(reply.stdout) if reply.stdout else None) == wanted


@pytest.mark.parametrize(
    ("agent", "event", "code", "out"),
    [
        ("codex", "PreToolUse", 2, ""),
        ("gemini", "BeforeTool", 2, ""),
        ("copilot", "preToolUse", 1, ""),
        (
            "cursor",
            "preToolUse",
            0,
            '{"permission":"deny","agent_message":"sliphook: the guards could not be asked, so this is denied."}',
        ),
    ],
)
def test_a_client_that_reaches_no_daemon_denies(
    agent: str, event: str, code: int, out: str
) -> None:
    reply = DIALECTS[agent].guards[event]
    assert (reply.exit_code, reply.stdout.decode()) == (code, out)


@pytest.mark.parametrize(
    ("agent", "event", "wanted"),
    [
        (
            "codex",
            "PreToolUse",
            {"matcher": "*", "hooks": [{"type": "command", "command": "/x", "timeout": 60}]},
        ),
        (
            "gemini",
            "BeforeTool",
            {"matcher": "*", "hooks": [{"type": "command", "command": "/x", "timeout": 60000}]},
        ),
        ("copilot", "preToolUse", {"type": "command", "bash": "/x", "timeoutSec": 60}),
        ("cursor", "preToolUse", {"command": "/x", "timeout": 60, "failClosed": True}),
    ],
)
def test_a_hook_is_written_as_the_agent_has_it(
    agent: str, event: str, wanted: dict[str, Any]
) -> None:
    assert DIALECTS[agent].config.hook(event, "/x", timeout_s=60, closed=True) == wanted
