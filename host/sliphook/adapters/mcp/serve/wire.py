"""The wire of the server: a message a line, on descriptors that no one else has.

The SDK's own transport reads lines of any length in a thread that no cancel ends, and says nothing
of junk; so this one is in its place, with the same streams.
"""

from __future__ import annotations

import os
import re
import select
import socket
import stat
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, Literal, NamedTuple, cast

import anyio
import msgspec
import trio
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)

from sliphook.adapters.mcp.transports.bounds import WHOLE_STEP_BYTES, whole_pieces
from sliphook.adapters.weighing import excess_of
from sliphook.wire.faults import id_in
from sliphook_sdk.protocol.limits import MAX_HOST_MESSAGE_BYTES

MAX_LINE_BYTES: Final = MAX_HOST_MESSAGE_BYTES
"""No plugin could be told more."""
LIGHT_BYTES: Final = 1_024
"""What is no longer is not weighed."""
MOST_OPEN: Final = 256
"""Requests of the client that are not answered yet; a further one is refused."""
FLUSH_S: Final = 1.0
"""How long the client has to read what is written at the end."""
_CHUNK: Final = 64 * 1024
_WITHOUT_BLOCKING: Final = select.PIPE_BUF
_QUEUED: Final = 16
_KEPT: Final = 512
_TOO_LONG: Final = f"it is over {MAX_LINE_BYTES // 2**20} MiB"
_ID: Final = rb'"id"\s*:\s*(\d{1,15}|"[ !#-\[\]-~]{1,100}")'
_IS_ANSWER: Final = re.compile(
    rb'\s*\{\s*(?:(?:"jsonrpc"\s*:\s*"2\.0"|' + _ID + rb')\s*,\s*)*"(?:result|error)"\s*:'
)
_ID_FIRST: Final = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?' + _ID)
_ID_LAST: Final = re.compile(rb",\s*" + _ID + rb'\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*\Z')


class _Unread(NamedTuple):
    """A line that is not read: its two ends, and why."""

    first: bytes
    last: bytes
    why: str
    code: int = INVALID_REQUEST


