from typing import Any

from mcp.server import MCPServer

server = MCPServer("guard")


@server.tool()
def pre_tool_call(call: dict[str, Any]) -> str:
    return "deny" if "rm -rf" in call["arguments"].get("command", "") else ""


server.run("stdio")
