#!/usr/bin/env python3
"""A guard that follows a policy: see README.md. What it cannot judge, it denies."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec
from tool_policy.decisions import DecisionLog, shown
from tool_policy.judge import Call, Verdict, judge
from tool_policy.policy import PolicyError, PolicyFile

from sliphook_sdk import Context, Plugin, allow, ask, deny
from sliphook_sdk.protocol.answers import PreToolCallAnswer
from sliphook_sdk.protocol.payloads import PreToolCall


class Settings(msgspec.Struct):
    policy: str = "policy.toml"
    """The policy; a relative path begins in the plugin's data folder."""


plugin = Plugin(
    "guard",
    version="1.0.0",
    description="Allows, denies or asks about tool calls, as a policy says.",
    config=Settings,
)
policies: dict[Path, PolicyFile] = {}


@plugin.hook("pre_tool_call", on_failure="closed", subagents=True)
def guard(call: PreToolCall, *, ctx: Context[Settings]) -> PreToolCallAnswer | None:
    path = ctx.data_dir / Path(ctx.config.policy).expanduser()
    verdict = judged(call, path)
    record = {
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "decision": verdict.decision,
        "reason": verdict.reason,
        "rule_line": verdict.line,
        "session_id": call.session_id,
        "agent_id": call.agent_id,
        "agent_depth": call.agent_depth,
        "call_id": call.call_id,
        "tool": call.tool_name,
        "kind": call.tool_kind,
        "arguments": shown(call.arguments),
    }
    try:
        DecisionLog(ctx.data_dir).add(record)
    except OSError as error:
        ctx.log("error", f"this decision is not in the log: {error}", **record)
    if verdict.decision == "deny":
        return deny(verdict.reason)
    if verdict.decision == "ask":
        return ask(verdict.reason)
    return allow(verdict.reason) if verdict.line is not None else None


def judged(call: PreToolCall, path: Path) -> Verdict:
    """What the policy says; a deny, with the reason, if that is not known."""
    try:
        policy = policies.setdefault(path, PolicyFile(path)).current()
        about = Call(call.tool_name, call.tool_kind, call.arguments, call.cwd)
        return judge(policy, about)
    except PolicyError as error:
        return Verdict("deny", f"the policy cannot be used: {error}")
    except Exception as error:
        return Verdict("deny", f"the guard has failed: {type(error).__name__}: {error}")


if __name__ == "__main__":
    plugin.run()
