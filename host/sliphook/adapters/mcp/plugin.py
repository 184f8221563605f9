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

from .kept_tools import give_up, keep, kept, late
from .names import Fitted
from .settings import ServerSettings
from .transports.lines import die, in_a_line, say
from .transports.process import ServerProcess

if TYPE_CHECKING:
    from .connection import ServerConnection

LIST_S: Final = 8.0
"""How long a start is held up for the tools of a server: `initialize` may take a plugin 10 s."""
CONNECT_S: Final = 115.0
"""What a server may take to come, from its start on: npx and uvx download it first."""
_RELIST_S: Final = 1.0
"""The least time from list to list, however often the server says that its tools have changed."""


class ServerPlugin:
    """One server as a plugin.

    The tools that it listed at its first start are kept, so that later the plugin is ready before
    the server is, and before this process has imported what speaks to it. If none are kept and the
    server is slow, the plugin is ready without tools, and offers them when they are there.

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
        self._key: list[str] = []
        self._offered: list[Fitted] | None = None
        self._left_out: list[str] = []
        self._connecting: asyncio.Task[ServerConnection] | None = None
        self._follower: asyncio.Task[None] | None = None
        self.plugin.on_start(when_installed=True)(self._start)
        self.plugin.on_shutdown(self._stop)

    async def _start(self, *, ctx: sdk.LifeContext[ServerSettings]) -> sdk.Disabled | None:
        settings = ctx.config
        self._connecting = asyncio.create_task(self._connect(settings))
        self._key = [*self._words, settings.prefix]
        was_late = late(ctx.data_dir)
        tools = None if ctx.manifest_only else kept(ctx.data_dir, self._key)
        if tools is not None:
            self._changed.set()  # perhaps, since then
        else:
            within_s = CONNECT_S if ctx.manifest_only else LIST_S
            try:
                async with asyncio.timeout(self._began + within_s - time.monotonic()):
                    tools = await self._list(await asyncio.shield(self._connecting))
            except TimeoutError:
                if ctx.manifest_only or was_late:
                    return sdk.disabled(f"the MCP server did not list its tools in {within_s:g} s")
                say("the MCP server takes its time; its tools are offered when it lists them")
                self._changed.set()
            except Exception as exc:  # whatever the server did, it is one line
                return sdk.disabled(f"the MCP server cannot be used: {in_a_line(exc)}")
            else:
                keep(ctx.data_dir, self._key, tools)
        self._offered = tools
        for tool in tools or ():
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
        for line in left_out if left_out != self._left_out else ():
            say(f"a tool of the MCP server is left out: {line}")
        self._left_out = left_out
        return tools

    async def _follow(
        self,
        connecting: asyncio.Task[ServerConnection],
        settings: ServerSettings,
        folder: Path,
    ) -> None:
        """Offer the tools that the server has now, whenever it says that they have changed."""
        try:
            async with asyncio.timeout(self._began + CONNECT_S - time.monotonic()):
                connection = await asyncio.shield(connecting)
        except Exception as exc:  # whatever the server did, it is one line
            give_up(folder)  # the next start tells it
            is_late = isinstance(exc, TimeoutError)
            why = f"it was not there within {CONNECT_S:g} s" if is_late else in_a_line(exc)
            die(f"the MCP server {self._name} cannot be used: {why}")
        while True:
            await self._changed.wait()
            self._changed.clear()
            try:
                await self._offer(await self._list(connection), settings, folder)
            except Exception as exc:  # whatever the server did, it is one line
                say(f"its tools have changed, and stay as they were here: {in_a_line(exc)}")
            await asyncio.sleep(_RELIST_S)

    async def _offer(self, tools: list[Fitted], settings: ServerSettings, folder: Path) -> None:
        if tools == self._offered:
            return
        try:
            await self.plugin.async_host.set_tools([self._tool(one, settings) for one in tools])
        except sdk.HostRefused:
            if self._offered is not None:
                raise
            keep(folder, self._key, tools)
            die(f"the MCP server {self._name} was late; it is started again with its tools")
        if self._offered is None:
            keep(folder, self._key, tools)
        self._offered = tools

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
