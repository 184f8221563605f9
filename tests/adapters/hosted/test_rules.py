"""What the end of a hook means, by each system's rules: exit codes, JSON, failures."""

from __future__ import annotations

from typing import Any

import pytest

from sliphook.adapters.dialects.answer import HookAnswer
from sliphook.adapters.dialects.hosted.known import SYSTEMS
from sliphook.adapters.dialects.told import ModelAsked

from .judged import COMMON, asked, done, prompted, started, stopping, verdict

BEFORE = asked("PreToolUse")


@pytest.mark.parametrize(
    ("stdout", "code", "stderr", "answer", "failed"),
    [
        ("", 0, "", HookAnswer(), None),
        ("all fine", 0, "", HookAnswer(), None),
        ("", 2, "no sudo\n", HookAnswer(denied="no sudo"), None),
        ({"reason": "no"}, 2, "", HookAnswer(denied="no"), None),
        ("", 1, "oh\n", HookAnswer(), "exited with 1: oh"),
        ("", 127, "sh: x: not found", HookAnswer(), "exited with 127: sh: x: not found"),
        ({"decision": "block", "reason": "no"}, 1, "", HookAnswer(denied="no"), "exited with 1"),
        ("", None, "", HookAnswer(), "took longer than 5 s"),
        ({"decision": "deny"}, 0, "", HookAnswer(), None),
        ({"decision": "approve"}, 0, "", HookAnswer(), None),
        ({"continue": False, "stopReason": "enough"}, 0, "", HookAnswer(end="enough"), None),
        ({"systemMessage": "look"}, 0, "", HookAnswer(message="look"), None),
    ],
)
def test_claude_before_a_tool(
    stdout: object, code: int | None, stderr: str, answer: HookAnswer, failed: str | None
) -> None:
    got = verdict("claude-code", BEFORE, stdout, code=code, stderr=stderr)
    trouble = failed
    if failed == "exited with 1" and code == 1 and stdout:
        trouble = got.failed
    assert (got.answer, got.failed) == (answer, trouble)


def specific(event: str, **said: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": event, **said}}


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ({"permissionDecision": "deny", "permissionDecisionReason": "no"}, {"denied": "no"}),
        ({"permissionDecision": "ask", "permissionDecisionReason": "sure?"}, {"ask": "sure?"}),
        ({"permissionDecision": "defer"}, {"ask": "a hook asks for a person's approval"}),
        ({"permissionDecision": "denied"}, {}),
        ({"permissionDecision": "allow"}, {}),
        ({"updatedInput": {"command": "ls -h"}}, {"arguments": {"command": "ls -h"}}),
        ({"additionalContext": "note"}, {"context": ("note",)}),
    ],
)
def test_claudes_words_before_a_tool(said: dict[str, Any], answer: dict[str, Any]) -> None:
    got = verdict("claude-code", BEFORE, specific("PreToolUse", **said))
    assert got.answer == HookAnswer(**answer)


def test_claudes_on_failure_block() -> None:
    got = verdict("claude-code", BEFORE, code=127, on_failure="closed")
    assert got.answer.denied == "a hook that has to be asked exited with 127"
    assert verdict("claude-code", stopping("Stop"), code=1, on_failure="closed").answer == (
        HookAnswer()
    )


def test_claude_at_other_events() -> None:
    claude = "claude-code"
    assert verdict(claude, prompted("UserPromptSubmit"), "hello\n").answer.context == ("hello",)
    assert verdict(claude, started("SessionStart"), "hello").answer.context == ("hello",)
    blocked = {"decision": "block", "reason": "no"}
    assert verdict(claude, prompted("UserPromptSubmit"), blocked).answer.denied == "no"
    assert verdict(claude, stopping("Stop"), blocked).answer.continue_with == "no"
    assert verdict(claude, stopping("Stop"), code=2, stderr="go on").answer.continue_with == "go on"
    after = done("PostToolUse")
    assert verdict(claude, after, blocked).answer.context == ("no",)
    assert verdict(claude, after, code=2, stderr="hm").answer.context == ("hm",)
    replaced = specific("PostToolUse", updatedToolOutput={"stdout": "x", "stderr": ""})
    assert verdict(claude, after, replaced).answer.result == "x"
    other = specific("PreToolUse", additionalContext="for another event")
    assert verdict(claude, after, other).answer == HookAnswer()


