#!/usr/bin/env python3
"""Tools of other programs, which connect by WebSocket and go again: see README.md."""

from __future__ import annotations

import asyncio
import logging
import os
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import msgspec
from clients import LOGIN_S, MOST_BYTES, Clients
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.http11 import Request, Response

import sliphook_sdk as sdk

PAGE = Path(__file__).with_name("page.html")
PORT_AGAIN_S = 1  # between two looks at a port that another agent has
SHORTEST_TOKEN = 16


class Settings(msgspec.Struct):
    port: Annotated[int, msgspec.Meta(ge=0, le=65535)] = 8765  # 0: any; the file `port` has it


plugin = sdk.Plugin(
    "remote-tools",
    version="2.0.0",
    description="Tools of other programs, such as a browser or a robot, that connect and go again.",
    uses=["tools"],
    env=[sdk.EnvWant(name="REMOTE_TOOLS_TOKEN", why="clients log in with it")],
    config=Settings,
)


def page(connection: ServerConnection, request: Request) -> Response | None:
    """The web page, for a browser that asks for it; None for a WebSocket."""
    if "Upgrade" in request.headers:
        return None
    if request.path != "/":
        return connection.respond(404, "there is nothing here\n")
    response = connection.respond(200, PAGE.read_text(encoding="utf-8"))
    del response.headers["Content-Type"]
    response.headers["Content-Type"] = "text/html; charset=utf-8"
    response.headers["Content-Security-Policy"] = "frame-ancestors 'none'"
    return response


class Door:
    """The open port, as soon as no other agent has it."""

    def __init__(self, clients: Clients, ctx: sdk.LifeContext) -> None:
        self._clients = clients
        self._ctx = ctx
        self._server: Server | None = None
        self._waiting: asyncio.Task[None] | None = None

    async def open(self) -> None:
        try:
            await self._open()
        except OSError as exc:
            plugin.async_host.log("warning", f"waits until the port is free: {exc}")
            self._waiting = asyncio.ensure_future(self._open_later())

    async def _open_later(self) -> None:
        while self._server is None:
            await asyncio.sleep(PORT_AGAIN_S)
            with suppress(OSError):
                await self._open()

    async def _open(self) -> None:
        self._server = await serve(
            self._clients.serve,
            "127.0.0.1",
            self._ctx.config.port,
            process_request=page,
            compression=None,
            max_size=MOST_BYTES,
            open_timeout=LOGIN_S,
            ping_interval=10,  # a client that has vanished is noticed in 20 s
            ping_timeout=10,
            close_timeout=1,
        )
        port = self._server.sockets[0].getsockname()[1]
        plugin.async_host.log("info", f"clients find it at ws://127.0.0.1:{port}")
        with suppress(OSError):  # a full disk: those who do not need the file can go on
            (self._ctx.data_dir / "port").write_text(str(port))

    async def close(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()


doors: list[Door] = []


@plugin.on_start
async def start(*, ctx: sdk.LifeContext) -> sdk.Disabled | None:
    logging.getLogger("websockets").setLevel(logging.WARNING)  # else it says all that we say too
    token = os.environ.get("REMOTE_TOOLS_TOKEN", "")
    if len(token) < SHORTEST_TOKEN:
        return sdk.disabled(
            "clients log in with the variable REMOTE_TOOLS_TOKEN, of at least"
            f" {SHORTEST_TOKEN} characters; `openssl rand -hex 16` makes one"
        )
    doors.append(Door(Clients(token, plugin.async_host), ctx))
    await doors[0].open()
    return None


@plugin.on_shutdown
async def end() -> None:
    for door in doors:
        await door.close()


if __name__ == "__main__":
    plugin.run()
