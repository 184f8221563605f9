#!/usr/bin/env python3
# mypy: ignore-errors
# pyright: basic, reportOptionalMemberAccess=false
"""Hears everything and writes it down; words in the user's text tell it what to answer."""

import json
import os
import sys
import time

from sliphook_sdk import Plugin, ask, context, continue_with, deny, replace, substitute
from sliphook_sdk.protocol import CATALOGUE, Message

plugin = Plugin("probe", version="1.0.0", uses=["inject", "interrupt", "approve"])
LOG = os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), "heard.jsonl")
FIELDS = (
    "seq", "session_id", "turn_id", "tool_name", "tool_kind", "origin", "model_call_id", "status", "reason",
    "invalidation_reason", "outcome", "source", "cause", "kind", "will_retry", "agent_depth", "text",
    "goal", "summary", "message", "prompt", "substituted_by", "platform", "choice", "by", "question_id",
)  # fmt: skip
words = {"now": "", "went_on": False}


def put(name, payload=None, **more):
    heard = {"t": time.time(), "name": name, **more}
    for field in FIELDS:
        value = getattr(payload, field, None)
        if value is not None:
            heard[field] = value if isinstance(value, (str, int, float, bool)) else str(value)
    if getattr(payload, "messages", None) is not None:
        heard["roles"] = [one.role for one in payload.messages]
    if getattr(payload, "usage", None) is not None:
        heard["input_tokens"] = payload.usage.input_tokens
    if getattr(payload, "arguments", None) is not None:
        heard["arguments"] = payload.arguments
    if getattr(payload, "inflight", None) is not None:
        heard["llm"] = payload.inflight.llm
        heard["tools"] = len(payload.inflight.tools or [])
    with open(LOG, "a") as log:
        log.write(json.dumps(heard) + "\n")


def hear(name):
    def heard(payload):
        put(name, payload)

    heard.__name__ = "on_" + name
    plugin.on(name, subagents=True)(heard)


for name, entry in CATALOGUE.items():
    if entry.kind == "event":
        hear(name)


@plugin.hook("session_start")
def session_start(e):
    put("session_start", e)
    return context("SYSTEM-TEXT")


@plugin.hook("user_prompt_submit", replaces=True)
def submit(e):
    put("user_prompt_submit", e)
    words["now"], words["went_on"] = e.text, False
    if "DENYPROMPT" in e.text:
        return deny("this text is not for agents")
    if "REPLACEPROMPT" in e.text:
        return replace(text="another text")
    return context("USER-TEXT")


@plugin.hook("pre_llm_call", replaces=True, subagents=True, include=["messages", "tools"])
def pre_llm(e):
    put("pre_llm_call", e)
    if "REPLACEMESSAGES" in words["now"]:
        return replace(messages=[*e.messages[:-1], Message(role="user", content="EXCHANGED")])
    if "OTHERMODEL" in words["now"]:
        return replace(model="another-model")
    if "SUBSTCALL" in words["now"] and e.messages[-1].role == "user":
        call = {"call_id": "s-1", "name": "terminal", "arguments": {"command": "echo s"}}
        return substitute(response={"role": "assistant", "content": None, "tool_calls": [call]})
    if "DENYLLM" in words["now"]:
        return deny("no model today")
    if "SUBSTLLM" in words["now"]:
        return substitute(response={"role": "assistant", "content": "SUBSTITUTED"})
    return context("CALL-TEXT")


@plugin.hook("pre_tool_call", on_failure="closed", replaces=True, subagents=True)
def pre_tool(e):
    put("pre_tool_call", e)
    now = words["now"]
    if "DENYTOOL" in now or "deny-me" in str(e.arguments):
        return deny("not today")
    if "ASKTOOL" in now:
        return ask("are you sure?")
    if "REPLACEARGS" in now:
        return replace(arguments={**e.arguments, "text": "replaced"})
    if "SUBSTTOOL" in now:
        return substitute(result={"content": "SUBSTITUTED-RESULT"})
    return None


@plugin.hook("post_tool_call", replaces=True, subagents=True)
def post_tool(e):
    put("post_tool_call", e)
    if "REPLACERESULT" in words["now"]:
        return replace(result={"content": "REPLACED-RESULT"})
    if "TOOLCONTEXT" in words["now"]:
        return context("BEHIND-RESULT")
    return None


@plugin.hook("stop")
def stop(e):
    put("stop", e)
    if "SLOWSTOP" in words["now"]:
        time.sleep(3)
    if "GOON" in words["now"] and not words["went_on"]:
        words["went_on"] = True
        return continue_with("go on")
    return None


@plugin.hook("subagent_start")
def subagent(e):
    put("subagent_start", e)
    return context("CHILD-TEXT")


@plugin.tool
def probe_echo(text: str) -> str:
    """Echo a text."""
    put("TOOL probe_echo")
    return "probe says " + text


@plugin.tool
def probe_slow(seconds: float, ctx) -> str:
    """Take some time."""
    put("TOOL probe_slow")
    ctx.wait(seconds)
    return "slept"


@plugin.tool
def probe_inject(text: str, ctx) -> str:
    """Inject a text."""
    ctx.inject("INJECTED " + text)
    return "injected"


@plugin.tool
def probe_interrupt(text: str, ctx) -> str:
    """Interrupt the turn."""
    put("TOOL probe_interrupt")
    ctx.interrupt(text)
    ctx.wait(5)
    return "over"


@plugin.command
def probe(arguments: str) -> str:
    """Say something."""
    return "the probe heard: " + arguments


if __name__ == "__main__":
    plugin.run()
