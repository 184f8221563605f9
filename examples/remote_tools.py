#!/usr/bin/env python3
"""Tools of other programs, such as a browser, that come and go on ws://tools:TOKEN@127.0.0.1:PORT.

A program sends {"add": {"name", "description", "schema"}}, {"remove": NAME}, and for each {"call":
1, "tool", "arguments"} a {"call": 1, "result": {"content"}}, unless it hears {"cancelled": 1}.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
from contextlib import suppress
from typing import Any

import msgspec
from websockets.asyncio.server import Server, ServerConnection, basic_auth, broadcast, serve
from websockets.exceptions import ConnectionClosed

import sliphook_sdk as sdk


class Settings(msgspec.Struct):
    port: int = 8765  # 0: any; the file `port` in the data folder has it


plugin = sdk.Plugin("remote-tools", uses=["tools"], env=["REMOTE_TOOLS_TOKEN"], config=Settings)
numbers = itertools.count(1)
servers: list[Server] = []


async def program(socket: ServerConnection) -> None:
    tools: set[str] = set()
    calls: dict[int, asyncio.Future[sdk.ToolResult]] = {}
    gone = asyncio.ensure_future(socket.wait_closed())

    def send(**message: Any) -> None:
        broadcast([socket], json.dumps(message))  # it does not wait, also if nobody reads

    def offered(about: dict[str, Any]) -> sdk.Tool:
        async def call(arguments: dict[str, Any]) -> sdk.ToolResult:
            number = next(numbers)
            result = calls[number] = asyncio.get_running_loop().create_future()
            send(call=number, tool=about["name"], arguments=arguments)
            try:
                await asyncio.wait([result, gone], return_when=asyncio.FIRST_COMPLETED)
            finally:
                del calls[number]
                if not result.done():  # an interrupt, the tool's `timeout_s`, or the end
                    send(cancelled=number)
            if not result.done():
                raise sdk.ToolError(f"the program that offers {about['name']} has gone")
            return result.result()

        return sdk.Tool(call, **about)

    while True:
        try:
            said: dict[str, Any] = json.loads(await socket.recv())
            if "add" in said:
                await plugin.async_host.add_tool(offered(said["add"]))
                tools.add(said["add"]["name"])
            elif "remove" in said:
                tools.remove(said["remove"])  # only its own
                await plugin.async_host.remove_tool(said["remove"])
            elif said["call"] in calls:  # else it has crossed its cancel
                calls[said["call"]].set_result(msgspec.convert(said["result"], sdk.ToolResult))
        except ConnectionClosed:
            break
        except Exception as exc:  # what it said is wrong, or the host has refused it
            send(error=f"{type(exc).__name__}: {exc}")
    with suppress(sdk.HostRefused, sdk.NotConnected):
        for name in tools:
            await plugin.async_host.remove_tool(name)


@plugin.on_start
async def open_port(*, ctx: sdk.LifeContext) -> sdk.Disabled | None:
    token = os.environ.get("REMOTE_TOOLS_TOKEN")
    if not token:
        return sdk.disabled("programs log in with REMOTE_TOOLS_TOKEN, which is not set")
    login, port = basic_auth(credentials=("tools", token)), ctx.config.port
    try:
        opened = serve(program, "127.0.0.1", port, process_request=login, close_timeout=1)
        servers.append(await opened)
    except OSError as exc:  # most often another instance has the port
        return ctx.log("warning", f"cannot serve programs: {exc}")
    (ctx.data_dir / "port").write_text(str(servers[0].sockets[0].getsockname()[1]))


@plugin.on_shutdown
async def close_port() -> None:
    for server in servers:
        server.close()
        await server.wait_closed()


if __name__ == "__main__":
    plugin.run()
