"""A server with a tool that answers, one that fails, one that shows, and one that takes its time."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path
from typing import Any

from mcp.server.mcpserver import Context, Image, MCPServer

server = MCPServer("plain")
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def fail() -> str:
    """Fail."""
    raise ValueError("nothing to see")


@server.tool()
def picture() -> Image:
    """Show a picture."""
    return Image(data=PNG, format="png")


@server.tool()
async def wait(mark: str, ctx: Context[Any, Any]) -> str:
    """Write when it is cancelled."""
    await ctx.report_progress(1, 4, "begun")
    Path(f"{mark}.begun").touch()  # noqa: ASYNC240
    try:
        await asyncio.sleep(600)
    except BaseException:
        Path(mark).write_text("cancelled")  # noqa: ASYNC240
        raise
    return "done"


if __name__ == "__main__":
    server.run()
