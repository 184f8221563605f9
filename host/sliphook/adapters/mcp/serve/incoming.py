"""What the client sends: a message a line.

The SDK's own transport reads lines of any length in a thread that no cancel ends, and says nothing
of junk; so this one is in its place.
"""

from __future__ import annotations

import os
import re
import select
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, Literal, NamedTuple, TypeGuard, cast

import anyio
import msgspec
import trio
from anyio.abc import ObjectReceiveStream
from mcp.shared.jsonrpc_dispatcher import cancelled_request_id_from_params
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
)

from sliphook.adapters.mcp.transports.bounds import WHOLE_STEP_BYTES, whole_pieces
from sliphook.adapters.weighing import excess_of
from sliphook.wire.faults import id_in
from sliphook_sdk.protocol.limits import MAX_HOST_MESSAGE_BYTES

from .outgoing import Outgoing

MAX_LINE_BYTES: Final = MAX_HOST_MESSAGE_BYTES
"""No plugin could be told more."""
LIGHT_BYTES: Final = 1_024
"""What is no longer is not weighed."""
MOST_ID_CHARS: Final = 256
"""An id is kept, and stands in the answer."""
_MOST_ID: Final = 10**MOST_ID_CHARS
STALL_S: Final = 1.0
"""A client that has closed its stdin, and reads nothing for so long, is not waited for."""
_CHUNK: Final = 64 * 1024
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
            await self._until(lambda: self._out.has_room)
            line = await self._line()
            if line is None:
                raise anyio.EndOfStream
            message = await (self._read(line) if isinstance(line, bytes) else self._answer(line))
            if message is not None:
                return message

    async def aclose(self) -> None:
        """Nothing is to be done: the descriptor is the caller's."""

    async def _until(self, holds: Callable[[], bool]) -> None:
        """Wait for the client to read, or for what it has cancelled to end.

        Raises:
            anyio.EndOfStream: it has closed its stdin, and that does not happen.
        """
        while not holds():
            with trio.move_on_after(STALL_S) as stall:
                await self._out.changed.wait()
            if stall.cancelled_caught and self._is_closed():
                raise anyio.EndOfStream

    def _is_closed(self) -> bool:
        """Whether the client sends no more; what it has sent before may not be read yet."""
        look = select.poll()
        look.register(self._source, getattr(select, "POLLRDHUP", 0))
        return bool(look.poll(0))

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

    async def _answer(self, unread: _Unread) -> SessionMessage | None:
        """Refuse it; an answer of the client counts as an error, so that no one waits for it."""
        first, last = unread.first[:_KEPT], unread.last[-_KEPT:]
        found = _ID_FIRST.match(first) or _ID_LAST.search(last)
        id = found and id_in(found[1])
        why = f"the message is not read: {unread.why}"
        await trio.lowlevel.checkpoint()
        if id is not None and _IS_ANSWER.match(first):
            error = ErrorData(code=unread.code, message=why)
            return SessionMessage(JSONRPCError(jsonrpc="2.0", id=id, error=error))
        self._out.refuse(id, unread.code, why)
        return None

    async def _read(self, line: bytes) -> SessionMessage | None:
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
        has_id = _is_id(id)
        message = _message(fields, has_id) if fields.get("jsonrpc") == "2.0" else None
        if message is None:
            why = "the line is no message of JSON-RPC 2.0"
            self._out.refuse(id if has_id else None, INVALID_REQUEST, why)
            await trio.lowlevel.checkpoint()
            return None
        if isinstance(message, JSONRPCRequest):
            return await self._begin(message, len(whole))
        if isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            id = cancelled_request_id_from_params(message.params)
            if id is not None:
                self._out.cancel(id)
        return SessionMessage(message)

    async def _begin(self, request: JSONRPCRequest, size: int) -> SessionMessage | None:
        """Pass on a request that may be open; the SDK says if it ends without an answer."""
        id, out = request.id, self._out
        # what is cancelled is not answered: only here can the client have its place again
        await self._until(lambda: not out.cancelled or out.why_not(id, size) is None)
        if (refused := out.why_not(id, size)) is not None:
            out.refuse(id, *refused)
            return None
        out.open(id, size)

        async def over() -> None:
            out.over(id)

        return SessionMessage(request, ServerMessageMetadata(on_request_unanswered=over))


async def _whole(line: bytes) -> bytes:
    """The line with whole characters; other tasks run meanwhile if it is long."""
    pieces: list[bytes] = []
    for piece in whole_pieces(line):
        pieces.append(piece)
        if len(line) > WHOLE_STEP_BYTES:
            await trio.lowlevel.checkpoint()
    return b"".join(pieces)


def _is_id(value: object) -> TypeGuard[RequestId]:
    if isinstance(value, str):
        return len(value) <= MOST_ID_CHARS
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < _MOST_ID


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