@pytest.mark.parametrize(
    "body",
    [
        specific("PreToolUse", permissionDecision="allow"),
        specific("PreToolUse", permissionDecision="ask", permissionDecisionReason="?"),
        specific("PreToolUse", permissionDecision="deny"),
        specific("PreToolUse", updatedInput={"command": "x"}),
        {"continue": False},
        {"unknown": 1},
        {"decision": "approve"},
    ],
)
def test_codex_fails_open_by_one_word(body: dict[str, Any]) -> None:
    got = verdict("codex", BEFORE, body)
    assert got.answer == HookAnswer()
    assert got.failed is not None
    assert got.failed.startswith("wrote what Codex does not take")


READERS = {
    "claude-code": "PreToolUse",
    "codex": "PreToolUse",
    "gemini": "BeforeTool",
    "copilot": "preToolUse",
    "cursor": "preToolUse",
    "docker-agent": "pre_tool_use",
}


@pytest.mark.parametrize("system", READERS)
def test_an_answer_that_was_cut_denies(system: str) -> None:
    told = asked(READERS[system])
    cut = verdict(system, told, '{"decision":"deny","reason":"xxx', is_cut=True)
    assert cut.answer.denied is not None
    blocked = verdict(system, told, '{"xxx', code=2, stderr="no", is_cut=True)
    assert "no" in (blocked.answer.denied or "")
    assert (
        verdict(system, told, "much text", is_cut=True).answer
        == verdict(system, told, "much text").answer
    )


@pytest.mark.parametrize("system", READERS)
def test_white_space_that_was_cut_denies(system: str) -> None:
    told = asked(READERS[system])
    assert verdict(system, told, " \n" * 10, is_cut=True).answer.denied is not None
    assert verdict(system, told, " \n" * 10).answer == HookAnswer()


@pytest.mark.parametrize("system", READERS)
def test_json_that_is_too_deep_to_be_read_denies(system: str) -> None:
    deep = '{"a":' + "[" * 100_000 + "]" * 100_000 + "}"
    rule = "closed" if system == "docker-agent" else "open"
    got = verdict(system, asked(READERS[system]), deep, on_failure=rule)
    assert got.answer.denied is not None


def test_a_mark_of_the_byte_order_does_not_hide_a_deny() -> None:
    told = asked("preToolUse")
    assert verdict("cursor", told, '\ufeff{"permission":"deny"}').answer.denied is not None


def test_an_answer_that_was_cut_ends_the_turn_where_a_block_does() -> None:
    told = done("post_tool_use")
    block = verdict("docker-agent", told, {"decision": "block", "reason": "no"})
    assert block.answer == HookAnswer(end="no")
    cut = verdict("docker-agent", told, '{"xxx', is_cut=True)
    assert (cut.answer, cut.failed) == (
        HookAnswer(end="a hook that has to be asked wrote JSON of over 1 MiB, which is not read"),
        "wrote JSON of over 1 MiB, which is not read",
    )
    asks = ModelAsked(event="before_llm_call", messages=(), **COMMON)
    assert verdict("docker-agent", asks, '{"xxx', is_cut=True).answer.denied is not None


STOPPERS = {
    "claude-code": "Stop",
    "codex": "Stop",
    "gemini": "AfterAgent",
    "copilot": "agentStop",
    "cursor": "stop",
}


@pytest.mark.parametrize("system", STOPPERS)
def test_a_gate_at_the_end_of_a_turn_that_prints_too_much_blocks(system: str) -> None:
    """It is most likely a test run that failed, with all its output as the reason."""
    told = stopping(STOPPERS[system])
    cut = verdict(system, told, '{"decision":"block","reason":"xxx', is_cut=True)
    assert (cut.answer, cut.failed) == (
        HookAnswer(
            continue_with="a hook that may have blocked the end of the turn"
            " wrote JSON of over 1 MiB, which is not read"
        ),
        "wrote JSON of over 1 MiB, which is not read",
    )
    assert verdict(system, told, "much text", is_cut=True).answer.continue_with is None
    # takes no answer there
    assert verdict("docker-agent", stopping("stop"), '{"x', is_cut=True).answer == HookAnswer()


