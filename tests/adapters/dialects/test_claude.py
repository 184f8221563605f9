"""Claude Code: what it sent is read, and what we say is what it was seen to take."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sliphook.adapters.dialects.answer import HookAnswer
from sliphook.adapters.dialects.known import DIALECTS
from sliphook.adapters.dialects.told import (
    BatchDone,
    CallEnd,
    ElicitationAnswered,
    Elicited,
    Happening,
    ModelAnswered,
    Notified,
    PermissionAsked,
    Prompted,
    SessionEnded,
    SessionStarted,
    StopAsked,
    SubagentStarted,
    SubagentStopped,
    ToolAsked,
    ToolDone,
)

from .recorded import SESSION, TURN, event_of, names, told

AGENT = "claude-code"
CLAUDE = DIALECTS[AGENT]

START: dict[str, Any] = {
    "session_id": SESSION,
    "cwd": "/home/ada/project",
    "transcript_path": f"/home/ada/.claude/projects/-home-ada-project/{SESSION}.jsonl",
}
IN_TURN: dict[str, Any] = START | {"turn_id": TURN}
IN_MODE: dict[str, Any] = IN_TURN | {"permission_mode": "default"}
SHOWN: dict[str, Any] = START | {"turn_id": "00000000-0000-4000-8000-000000000003"}
BASH: dict[str, Any] = {
    "tool_name": "Bash",
    "tool_kind": "shell",
    "origin": "agent",
    "arguments": {"command": "echo hi-from-tool", "description": "say hi"},
}
ECHO: dict[str, Any] = {
    "tool_name": "mcp__sliphook__echo",
    "tool_kind": "mcp",
    "origin": "mcp:sliphook",
    "arguments": {"text": "hello"},
    "model_call_id": "toolu_87607d484f264eb6a1ab",
}
CHILD: dict[str, Any] = {
    "tool_name": "Agent",
    "tool_kind": "agent",
    "origin": "agent",
    "arguments": {
        "description": "child",
        "prompt": "child task",
        "subagent_type": "general-purpose",
    },
    "model_call_id": "toolu_4d855a1299a047d4a3a3",
}
LAUNCHED = {
    "isAsync": True,
    "status": "async_launched",
    "agentId": "a547d8469273b2236",
    "description": "child",
    "resolvedModel": "claude-opus-5-5",
    "prompt": "child task",
    "outputFile": f"/home/ada/.claude/tmp/-home-ada-project/{SESSION}/tasks/a547d8469273b2236.output",
    "canReadOutputFile": True,
    "canContinueAgent": True,
}
LAUNCHED_TEXT = (
    '{"isAsync":true,"status":"async_launched","agentId":"a547d8469273b2236",'
    '"description":"child","resolvedModel":"claude-opus-5-5","prompt":"child task",'
    f'"outputFile":"/home/ada/.claude/tmp/-home-ada-project/{SESSION}/tasks/a547d8469273b2236.output",'
    '"canReadOutputFile":true,"canContinueAgent":true}'
)

READ: dict[str, Happening] = {
    "SessionStart": SessionStarted(event="SessionStart", source="startup", **START),
    "SessionEnd": SessionEnded(event="SessionEnd", reason="exit", **IN_TURN),
    "SessionEnd-exit": SessionEnded(event="SessionEnd", reason="exit", **IN_TURN),
    "UserPromptSubmit": Prompted(
        event="UserPromptSubmit",
        text='SCRIPT: TOOL Bash {"command":"echo hi-from-tool","description":"say hi"}',
        **IN_MODE,
    ),
    "UserPromptSubmit-task-notification": Prompted(
        event="UserPromptSubmit",
        queued=True,
        text="<task-notification>\n<task-id>a547d8469273b2236</task-id>\n"
        "<tool-use-id>toolu_4d855a1299a047d4a3a3</tool-use-id>\n"
        "<output-file>/home/ada/.claude/tmp/-home-ada-proj … (cut)",
        **IN_MODE,
    ),
    "PreToolUse": ToolAsked(
        event="PreToolUse", model_call_id="toolu_59c141e8d9004a5e8cf4", **BASH, **IN_MODE
    ),
    "PreToolUse-mcp": ToolAsked(event="PreToolUse", **ECHO, **IN_MODE),
    "PreToolUse-subagent": ToolAsked(event="PreToolUse", **CHILD, **IN_MODE),
    "PermissionRequest": PermissionAsked(
        event="PermissionRequest",
        **(
            BASH
            | {"arguments": {"command": "touch f; sleep 40; echo slept", "description": "slow"}}
        ),
        **IN_MODE,
    ),
    "PostToolUse": ToolDone(
        event="PostToolUse",
        model_call_id="toolu_f0d3b125d2a14bb8b12c",
        status="ok",
        content="hi-from-tool",
        data={
            "stdout": "hi-from-tool",
            "stderr": "",
            "interrupted": False,
            "isImage": False,
            "noOutputExpected": False,
        },
        duration_ms=83.0,
        **BASH,
        **IN_MODE,
    ),
    "PostToolUse-mcp": ToolDone(
        event="PostToolUse",
        status="ok",
        content="echo: hello",
        data=[{"type": "text", "text": "echo: hello"}],
        duration_ms=242.0,
        **ECHO,
        **IN_MODE,
    ),
    "PostToolUse-subagent": ToolDone(
        event="PostToolUse",
        status="ok",
        content=LAUNCHED_TEXT,
        data=LAUNCHED,
        duration_ms=471.0,
        **CHILD,
        **IN_MODE,
    ),
    "PostToolBatch": BatchDone(
        event="PostToolBatch",
        calls=(
            CallEnd(
                model_call_id="toolu_59c141e8d9004a5e8cf4", tool_name="Bash", content="json asks"
            ),
        ),
        **IN_MODE,
    ),
    "Stop": StopAsked(event="Stop", last_assistant_message="done after 1 tool results", **IN_MODE),
    "Stop-active": StopAsked(
        event="Stop", again=True, last_assistant_message="done after 0 tool results", **IN_MODE
    ),
    "SubagentStart": SubagentStarted(
        event="SubagentStart",
        agent_id="a547d8469273b2236",
        agent_type="general-purpose",
        **IN_TURN,
    ),
    "SubagentStop": SubagentStopped(
        event="SubagentStop",
        agent_id="a547d8469273b2236",
        agent_type="general-purpose",
        summary="ok",
        **IN_MODE,
    ),
    "Notification": Notified(
        event="Notification",
        kind="permission_prompt",
        message="Claude needs your permission",
        **IN_TURN,
    ),
    "Elicitation": Elicited(event="Elicitation", server="sliphook", message="Really?", **IN_TURN),
    "ElicitationResult": ElicitationAnswered(
        event="ElicitationResult", server="sliphook", action="cancel", **IN_TURN
    ),
    "MessageDisplay": ModelAnswered(
        event="MessageDisplay",
        text="done after 1 tool results",
        last=True,
        **SHOWN,
    ),
}


def test_every_sample_is_here() -> None:
    assert names(AGENT) == set(READ)


@pytest.mark.parametrize("sample", READ)
def test_a_sample_is_read(sample: str) -> None:
    assert told(AGENT, sample) == READ[sample]


@pytest.mark.parametrize(
    ("source", "ours"),
    [
        ("startup", "startup"),
        ("resume", "resume"),
        ("fork", "resume"),
        ("clear", "reset"),
        ("compact", "compacted"),
        ("of-tomorrow", "startup"),
    ],
)
def test_how_a_session_begins(source: str, ours: str) -> None:
    read = told(AGENT, "SessionStart", source=source)
    assert isinstance(read, SessionStarted)
    assert read.source == ours


def test_clear_ends_a_session_as_reset() -> None:
    read = told(AGENT, "SessionEnd", reason="clear")
    assert isinstance(read, SessionEnded)
    assert read.reason == "reset"


def test_a_failed_call_has_its_error_as_content() -> None:
    read = CLAUDE.read(
        "PostToolUseFailure",
        {
            "session_id": SESSION,
            "tool_name": "Bash",
            "tool_input": {"command": "false"},
            "tool_use_id": "toolu_1",
            "error": "Exit code 1",
            "is_interrupt": False,
            "duration_ms": 12,
        },
    )
    assert isinstance(read, ToolDone)
    assert (read.status, read.content, read.duration_ms) == ("error", "Exit code 1", 12.0)


def hook(event: str, **said: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": event, **said}}


TEXTS = ("[guard] one", "[memory] two")
SHELL_RESULT = {
    "stdout": "[redacted]",
    "stderr": "",
    "interrupted": False,
    "isImage": False,
    "noOutputExpected": False,
}
MCP_RESULT = [{"type": "text", "text": "[redacted]"}]

WRITTEN: list[tuple[str, HookAnswer, dict[str, Any] | None]] = [
    ("SessionStart", HookAnswer(), None),
    (
        "SessionStart",
        HookAnswer(context=TEXTS),
        hook("SessionStart", additionalContext="[guard] one\n\n[memory] two"),
    ),
    ("SessionStart", HookAnswer(message="2 plugins"), {"systemMessage": "2 plugins"}),
    ("UserPromptSubmit", HookAnswer(), None),
    (
        "UserPromptSubmit",
        HookAnswer(denied="guard: no"),
        {"decision": "block", "reason": "guard: no"},
    ),
    (
        "UserPromptSubmit",
        HookAnswer(context=TEXTS[:1]),
        hook("UserPromptSubmit", additionalContext="[guard] one"),
    ),
    ("PreToolUse", HookAnswer(), None),
    (
        "PreToolUse",
        HookAnswer(denied="guard: no"),
        hook("PreToolUse", permissionDecision="deny", permissionDecisionReason="guard: no"),
    ),
    (
        "PreToolUse",
        HookAnswer(denied=""),
        hook(
            "PreToolUse", permissionDecision="deny", permissionDecisionReason="denied by a plugin"
        ),
    ),
    (
        "PreToolUse",
        HookAnswer(ask="guard: sure?"),
        hook("PreToolUse", permissionDecision="ask", permissionDecisionReason="guard: sure?"),
    ),
    (
        "PreToolUse",
        HookAnswer(denied="guard: no", ask="other: sure?", arguments={"command": "ls"}),
        hook("PreToolUse", permissionDecision="deny", permissionDecisionReason="guard: no"),
    ),
    (
        "PreToolUse",
        HookAnswer(arguments={"command": "ls"}),
        hook("PreToolUse", updatedInput={"command": "ls"}),
    ),
    (
        "PreToolUse",
        HookAnswer(context=TEXTS[1:]),
        hook("PreToolUse", additionalContext="[memory] two"),
    ),
    (
        "PreToolUse",
        HookAnswer(end="guard: interrupted"),
        {"continue": False, "stopReason": "guard: interrupted"},
    ),
    ("PermissionRequest", HookAnswer(denied="guard: no"), None),
    ("PostToolUse", HookAnswer(), None),
    (
        "PostToolUse",
        HookAnswer(result="[redacted]"),
        hook("PostToolUse", updatedToolOutput=SHELL_RESULT),
    ),
    (
        "PostToolUse-mcp",
        HookAnswer(result="[redacted]"),
        hook("PostToolUse", updatedToolOutput=MCP_RESULT, updatedMCPToolOutput=MCP_RESULT),
    ),
    (
        "PostToolUse",
        HookAnswer(context=TEXTS[:1]),
        hook("PostToolUse", additionalContext="[guard] one"),
    ),
    ("PostToolUse-subagent", HookAnswer(result="[redacted]"), None),
    ("Stop", HookAnswer(), None),
    (
        "Stop",
        HookAnswer(continue_with="Run the tests."),
        {"decision": "block", "reason": "Run the tests."},
    ),
    (
        "SubagentStart",
        HookAnswer(context=TEXTS[:1]),
        hook("SubagentStart", additionalContext="[guard] one"),
    ),
    ("SubagentStop", HookAnswer(continue_with="x"), None),
    ("Notification", HookAnswer(message="hello"), {"systemMessage": "hello"}),
    ("SessionEnd", HookAnswer(message="hello", context=TEXTS), None),
]


@pytest.mark.parametrize(("sample", "answer", "wanted"), WRITTEN)
def test_an_answer_is_written(
    sample: str, answer: HookAnswer, wanted: dict[str, Any] | None
) -> None:
    reply = CLAUDE.write(told(AGENT, sample), answer)
    assert (json.loads(reply.stdout) if reply.stdout else None) == wanted
    assert (reply.exit_code, reply.stderr) == (0, "")


def test_a_result_of_an_unknown_shape_stays_and_that_is_said() -> None:
    reply = CLAUDE.write(told(AGENT, "PostToolUse-subagent"), HookAnswer(result="[redacted]"))
    assert reply.unwritten == (
        "Claude Code takes a result only in the shape that the tool gave; that of Agent is not known,"
        " so the model has read what the tool gave.",
    )


def test_what_could_not_be_read_is_denied_where_that_is_possible() -> None:
    assert json.loads(CLAUDE.refuse("PreToolUse", "no").stdout) == hook(
        "PreToolUse", permissionDecision="deny", permissionDecisionReason="no"
    )
    assert json.loads(CLAUDE.refuse("UserPromptSubmit", "no").stdout) == {
        "decision": "block",
        "reason": "no",
    }
    assert CLAUDE.refuse("PostToolUse", "no").stdout == b""


def test_hooks_are_written_in_groups_and_seconds() -> None:
    assert CLAUDE.config.hook("PreToolUse", "/x/client a b", timeout_s=60, closed=True) == {
        "matcher": "*",
        "hooks": [
            {"type": "command", "command": "/x/client a b", "timeout": 60, "onFailure": "block"}
        ],
    }
    assert CLAUDE.config.hook("SessionEnd", "/x/client", timeout_s=60, closed=True) == {
        "matcher": "*",
        "hooks": [{"type": "command", "command": "/x/client", "timeout": 60}],
    }


def test_a_client_that_reaches_no_daemon_exits_with_2() -> None:
    reply = CLAUDE.guards["PreToolUse"]
    assert (reply.exit_code, reply.stdout) == (2, b"")
    assert reply.stderr == "sliphook: the guards could not be asked, so this is denied.\n"


@pytest.mark.parametrize("sample", READ)
def test_each_event_is_one_that_is_known(sample: str) -> None:
    assert event_of(sample) in CLAUDE.readers
