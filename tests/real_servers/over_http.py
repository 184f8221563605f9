"""A server of standard input and output, served over HTTP, since the conformance suite calls there.

One client, one process. What the server says while a request is open belongs to that request.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager

import uvicorn
from mcp import StdioServerParameters, stdio_client
from mcp.server.streamable_http import StreamableHTTPServerTransport
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp_types import JSONRPCRequest

from tests.programs import WAIT_S

logging.getLogger("mcp.server.streamable_http").setLevel(logging.CRITICAL)  # it tells of its end


@contextmanager
def over_http(words: Sequence[str], environment: dict[str, str]) -> Generator[str]:
    """Serve the command; gives the address."""
    transport = StreamableHTTPServerTransport(mcp_session_id=None)
    http = uvicorn.Server(
        uvicorn.Config(
            transport.handle_request, interface="asgi3", log_level="error", lifespan="off"
        )
    )
    server = StdioServerParameters(command=words[0], args=list(words[1:]), env=environment)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        serving = _serve(http, listening, transport, server)
        thread = threading.Thread(target=asyncio.run, args=(serving,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        finally:
            http.should_exit = True
            thread.join(WAIT_S)


async def _serve(
    http: uvicorn.Server,
    listening: socket.socket,
    transport: StreamableHTTPServerTransport,
    server: StdioServerParameters,
) -> None:
    request: str | int | None = None

    async def ask() -> None:
        nonlocal request
        async for message in from_client:
            assert isinstance(message, SessionMessage), message
            if isinstance(message.message, JSONRPCRequest):
                request = message.message.id
            await to_server.send(message)

    async def answer() -> None:
        async for message in from_server:
            assert isinstance(message, SessionMessage), message
            message.metadata = ServerMessageMetadata(related_request_id=request)
            await to_client.send(message)

    async with (
        stdio_client(server) as (from_server, to_server),
        transport.connect() as (from_client, to_client),
    ):
        passing = [asyncio.create_task(one()) for one in (ask, answer)]
        await http.serve(sockets=[listening])
        for task in passing:
            task.cancel()