def test_an_answer_that_was_cut_and_could_not_deny_has_failed() -> None:
    cut = verdict("claude-code", done("PostToolUse"), '{"xxx', is_cut=True)
    assert (cut.answer, cut.failed) == (
        HookAnswer(),
        "wrote JSON of over 1 MiB, which is not read",
    )
    closed = verdict("claude-code", done("PostToolUse"), '{"xxx', is_cut=True, on_failure="closed")
    assert closed.answer.context == (
        "a hook that has to be asked wrote JSON of over 1 MiB, which is not read",
    )
    assert verdict("agent-code", asked("pre_tool_use"), '{"xxx', is_cut=True).answer == HookAnswer()


def test_codex() -> None:
    deny = specific("PreToolUse", permissionDecision="deny", permissionDecisionReason="no")
    assert verdict("codex", BEFORE, deny).answer.denied == "no"
    assert verdict("codex", BEFORE, code=2, stderr="no").answer.denied == "no"
    assert verdict("codex", BEFORE, code=2).failed == "exited with 2 and gave no reason"
    change = specific("PreToolUse", permissionDecision="allow", updatedInput={"command": "x"})
    assert verdict("codex", BEFORE, change).answer.arguments == {"command": "x"}
    after = verdict("codex", done("PostToolUse"), {"decision": "block", "reason": "hidden"})
    assert after.answer == HookAnswer(result="hidden")


def test_gemini() -> None:
    before = asked("BeforeTool")
    deny = {"decision": "deny", "reason": "no"}
    assert verdict("gemini", before, deny).answer.denied == "no"
    assert verdict("gemini", done("AfterTool"), deny).answer.result == "no"
    assert verdict("gemini", stopping("AfterAgent"), deny).answer.continue_with == "no"
    change = specific("BeforeTool", tool_input={"dir": "/"})
    assert verdict("gemini", before, change).answer.arguments == {"command": "ls", "dir": "/"}
    assert verdict("gemini", started("SessionStart"), "shown").answer.message == "shown"
    assert verdict("gemini", before, code=1).answer == HookAnswer()


def test_copilot_fails_closed_before_a_tool() -> None:
    before = asked("preToolUse")
    for code in (1, 2, None):
        assert verdict("copilot", before, code=code).answer.denied is not None
    assert verdict("copilot", prompted("userPromptSubmitted"), code=1).answer == HookAnswer()
    nested = specific("preToolUse", permissionDecision="deny", permissionDecisionReason="no")
    assert verdict("copilot", before, nested).answer == HookAnswer()
    nested = specific("PreToolUse", permissionDecision="deny", permissionDecisionReason="no")
    assert verdict("copilot", BEFORE, nested).answer.denied == "no"
    plain = {"permissionDecision": "deny", "permissionDecisionReason": "no"}
    assert verdict("copilot", before, plain).answer.denied == "no"


def test_cursor() -> None:
    shell = asked("beforeShellExecution")
    deny = {"permission": "deny", "user_message": "for you", "agent_message": "for it"}
    assert verdict("cursor", shell, deny).answer.denied == "for it"
    assert verdict("cursor", shell, {"permission": "ask"}).answer.ask is not None
    old = {"permission": "deny", "userMessage": "old"}
    assert verdict("cursor", shell, old, code=3).answer.denied == "old"
    assert verdict("cursor", shell, code=1).answer == HookAnswer()
    assert verdict("cursor", shell, code=1, on_failure="closed").answer.denied is not None
    assert verdict("cursor", shell, code=2, stderr="no").answer.denied == "no"
    prompt = prompted("beforeSubmitPrompt")
    stop = {"continue": False, "user_message": "no"}
    assert verdict("cursor", prompt, stop).answer.denied == "no"


def hso(**said: Any) -> dict[str, Any]:
    return {"hook_specific_output": said}


PRE = asked("pre_tool_use", tool_name="shell", arguments={"cmd": "ls"})


@pytest.mark.parametrize(
    ("stdout", "answer"),
    [
        ("", {}),
        ("logged", {}),
        ({}, {}),
        ({"continue": False, "stop_reason": "enough"}, {"denied": "enough"}),
        ({"decision": "block", "reason": "no"}, {"denied": "no"}),
        (hso(permission_decision="deny", permission_decision_reason="no"), {"denied": "no"}),
        (hso(permission_decision="ask", permission_decision_reason="?"), {"ask": "?"}),
        (hso(permission_decision="allow"), {}),
        (hso(updated_input={"cwd": "/"}), {"arguments": {"cmd": "ls", "cwd": "/"}}),
        ({"system_message": "look"}, {"message": "look"}),
        (hso(additional_context="not of this event"), {}),
    ],
)
def test_docker_agent_before_a_tool(stdout: object, answer: dict[str, Any]) -> None:
    assert verdict("docker-agent", PRE, stdout).answer == HookAnswer(**answer)


