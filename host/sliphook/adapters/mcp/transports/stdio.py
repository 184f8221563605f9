"""The wire of a server's process, with bounds: a line has a length, a second has a rate.

The SDK's session has it, beside requests of our own (see `own_calls`).
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final, TypeAlias

import anyio
import mcp_types as types
import msgspec
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client import Transport
from mcp.shared.message import SessionMessage

from sliphook_sdk.protocol.limits import UNWEIGHED_BYTES

from .bounds import (
    MAX_MESSAGE_BYTES,
    MOST_PER_SECOND,
    MOST_RUBBISH,
    TOO_LONG,
    PerSecond,
    too_heavy,
    whole_characters,
)
from .own_calls import OwnCalls
from .process import ServerProcess
from .reading import LineReader, LineTooLong

_LAST_WORDS_S: Final = 0.5
"""How long a server that has ended is still read."""

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
    reading = _Reading(own, to_session)
    writer = await server.connect(reading.lines)
    is_ending = False
    own.begin(writer)

    async def read() -> None:
        async with to_session:
            why = await reading.run()
            own.end()
            if not is_ending:  # before the session's requests fail, which do not know why
                lost(why or await server.last_status())

    async def watch() -> None:
        if await server.fails():  # what it has started may hold its output open
            await asyncio.sleep(_LAST_WORDS_S)
            reading.lines.end()

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
        tasks.start_soon(watch)
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


class _Reading:
    """Reads what the server says, no faster than it may speak.

    Args:
        own: gets what is for our own requests.
        to_session: gets all else.
    """

    def __init__(
        self, own: OwnCalls, to_session: MemoryObjectSendStream[SessionMessage | Exception]
    ) -> None:
        self.lines = LineReader(MAX_MESSAGE_BYTES, self._take_at_once)
        self._own = own
        self._to_session = to_session
        self._loop = asyncio.get_running_loop()
        self._pace = PerSecond(MOST_PER_SECOND)
        self._rests_until_s = 0.0
        self._rubbish = 0

    async def run(self) -> str | None:
        """Pass on every message; why the reading has ended, or None at the end of the output."""
        while True:
            try:
                line = await self.lines.line()
            except LineTooLong:
                return TOO_LONG
            if line is None:
                return None
            rest_s = self._rests_until_s - self._loop.time()
            if rest_s > 0:
                await asyncio.sleep(rest_s)
            why = too_heavy(line) or await self._take(whole_characters(line))
            if why is not None:
                return why
            self._count()

    def _take_at_once(self, line: bytes) -> bool:
        if (
            len(line) > UNWEIGHED_BYTES
            or self._rests_until_s > self._loop.time()
            or too_heavy(line) is not None
            or not self._own.take(whole_characters(line))
        ):
            return False
        self._count()
        return True

    async def _take(self, line: bytes) -> str | None:
        if self._own.take(line):
            return None
        try:
            message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            self._rubbish += 1
            if self._rubbish == 1:
                print(f"no message of MCP on its output: {line[:200]!r}", file=sys.stderr)
            if self._rubbish > MOST_RUBBISH:
                return f"it sent {self._rubbish} lines that are no messages of MCP"
            return None
        # once more, as the SDK takes what is no JSON: NaN and Infinity, which have become null
        if (
            isinstance(message, types.JSONRPCResponse | types.JSONRPCError)
            and self._own.awaits(message.id)
            and self._own.take(msgspec.json.encode(message.model_dump()))
        ):
            return None
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await self._to_session.send(SessionMessage(message))
        return None

    def _count(self) -> None:
        now_s = self._loop.time()
        self._rests_until_s = now_s + self._pace.pause_s(1, now_s)