class Outgoing(ObjectSendStream[SessionMessage]):
    """What is sent to the client. One task, `run`, writes; a line is never torn by a cancel.

    Attributes:
        open: the requests of the client that wait for an answer, by id, as text.
    """

    def __init__(self, sink: int) -> None:
        self.open: set[str] = set()
        self._sink = sink
        self._put, self._get = trio.open_memory_channel[bytes](_QUEUED)
        self._is_socket = stat.S_ISSOCK(os.fstat(sink).st_mode)

    async def send(self, item: SessionMessage) -> None:
        """Queue one message; waits while the client does not read.

        Raises:
            anyio.BrokenResourceError: the client reads no more.
        """
        message = item.message
        await self.write(message)
        # not before: of a client that does not read, no more wait here than it may have open
        if isinstance(message, (JSONRPCResponse, JSONRPCError)) and message.id is not None:
            self.open.discard(str(message.id))

    async def write(self, message: JSONRPCMessage) -> None:
        """The same for a message that is no answer to an open request."""
        line = message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
        try:
            await self._put.send(line)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            raise anyio.BrokenResourceError from None

    async def refuse(self, id: Any, code: int, why: str) -> None:
        """Answer what cannot be read."""
        error = ErrorData(code=code, message=why)
        try:
            await self.write(JSONRPCError(jsonrpc="2.0", id=id, error=error))
        except anyio.BrokenResourceError:
            await trio.lowlevel.checkpoint()

    async def aclose(self) -> None:
        """Nothing more is sent."""
        self._put.close()

    async def run(self, gone: Callable[[], None]) -> None:
        """Write until all is written; `gone` is called if the client reads no more."""
        try:
            async with self._get:
                async for line in self._get:
                    await self._write(memoryview(line))
        except OSError:
            gone()

    async def _write(self, view: memoryview) -> None:
        while view:
            if not select.select([], [self._sink], [], 0)[1]:
                await trio.lowlevel.wait_writable(self._sink)
            view = view[self._write_some(view) :]

    def _write_some(self, view: memoryview) -> int:
        if not self._is_socket:
            # a pipe that is writable takes so many bytes at once
            return os.write(self._sink, view[:_WITHOUT_BLOCKING])
        with socket.socket(fileno=os.dup(self._sink)) as sink:
            try:
                return sink.send(view, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return 0


class Incoming(ObjectReceiveStream[SessionMessage | Exception]):
    """What the client sends. Ends with its stdin; what is no message is answered with an error."""

    def __init__(self, source: int, outgoing: Outgoing) -> None:
        self._source = source
        self._out = outgoing
        self._bytes = bytearray()
        self._looked = 0
        self._ended = False

    async def receive(self) -> SessionMessage | Exception:
        """The next message.

        Raises:
            anyio.EndOfStream: stdin is at its end.
        """
        while True:
            line = await self._line()
            if line is None:
                raise anyio.EndOfStream
            message = await (self._read(line) if isinstance(line, bytes) else self._answer(line))
            if message is not None:
                return SessionMessage(message)

    async def aclose(self) -> None:
        """Nothing is to be done: the descriptor is the caller's."""

    async def _line(self) -> bytes | _Unread | None:
        while True:
            end = self._bytes.find(b"\n", self._looked)
            if end >= 0:
                line = bytes(self._bytes[:end])
                del self._bytes[: end + 1]
                self._looked = 0
                if len(line) <= MAX_LINE_BYTES:
                    return line
                return _Unread(line, line, _TOO_LONG)
            elif len(self._bytes) > MAX_LINE_BYTES:
                return await self._skip()
            elif not await self._more():
                return None
            else:
                self._looked = max(0, len(self._bytes) - _CHUNK)

    async def _more(self) -> bool:
        """Whether there was more to read. A last line without its end is none."""
        with suppress(PermissionError):  # a file, which is always readable
            await trio.lowlevel.wait_readable(self._source)
        piece = os.read(self._source, _CHUNK)
        self._bytes += piece
        return bool(piece)

    async def _skip(self) -> _Unread:
        """Go on behind a line that is too long; of it only its two ends are kept."""
        first, last = bytes(self._bytes[:_KEPT]), b""
        while True:
            end = self._bytes.find(b"\n")
            piece = bytes(self._bytes[: end if end >= 0 else len(self._bytes)])
            last = (last + piece[-_KEPT:])[-_KEPT:]
            del self._bytes[: end + 1 if end >= 0 else len(self._bytes)]
            self._looked = 0
            if end >= 0 or not await self._more():
                return _Unread(first, last, _TOO_LONG)

    async def _answer(self, unread: _Unread) -> JSONRPCMessage | None:
        """Refuse it; an answer of the client counts as an error, so that no one waits for it."""
        first, last = unread.first[:_KEPT], unread.last[-_KEPT:]
        found = _ID_FIRST.match(first) or _ID_LAST.search(last)
        id = found and id_in(found[1])
        why = f"the message is not read: {unread.why}"
        if id is not None and _IS_ANSWER.match(first):
            error = ErrorData(code=unread.code, message=why)
            return JSONRPCError(jsonrpc="2.0", id=id, error=error)
        await self._out.refuse(id, unread.code, why)
        return None

    async def _read(self, line: bytes) -> JSONRPCMessage | None:
        if not line.strip():
            await trio.lowlevel.checkpoint()
            return None
        if len(line) > LIGHT_BYTES and (excess := await excess_of(line)) is not None:
            return await self._answer(_Unread(line, line, excess))
        whole = await _whole(line)
        if len(whole) > MAX_LINE_BYTES:  # what is no UTF-8 takes three bytes then
            return await self._answer(_Unread(line, line, _TOO_LONG))
        try:
            found: Any = msgspec.json.decode(whole)
        except (msgspec.DecodeError, RecursionError, ValueError) as error:
            return await self._answer(_Unread(line, line, f"it is no JSON: {error}", PARSE_ERROR))
        fields = cast("dict[str, Any]", found if isinstance(found, dict) else {})
        id = fields.get("id")
        has_id = isinstance(id, (int, str)) and not isinstance(id, bool)
        message = _message(fields, has_id) if fields.get("jsonrpc") == "2.0" else None
        if message is None:
            await self._out.refuse(
                id if has_id else None, INVALID_REQUEST, "the line is no message of JSON-RPC 2.0"
            )
            return None
        if isinstance(message, JSONRPCNotification):
            if message.method == "notifications/cancelled":
                self._out.open.discard(str((message.params or {}).get("requestId")))
        elif isinstance(message, JSONRPCRequest):
            if str(message.id) in self._out.open:
                await self._out.refuse(id, INVALID_REQUEST, "a request of this id is open")
                return None
            if len(self._out.open) >= MOST_OPEN:
                await self._out.refuse(id, INTERNAL_ERROR, f"{MOST_OPEN} requests are open")
                return None
            self._out.open.add(str(message.id))
        return message


async def _whole(line: bytes) -> bytes:
    """The line with whole characters; other tasks run meanwhile if it is long."""
    pieces: list[bytes] = []
    for piece in whole_pieces(line):
        pieces.append(piece)
        if len(line) > WHOLE_STEP_BYTES:
            await trio.lowlevel.checkpoint()
    return b"".join(pieces)


def _message(fields: dict[str, Any], has_id: bool) -> JSONRPCMessage | None:
    two: Final[Literal["2.0"]] = "2.0"
    method, given = fields.get("method"), fields.get("params")
    try:
        if isinstance(method, str):
            if not isinstance(given, dict | None):
                return None
            params = cast("dict[str, Any] | None", given)
            if has_id:
                return JSONRPCRequest(jsonrpc=two, id=fields["id"], method=method, params=params)
            if "id" in fields:
                return None
            return JSONRPCNotification(jsonrpc=two, method=method, params=params)
        if "result" in fields:
            return JSONRPCResponse(jsonrpc=two, id=fields["id"], result=fields["result"])
        return JSONRPCError(jsonrpc=two, id=fields["id"], error=fields["error"])
    except (KeyError, ValueError):
        if not has_id or isinstance(method, str) or not fields.keys() & {"result", "error"}:
            return None
        # an answer to us: an error of its id would be one to the client's own request
        error = ErrorData(code=INVALID_REQUEST, message="the answer cannot be read")
        return JSONRPCError(jsonrpc=two, id=fields["id"], error=error)
