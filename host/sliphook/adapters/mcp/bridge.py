"""A server as a plugin: its process, its tools, and each call passed on."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final, cast

from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError

import sliphook_sdk as sdk

from .names import MAX_NAME_CHARS, Fitted, Offered, fit
from .results import tool_result

CONNECT_S: Final = 4.0
"""What a server may take to say what it is and list its tools.

A plugin has 9 s to start, and to end a server that is deaf takes 4.5 s.
"""
MAX_PAGES: Final = 32
TIMEOUT_S: Final = 30.0


class ServerPlugin:
    """One server: its connection is held by one task, since its scopes belong to a task."""

    def __init__(self, name: str, command: Sequence[str]) -> None:
        self.plugin: sdk.Plugin = sdk.Plugin(name, version="0")
        self._name = name
        self._server = StdioServerParameters(
            command=command[0], args=list(command[1:]), env=dict(os.environ)
        )
        self._ready: asyncio.Future[Client] | None = None
        self._ended = asyncio.Event()
        self._holder: asyncio.Task[None] | None = None
        self.plugin.on_start(when_installed=True)(self._start)
        self.plugin.on_shutdown(self._stop)

    async def _start(self, *, ctx: sdk.LifeContext) -> sdk.Disabled | None:
        self._ready = asyncio.get_running_loop().create_future()
        self._holder = asyncio.create_task(self._hold(self._ready))
        try:
            async with asyncio.timeout(CONNECT_S):
                client = await asyncio.shield(self._ready)
                tools, left_out = fit(self._name, await _listed(client))
        except TimeoutError:
            await self._stop()
            return sdk.disabled(f"the MCP server did not list its tools within {CONNECT_S:g} s")
        except Exception as exc:  # whatever the server did, it is one line
            await self._stop()
            return sdk.disabled(f"the MCP server cannot be used: {_in_a_line(exc)}")
        for line in left_out:
            ctx.log("warning", f"a tool of the MCP server is left out: {line}")
        for tool in tools:
            self.plugin.add_tool(self._offered(client, tool))
        return None

    async def _hold(self, ready: asyncio.Future[Client]) -> None:
        try:
            async with Client(self._server, read_timeout_seconds=TIMEOUT_S, cache=None) as client:
                ready.set_result(client)
                await self._ended.wait()
        except Exception as exc:
            if not ready.done():
                ready.set_exception(exc)

    async def _stop(self) -> None:
        self._ended.set()
        if self._holder is not None:
            if self._ready is not None and not self._ready.done():
                self._holder.cancel()
            with suppress(asyncio.CancelledError):
                await self._holder

    def _offered(self, client: Client, tool: Fitted) -> sdk.Tool:
        async def call(arguments: dict[str, Any], *, ctx: sdk.AsyncContext) -> sdk.ToolResult:
            async def report(progress: float, total: float | None, message: str | None) -> None:
                ctx.progress(message, min(1.0, max(0.0, progress / total)) if total else None)

            try:
                result = await client.call_tool(tool.name, arguments, progress_callback=report)
            except MCPError as exc:
                raise sdk.ToolError(f"the MCP server {self._name}: {_in_a_line(exc)}") from exc
            blocks = [
                block.model_dump(mode="json", by_alias=True, exclude_none=True)
                for block in result.content
            ]
            return tool_result(blocks, result.structured_content, result.is_error)

        return sdk.Tool(
            call,
            name=tool.tool_name,
            description=tool.description,
            schema=tool.schema,
            timeout_s=TIMEOUT_S,
        )


async def _listed(client: Client) -> list[Offered]:
    """All tools, in the order of the server, of at most 32 pages."""
    offered: list[Offered] = []
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        page = await client.list_tools(cursor=cursor)
        offered += [Offered(tool.name, tool.description, tool.input_schema) for tool in page.tools]
        cursor = page.next_cursor
        if cursor is None:
            break
    return offered


def _in_a_line(exc: BaseException) -> str:
    """What is wrong; of a group, what its first says."""
    first = exc
    while isinstance(first, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", first)
        first = group.exceptions[0]
    lines = str(first).splitlines()
    return (lines[0] if lines else type(first).__name__)[: 4 * MAX_NAME_CHARS]
