"""A guard: it is asked before every shell command, and denies those that delete whole trees."""

from __future__ import annotations

from sliphook_sdk import Plugin, deny
from sliphook_sdk.protocol.answers import PreToolCallAnswer
from sliphook_sdk.protocol.payloads import PreToolCall

plugin = Plugin("guard", version="1.0.0")


@plugin.hook("pre_tool_call", match={"tool_name": ["shell"]}, on_failure="closed")
def no_rm(call: PreToolCall) -> PreToolCallAnswer | None:
    """Deny a command that deletes whole trees; have no opinion on others."""
    if "rm -rf" in call.arguments.get("command", ""):
        return deny("deleting whole trees is not for agents")
    return None


if __name__ == "__main__":
    plugin.run()
