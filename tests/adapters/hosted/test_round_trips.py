"""What we write to their hooks is what their agent writes; what we write to them means the same."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sliphook.adapters.dialects.answer import HookAnswer
from sliphook.adapters.dialects.hosted.handler import Handler
from sliphook.adapters.dialects.hosted.hosted import Ended
from sliphook.adapters.dialects.hosted.known import SYSTEMS
from sliphook.adapters.dialects.known import DIALECTS
from sliphook.adapters.dialects.told import (
    Happening,
    ModelAnswered,
    ModelAsked,
    Notified,
    Prompted,
    SessionEnded,
    SessionStarted,
    StopAsked,
    SubagentStarted,
    SubagentStopped,
    ToolAsked,
    ToolDone,
    TurnInterrupted,
)

BOTH = pytest.mark.parametrize("agent", DIALECTS)

text = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)
words = text.filter(lambda one: one.strip() == one and not one.startswith(("{", "<")))
names = st.text("abcXYZ_-09", min_size=1, max_size=20)
arguments = st.dictionaries(names, text | st.integers() | st.booleans(), max_size=3)


def common(agent: str) -> st.SearchStrategy[dict[str, Any]]:
    fields = {"session_id": names, "cwd": st.just("/p")}
    if agent in ("claude-code", "codex", "cursor"):
        fields["turn_id"] = names
    if agent in ("claude-code", "codex"):
        fields["permission_mode"] = st.just("default")
    if agent in ("codex", "cursor"):
        fields["model"] = names
    return st.fixed_dictionaries(fields)


def tool(agent: str) -> st.SearchStrategy[dict[str, Any]]:
    known = {
        "claude-code": "Bash",
        "codex": "Bash",
        "gemini": "run_shell_command",
        "copilot": "bash",
        "cursor": "Shell",
    }
    fields = {
        "tool_name": st.just(known[agent]),
        "tool_kind": st.just("shell"),
        "origin": st.just("agent"),
        "arguments": arguments,
    }
    if agent in ("claude-code", "codex", "cursor"):
        fields["model_call_id"] = names
    return st.fixed_dictionaries(fields)


EVENTS = {
    "claude-code": ("UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"),
    "codex": ("UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"),
    "gemini": ("BeforeAgent", "BeforeTool", "AfterTool", "AfterAgent"),
    "copilot": ("userPromptSubmitted", "preToolUse", "postToolUse", "agentStop"),
    "cursor": ("beforeSubmitPrompt", "preToolUse", "postToolUse", "stop"),
}


@BOTH
@given(data=st.data())
def test_what_is_told_survives(agent: str, data: st.DataObject) -> None:
    prompt, before, after, stop = EVENTS[agent]
    said = data.draw(common(agent))
    told: list[Happening] = [
        Prompted(event=prompt, **said, text=data.draw(words)),
        ToolAsked(event=before, **said, **data.draw(tool(agent))),
        StopAsked(event=stop, **said, **_stop(agent, data)),
    ]
    if agent != "cursor":
        told.append(_after(agent, after, said, data))
    for one in told:
        body = {k: v for k, v in SYSTEMS[agent].build(one).items() if v is not None}
        assert DIALECTS[agent].read(one.event, body) == one


def _stop(agent: str, data: st.DataObject) -> dict[str, Any]:
    said: dict[str, Any] = {"again": data.draw(st.booleans())}
    if agent not in ("copilot", "cursor"):
        said["last_assistant_message"] = data.draw(text)
    return said


def _after(agent: str, event: str, said: dict[str, Any], data: st.DataObject) -> Happening:
    content = data.draw(words)
    shapes: dict[str, Any] = {
        "claude-code": {"stdout": content, "stderr": ""},
        "codex": content,
        "gemini": {"llmContent": content, "returnDisplay": content},
        "copilot": {"resultType": "success", "textResultForLlm": content},
    }
    known = agent != "codex"
    return ToolDone(
        event=event,
        **said,
        **data.draw(tool(agent)),
        status="ok",
        status_known=known,
        content=content,
        data=shapes[agent],
    )


@pytest.mark.parametrize("agent", ["claude-code", "codex", "gemini", "copilot"])
@pytest.mark.parametrize("source", ["startup", "resume", "reset", "compacted"])
def test_the_start_of_a_session_survives(agent: str, source: Any) -> None:
    event = "sessionStart" if agent == "copilot" else "SessionStart"
    told = SessionStarted(event=event, session_id="s-1", cwd="/p", source=source)
    body = {k: v for k, v in SYSTEMS[agent].build(told).items() if v is not None}
    read = DIALECTS[agent].read(event, body)
    lost = {"reset": "startup", "compacted": "resume"} if agent == "copilot" else {}
    assert read == msgspec.structs.replace(told, source=lost.get(source, source))


def test_the_rest_of_claude_codes_events_survive() -> None:
    said: dict[str, Any] = {"session_id": "s-1", "cwd": "/p", "permission_mode": "default"}
    told: list[Happening] = [
        SessionEnded(event="SessionEnd", **said, reason="reset"),
        SubagentStarted(event="SubagentStart", **said, agent_id="a-1", agent_type="Explore"),
        SubagentStopped(event="SubagentStop", **said, agent_id="a-1", summary="found it"),
        Notified(event="Notification", **said, kind="idle_prompt", message="waiting"),
        ToolDone(
            event="PostToolUseFailure",
            **said,
            tool_name="Bash",
            tool_kind="shell",
            origin="agent",
            arguments={"command": "false"},
            status="error",
            content="Exit code 1",
            data=None,
            duration_ms=3.0,
        ),
    ]
    for one in told:
        body = {k: v for k, v in SYSTEMS["claude-code"].build(one).items() if v is not None}
        assert DIALECTS["claude-code"].read(one.event, body) == one


def test_the_model_calls_of_gemini_survive() -> None:
    said: dict[str, Any] = {"session_id": "s-1", "cwd": "/p", "model": "m"}
    told: list[Happening] = [
        ModelAsked(event="BeforeModel", **said, messages=(("user", "hi"),)),
        ModelAnswered(event="AfterModel", **said, text="yes", last=True, usage=(3, 1)),
    ]
    for one in told:
        assert DIALECTS["gemini"].read(one.event, SYSTEMS["gemini"].build(one)) == one


def test_an_interrupt_survives() -> None:
    told = TurnInterrupted(event="Interrupt", session_id="s-1", cwd="/p", turn_id="t-1")
    body = {k: v for k, v in SYSTEMS["codex"].build(told).items() if v is not None}
    assert DIALECTS["codex"].read("Interrupt", body) == told


texts = st.lists(words, max_size=1).map(tuple)


@BOTH
@given(data=st.data())
def test_what_plugins_answer_survives(agent: str, data: st.DataObject) -> None:
    prompt, before, after, stop = EVENTS[agent]
    reason = data.draw(words)
    said: dict[str, Any] = {"session_id": "s-1", "cwd": "/p"}
    shell = data.draw(tool(agent))
    changed = {**shell["arguments"], "command": data.draw(text)}
    result: dict[str, Any] = {"status": "ok", "content": "x", "data": {"stdout": "x"}}
    asked = ToolAsked(event=before, **said, **shell)
    ended = ToolDone(event=after, **said, **shell, **result)
    pairs: list[tuple[Happening, HookAnswer]] = [
        (Prompted(event=prompt, **said, text="hi"), HookAnswer(denied=reason)),
        (asked, HookAnswer(denied=reason)),
        (asked, HookAnswer(arguments=changed)),
        (StopAsked(event=stop, **said), HookAnswer(continue_with=reason)),
    ]
    if agent in ("claude-code", "copilot"):
        pairs.append((asked, HookAnswer(ask=reason)))
    if agent != "cursor":
        pairs.append((ended, HookAnswer(result=reason)))
    if agent not in ("gemini", "cursor"):
        pairs.append((asked, HookAnswer(context=(reason,))))
    pairs.append((ended, HookAnswer(context=(reason,))))
    for told, answer in pairs:
        reply = DIALECTS[agent].write(told, answer)
        hosted = SYSTEMS[agent]
        end = Ended(exit_code=reply.exit_code, stdout=reply.stdout.decode(), stderr=reply.stderr)
        handler = Handler(event=told.event, command="c")
        verdict = hosted.judge(hosted.named(told.event)[0], handler, told, end)
        assert (verdict.answer, verdict.failed) == (answer, None)
