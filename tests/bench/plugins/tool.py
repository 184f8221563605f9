import os
import sys
from typing import Any

from sliphook_sdk import Plugin

plugin = Plugin(os.path.basename(sys.argv[0]))


@plugin.tool
def pre_tool_call(call: dict[str, Any]) -> str:
    return "deny" if "rm -rf" in call["arguments"].get("command", "") else ""


plugin.run()