@pytest.mark.parametrize(
    ("stdout", "code"),
    [
        ("", 1),
        ("", 127),
        ("", None),
        ("{", 0),
        ("{} {}", 0),
        ({"decision": "deny"}, 0),
        (hso(permission_decision="denied"), 0),
    ],
)
def test_docker_agent_fails_closed_before_a_tool(stdout: object, code: int | None) -> None:
    got = verdict("docker-agent", PRE, stdout, code=code, on_failure="closed")
    assert got.answer.denied is not None
    assert got.answer.denied.startswith("pre_tool_use hook failed to execute: hook 'check.sh': ")
    after = verdict("docker-agent", done("post_tool_use"), stdout, code=code)
    assert after.answer == HookAnswer()
    assert after.failed is not None


def test_docker_agent_at_other_events() -> None:
    docker = "docker-agent"
    assert verdict(docker, started("session_start"), "text\n").answer.context == ("text",)
    assert verdict(docker, done("post_tool_use"), "text").answer == HookAnswer()
    assert verdict(docker, stopping("stop"), "text").answer == HookAnswer()
    blocked = {"decision": "block", "reason": "no"}
    assert verdict(docker, done("post_tool_use"), blocked).answer.end == "no"
    assert verdict(docker, prompted("user_prompt_submit"), code=2, stderr="no").answer.denied == (
        "no"
    )
    unable = verdict(docker, stopping("stop"), code=2)
    assert unable.failed == "exited with 2, but this event cannot be blocked"
    changed = hso(updated_tool_response="clean")
    assert verdict(docker, done("tool_response_transform"), changed).answer.result == "clean"
    model = ModelAsked(event="before_llm_call", **COMMON, messages=(("user", "my key"),))
    other = hso(updated_messages=[{"role": "user", "content": "my ..."}])
    assert verdict(docker, model, other).answer.messages == (("user", "my ..."),)


def test_docker_agents_on_error_and_strict_output() -> None:
    prompt = prompted("user_prompt_submit")
    docker = "docker-agent"
    assert verdict(docker, prompt, code=1, on_failure="closed").answer.denied is not None
    assert verdict(docker, prompt, code=1, on_failure="ignore").failed is None
    assert verdict(docker, PRE, "text", strict=True, on_failure="closed").answer.denied is not None
    unknown = {"oops": 1}
    got = verdict(docker, PRE, unknown, strict=True, on_failure="closed")
    assert got.failed == "wrote 'oops', which pre_tool_use does not take"
    assert verdict(docker, PRE, unknown).answer == HookAnswer()


def test_agent_code_vetoes_by_any_failure() -> None:
    before = asked("pre_tool_use")
    code = "agent-code"
    assert verdict(code, before, {"decision": "block"}).answer == HookAnswer()
    assert verdict(code, before, code=1, stderr="no\nbecause").answer.denied == "no"
    assert verdict(code, before, "said so", code=1).answer.denied == "said so"
    assert verdict(code, before, code=1).answer.denied == "blocked by pre-tool-use hook"
    assert verdict(code, before, code=None).answer.denied == "took longer than 5 s"
    assert verdict(code, prompted("user_prompt_submit"), code=1).answer == HookAnswer()


def test_what_docker_agent_and_agent_code_read() -> None:
    docker, code = SYSTEMS["docker-agent"], SYSTEMS["agent-code"]
    assert docker.build(PRE) == {
        "session_id": "s-1",
        "cwd": "/p",
        "hook_event_name": "pre_tool_use",
        "agent_name": "root",
        "tool_name": "shell",
        "tool_use_id": "call_1",
        "tool_input": {"cmd": "ls"},
    }
    assert code.stdin(asked("pre_tool_use")) == b'{"command":"ls"}\n'
    assert code.build(done("post_tool_use", status="error")) == {"tool": "Bash", "is_error": True}
    stop = stopping("stop", turns=2, last_assistant_message="Done.", prompt="do it")
    assert code.build(stop) == {
        "session_id": "s-1",
        "turn_count": 2,
        "last_assistant_message": "Done.",
    }
    assert docker.build(stop)["stop_response"] == "Done."
    assert docker.build(stop)["last_user_message"] == "do it"
