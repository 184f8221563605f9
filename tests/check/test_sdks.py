"""Plugins of both SDKs, with tools and handlers that take time, pass every check."""

from __future__ import annotations

import shutil
import sys
import textwrap
from pathlib import Path

import pytest
import trio

from sliphook.check import check_plugin
from tests.docs.protocol_sentences.says import says

NODE_SDK = Path(__file__).resolve().parents[2] / "sdk" / "node" / "src" / "index.js"

PLAIN = """
    import os
    import time
    from typing import Annotated

    from msgspec import Meta
    from sliphook_sdk import Context, Plugin, deny

    plugin = Plugin("plain")

    @plugin.tool
    def rest(text: str, seconds: Annotated[float, Meta(examples=[0, 30])] = 0.0, *,
             ctx: Context) -> str:
        ctx.wait(seconds)
        return text

    @plugin.tool
    def folder(ctx: Context) -> str:
        print("a line of the author's")
        os.system("echo a line of a child")
        return ctx.run(["pwd"]).stdout

    @plugin.on("turn_end")
    def ended(turn, ctx):
        time.sleep(0.3)
        ctx.log.info("the turn is over")

    @plugin.hook("pre_tool_call", on_failure="closed")
    def guard(call):
        return deny(str(call.arguments))

    @plugin.command
    def repeat(text: str) -> str:
        return text

    plugin.run()
"""
WITH_AWAIT = """
    import asyncio
    from typing import Annotated

    from msgspec import Meta
    from sliphook_sdk import AsyncContext, Plugin, deny

    plugin = Plugin("with-await")

    @plugin.tool
    async def rest(text: str, seconds: Annotated[float, Meta(examples=[0, 30])] = 0.0) -> str:
        await asyncio.sleep(seconds)
        return text

    @plugin.on("turn_end")
    async def ended(turn, ctx: AsyncContext):
        await asyncio.sleep(0.3)
        ctx.log.info("the turn is over")

    @plugin.hook("pre_tool_call", on_failure="closed")
    async def guard(call):
        return deny(str(call.arguments))

    @plugin.command
    async def repeat(text: str) -> str:
        return text

    plugin.run()
"""
NODE = """
    import { setTimeout as sleep } from "node:timers/promises";
    import { deny, Plugin } from "SDK";

    const plugin = new Plugin("node", {});
    plugin.tool("rest", {
      schema: {
        type: "object",
        properties: {
          text: { type: "string" },
          seconds: { type: "number", examples: [0, 30] },
        },
        required: ["text"],
      },
    }, async ({ text, seconds = 0 }, ctx) => {
      await sleep(1000 * seconds, undefined, { signal: ctx.signal });
      return text;
    });
    plugin.on("turn_end", async (turn, ctx) => {
      await sleep(300);
      ctx.log.info("the turn is over");
    });
    plugin.hook("pre_tool_call", { onFailure: "closed" },
      (call) => deny(JSON.stringify(call.arguments)));
    plugin.command("repeat", {}, (text) => text);
    plugin.run();
"""


def written(path: Path, first_line: str, text: str) -> Path:
    path.write_text(f"{first_line}\n{textwrap.dedent(text)}", encoding="utf-8")
    path.chmod(0o700)
    return path


async def all_pass(path: Path) -> None:
    with trio.fail_after(120):
        report = await check_plugin(path)
    assert [finding for finding in report.findings if finding.verdict != "passed"] == []
    names = {finding.name for finding in report.findings}
    assert {"cancel-while-running", "hook-while-running", "shutdown-after-events"} <= names


@says(
    "give the author's `print` and child processes another standard output ([framing](#framing)).",
    "Run the vectors, then `sliphook check` on a plugin that uses everything.",
)
@pytest.mark.parametrize("text", [PLAIN, WITH_AWAIT], ids=["plain", "with-await"])
async def test_python(tmp_path: Path, text: str) -> None:
    await all_pass(written(tmp_path / "plugin", f"#!{sys.executable}", text))


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
async def test_node(tmp_path: Path) -> None:
    text = NODE.replace("SDK", str(NODE_SDK))
    await all_pass(written(tmp_path / "plugin.mjs", "#!/usr/bin/env node", text))
