"""The wire of a server's process, with bounds: a line has a length, a second has a rate.

The SDK's session has it, beside requests of our own (see `own_calls`).
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from typing import TypeAlias

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client import Transport
from mcp.shared.message import SessionMessage

from .bounds import MAX_MESSAGE_BYTES, MOST_PER_SECOND, MOST_RUBBISH, TOO_LONG, PerSecond, too_heavy
from .own_calls import OwnCalls
from .process import ServerProcess

_In: TypeAlias = MemoryObjectReceiveStream[SessionMessage | Exception]
_Out: TypeAlias = MemoryObjectSendStream[SessionMessage]


def stdio(server: ServerProcess, own: OwnCalls, lost: Callable[[str], None]) -> Transport:
    """The transport of a running server.

    Args:
        server: the server; it is ended with the transport.
        own: requests that the session does not make.
        lost: told in a line why the connection has ended by the server's fault.
    """
    return _stdio(server, own, lost)


@asynccontextmanager
async def _stdio(
    server: ServerProcess, own: OwnCalls, lost: Callable[[str], None]
) -> AsyncGenerator[tuple[_In, _Out]]:
    to_session, read_stream = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write_stream, from_session = anyio.create_memory_object_stream[SessionMessage](0)
    reader, writer = await server.streams(MAX_MESSAGE_BYTES)
    is_ending = False
    own.begin(writer)

    async def read() -> None:
        async with to_session:
            why = await _read_all(reader, own, to_session)
        own.end()
        if not is_ending:
            lost(why or await server.last_status())

    async def write() -> None:
        async with from_session:
            async for sent in from_session:
                text = sent.message.model_dump_json(by_alias=True, exclude_unset=True)
                with suppress(ConnectionError):  # then `read` tells that it has ended
                    writer.write(text.encode() + b"\n")
                    await writer.drain()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        tasks.start_soon(write)
        try:
            yield read_stream, write_stream
        finally:
            is_ending = True
            own.end()
            with anyio.CancelScope(shield=True):
                await server.end(writer)
            tasks.cancel_scope.cancel()
            for stream in (read_stream, write_stream):
                stream.close()


async def _read_all(
    reader: asyncio.StreamReader,
    own: OwnCalls,
    to_session: MemoryObjectSendStream[SessionMessage | Exception],
) -> str | None:
    """Pass on every message; why the reading has ended, or None at the end of the output."""
    rubbish = 0
    pace = PerSecond(MOST_PER_SECOND)
    while True:
        try:
            line = await reader.readuntil()
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        except asyncio.LimitOverrunError:
            return TOO_LONG
        if (why := too_heavy(line)) is not None:
            return why
        if not own.take(line):
            try:
                message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValueError:
                rubbish += 1
                if rubbish == 1:
                    print(f"no message of MCP on its output: {line[:200]!r}", file=sys.stderr)
                if rubbish > MOST_RUBBISH:
                    return f"it sent {rubbish} lines that are no messages of MCP"
                continue
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                await to_session.send(SessionMessage(message))
        pause_s = pace.pause_s(1, asyncio.get_running_loop().time())
        if pause_s:
            await asyncio.sleep(pause_s)
