#!/usr/bin/env python3
"""A guard: it keeps an agent's shell from deleting whole trees."""

from __future__ import annotations

from sliphook_sdk import Plugin, deny
from sliphook_sdk.protocol.answers import PreToolCallAnswer
from sliphook_sdk.protocol.payloads import PreToolCall

plugin = Plugin("guard", version="1.0.0", description="Keeps agents from deleting whole trees.")


@plugin.hook("pre_tool_call", match={"tool_name": ["shell"]}, on_failure="closed")
def no_rm(call: PreToolCall) -> PreToolCallAnswer | None:
    if "rm -rf" in call.arguments.get("command", ""):
        return deny("deleting whole trees is not for agents")
    return None


if __name__ == "__main__":
    plugin.run()
