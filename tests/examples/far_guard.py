"""The plugin of the tests of examples/elsewhere; it runs on the other machine."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from sliphook_sdk import AsyncContext, Plugin, deny
from sliphook_sdk.protocol.answers import PreToolCallAnswer
from sliphook_sdk.protocol.payloads import PreToolCall

plugin = Plugin("guard", env=["GUARD_KEY"])


def note(file: str, text: str) -> None:
    Path(file).write_text(text)


@plugin.hook("pre_tool_call", match={"tool_name": "shell"}, on_failure="closed", timeout_s=20)
async def guard(call: PreToolCall) -> PreToolCallAnswer | None:
    command = call.arguments["command"]
    if command.startswith("wait "):
        note(command[5:], "asked")
        await asyncio.sleep(60)
    return deny("not with rm") if command.startswith("rm") else None


@plugin.hook("pre_tool_call", match={"tool_name": "quick"}, on_failure="closed", timeout_s=0.2)
async def quick(call: PreToolCall) -> None:
    del call


@plugin.tool(timeout_s=60)
async def slow(flag: str) -> str:
    """Work until it is told to stop."""
    note(flag, "begun")
    try:
        await asyncio.sleep(50)
    except asyncio.CancelledError:
        note(flag, "cancelled")
        raise
    return "done"


@plugin.tool
async def where(*, ctx: AsyncContext) -> dict[str, Any]:
    """What it has there."""
    print("hello from elsewhere", file=sys.stderr, flush=True)
    return {
        "pid": os.getpid(),
        "folder": os.getcwd(),
        "data_dir": str(ctx.data_dir),
        "config": ctx.config,
        "key": os.environ.get("GUARD_KEY"),
        "over": "SSH_CONNECTION" in os.environ,
    }


@plugin.tool
def child() -> int:
    """The id of a process that it starts and leaves alone."""
    return subprocess.Popen(["sleep", "600"]).pid


if __name__ == "__main__":
    plugin.run()
