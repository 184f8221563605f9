import os
import sys

from sliphook_sdk import Plugin, deny
from sliphook_sdk.protocol.answers import PreToolCallAnswer
from sliphook_sdk.protocol.payloads import PreToolCall

plugin = Plugin(os.path.basename(sys.argv[0]))  # many copies of it may run


@plugin.hook("pre_tool_call")
async def guard(call: PreToolCall) -> PreToolCallAnswer | None:
    return deny("no whole trees") if "rm -rf" in call.arguments.get("command", "") else None


plugin.run()
