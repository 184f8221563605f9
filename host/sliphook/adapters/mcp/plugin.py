"""A server as a plugin: what the host sees of it, before and while the server is there."""

from __future__ import annotations

import asyncio
import importlib
import time
from collections.abc import Sequence
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import sliphook_sdk as sdk

from .kept_tools import forget, keep, kept
from .lines import die, in_a_line, say
from .names import Fitted
from .process import ServerProcess
from .settings import ServerSettings

if TYPE_CHECKING:
    from .connection import ServerConnection

LIST_S: Final = 8.0
"""What a server may take to list its tools, from its start on; a plugin has 10 s for its own."""
INSTALL_S: Final = 55.0
"""The same at an installation, where it may have to be downloaded first."""
CONNECT_S: Final = 60.0
"""The same for one whose tools are kept: only its first calls wait for it."""
_RELIST_S: Final = 1.0
"""The least time from list to list, however often the server says that its tools have changed."""


class ServerPlugin:
    """One server as a plugin.

    The tools that it listed at its first start are kept, so that later the plugin is ready before
    the server is, and before this process has imported what speaks to it.

    Args:
        name: the plugin's name, and the server's for people and models.
        words: the address and the token's variable, or the command.
        server: the command's process; None for an address.
        began: when it was started, on `time.monotonic()`.
    """

    def __init__(
        self, name: str, words: Sequence[str], server: ServerProcess | None, began: float
    ) -> None:
        variable = words[1] if server is None and len(words) > 1 else None
        self.plugin: sdk.Plugin = sdk.Plugin(
            name,
            version=metadata.version("sliphook"),
            description=f"The MCP server {name}.",
            uses=["ask", "tools"],
            env=[] if variable is None else [_token(variable, words[0])],
            config=ServerSettings,
        )
        self._name = name
        self._words = words
        self._server = server
        self._began = began
        self._changed = asyncio.Event()
        self._offered: list[Fitted] = []
        self._connecting: asyncio.Task[ServerConnection] | None = None
        self._follower: asyncio.Task[None] | None = None
        self.plugin.on_start(when_installed=True)(self._start)
        self.plugin.on_shutdown(self._stop)

    async def _start(self, *, ctx: sdk.LifeContext[ServerSettings]) -> sdk.Disabled | None:
        settings = ctx.config
        self._connecting = asyncio.create_task(self._connect(settings))
        key = [*self._words, settings.prefix]
        tools = None if ctx.manifest_only else kept(ctx.data_dir, key)
        if tools is None:
            within_s = INSTALL_S if ctx.manifest_only else LIST_S
            try:
                async with asyncio.timeout(self._began + within_s - time.monotonic()):
                    tools = await self._list(await asyncio.shield(self._connecting))
            except TimeoutError:
                return sdk.disabled(f"the MCP server did not list its tools within {within_s:g} s")
            except Exception as exc:  # whatever the server did, it is one line
                return sdk.disabled(f"the MCP server cannot be used: {in_a_line(exc)}")
            keep(ctx.data_dir, key, tools)
        else:
            self._changed.set()  # perhaps, since then
        self._offered = tools
        for tool in tools:
            self.plugin.add_tool(self._tool(tool, settings))
        self._follower = asyncio.create_task(self._follow(self._connecting, settings, ctx.data_dir))
        return None

    async def _stop(self, *, ctx: sdk.LifeContext[ServerSettings]) -> None:
        if self._follower is not None:
            self._follower.cancel()
        if self._server is not None:
            self._server.end_by = ctx.deadline
        connecting = self._connecting
        if connecting is not None and connecting.done() and not connecting.exception():
            await connecting.result().end()
        elif self._server is not None:
            await self._server.stop()

    async def _connect(self, settings: ServerSettings) -> ServerConnection:
        # in a thread: it takes a second, in which the host must be answered
        module = await asyncio.to_thread(importlib.import_module, f"{__package__}.connection")
        connection: ServerConnection = module.ServerConnection(
            self._name, self._words, self._server, settings, self._changed
        )
        await connection.connect()
        return connection

    async def _list(self, connection: ServerConnection) -> list[Fitted]:
        tools, left_out = await connection.tools()
        for line in left_out:
            say(f"a tool of the MCP server is left out: {line}")
        return tools

    async def _follow(
        self,
        connecting: asyncio.Task[ServerConnection],
        settings: ServerSettings,
        folder: Path,
    ) -> None:
        """Offer the tools that the server has now, whenever it says that they have changed."""
        try:
            async with asyncio.timeout(CONNECT_S):
                connection = await asyncio.shield(connecting)
        except Exception as exc:  # whatever the server did, it is one line
            forget(folder)  # the next start tells it
            late = f"it was not there within {CONNECT_S:g} s"
            why = late if isinstance(exc, TimeoutError) else in_a_line(exc)
            die(f"the MCP server {self._name} cannot be used: {why}")
        while True:
            await self._changed.wait()
            self._changed.clear()
            try:
                tools = await self._list(connection)
                if tools != self._offered:
                    offered = [self._tool(tool, settings) for tool in tools]
                    await self.plugin.async_host.set_tools(offered)
                    self._offered = tools
            except Exception as exc:  # whatever the server did, it is one line
                say(f"its tools have changed, and stay as they were here: {in_a_line(exc)}")
            await asyncio.sleep(_RELIST_S)

    def _tool(self, tool: Fitted, settings: ServerSettings) -> sdk.Tool:
        return sdk.Tool(
            partial(self._call, tool),
            name=tool.tool_name,
            description=tool.description,
            schema=tool.schema,
            timeout_s=settings.timeout_s,
        )

    async def _call(
        self, tool: Fitted, arguments: dict[str, Any], *, ctx: sdk.AsyncContext
    ) -> sdk.ToolResult:
        assert self._connecting is not None
        connection = await asyncio.shield(self._connecting)
        return await connection.call(tool, arguments, ctx)


def _token(variable: str, address: str) -> sdk.EnvWant:
    return sdk.EnvWant(name=variable, required=True, secret=True, why=f"the token of {address}")
