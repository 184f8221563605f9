"""What the client is sent, and what it has open: one bound for both, whatever it reads.

The SDK's own transport writes in a thread that no cancel ends; so this one is in its place.
"""

from __future__ import annotations

import os
import select
import socket
import stat
from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

import anyio
import trio
from anyio.abc import ObjectSendStream
from mcp.shared.dispatcher import coerce_request_id
from mcp.shared.message import SessionMessage
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCResponse,
    RequestId,
)

MOST_OPEN: Final = 256
"""Requests of the client that are open; a further one is refused."""
MOST_BYTES: Final = 64 * 1024 * 1024
"""Of open requests and of all that is not read; an answer beyond it becomes an error."""
PAUSE_BYTES: Final = 8 * 1024 * 1024
"""Not read by the client: behind so much nothing is read of it, and only answers are sent."""
_WITHOUT_BLOCKING: Final = select.PIPE_BUF
_LEFT_OUT: Final = f"the answer is left out: over {MOST_BYTES // 2**20} MiB are open or not read"


class _Line(NamedTuple):
    """A line that waits, and the request that it answers."""

    line: bytes
    id: RequestId | None


class Outgoing(ObjectSendStream[SessionMessage]):
    """What is sent to the client. One task, `run`, writes; a line is never torn by a cancel.

    A request is open until its answer is written: what waits for a client that does not read is
    held by what it may have open. One that is cancelled is open until its work has ended.

    Attributes:
        changed: set when a line is written or comes, or a request is over; then there is another.
        cancelled: the open requests that the client has cancelled.
    """

    def __init__(self, sink: int) -> None:
        self.changed = trio.Event()
        self.cancelled: set[RequestId] = set()
        self._sink = sink
        self._is_socket = stat.S_ISSOCK(os.fstat(sink).st_mode)
        self._open: dict[RequestId, int] = {}  # bytes: of the request, later of its answer
        self._lines: deque[_Line] = deque()
        self._unread = 0  # bytes of the lines
        self._held = 0  # the same and those of open requests
        self._turn = trio.Lock()
        self._is_closed = False

    # -- requests of the client

    def why_not(self, id: RequestId, size: int) -> tuple[int, str] | None:
        """Why a request of so many bytes is refused, with the error's code; None: it may open."""
        if coerce_request_id(id) in self._open:
            return INVALID_REQUEST, "a request of this id is open"
        if len(self._open) >= MOST_OPEN:
            return INTERNAL_ERROR, f"{MOST_OPEN} requests are open"
        if not self._fits(size):
            return INTERNAL_ERROR, f"over {MOST_BYTES // 2**20} MiB are open or not read"
        return None

    def open(self, id: RequestId, size: int) -> None:
        """A request has begun."""
        self._open[coerce_request_id(id)] = size
        self._held += size

    def cancel(self, id: RequestId) -> None:
        """The client waits for it no longer."""
        if (id := coerce_request_id(id)) in self._open:
            self.cancelled.add(id)

    def over(self, id: RequestId) -> None:
        """A request is answered, or has ended without an answer."""
        id = coerce_request_id(id)
        self._held -= self._open.pop(id, 0)
        self.cancelled.discard(id)
        self._change()

    # -- lines

    @property
    def has_room(self) -> bool:
        """Whether the client has read enough to be read, and sent more than answers."""
        return self._unread <= PAUSE_BYTES

    async def send(self, item: SessionMessage) -> None:
        """Queue one message. Answers never wait; the rest does while the client does not read.

        Raises:
            anyio.BrokenResourceError: the client reads no more.
        """
        message = item.message
        if isinstance(message, (JSONRPCResponse, JSONRPCError)) and message.id is not None:
            self._answer(message, coerce_request_id(message.id))
        elif (
            isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled"
        ):
            line = _encoded(message)  # is sent at the end of a task, where it must not wait
            if self._fits(len(line)):
                self._put(line)
        else:
            async with self._turn:
                while not (self.has_room or self._is_closed):
                    await self.changed.wait()
                self._put(_encoded(message))
        await trio.lowlevel.checkpoint()

    def refuse(self, id: RequestId | None, code: int, why: str) -> None:
        """Answer what is not read; nothing if the client reads no more."""
        error = ErrorData(code=code, message=why)
        if not self._is_closed:
            self._put(_encoded(JSONRPCError(jsonrpc="2.0", id=id, error=error)))

    def _answer(self, message: JSONRPCResponse | JSONRPCError, id: RequestId) -> None:
        line = _encoded(message)
        begun = self._open.get(id, 0)
        if not self._fits(len(line) - begun):
            error = ErrorData(code=INTERNAL_ERROR, message=_LEFT_OUT)
            line = _encoded(JSONRPCError(jsonrpc="2.0", id=message.id, error=error))
        self._held -= begun
        self._open[id] = 0  # its line counts from now on
        self._put(line, id)

    def _fits(self, more: int) -> bool:
        return self._held + more <= MOST_BYTES

    def _put(self, line: bytes, id: RequestId | None = None) -> None:
        if self._is_closed:
            raise anyio.BrokenResourceError
        self._lines.append(_Line(line, id))
        self._unread += len(line)
        self._held += len(line)
        self._change()

    def _change(self) -> None:
        self.changed.set()
        self.changed = trio.Event()

    async def aclose(self) -> None:
        """Nothing more is sent."""
        self._is_closed = True
        self._change()

    # -- the writing task

    async def run(self, gone: Callable[[], None]) -> None:
        """Write until all is written; `gone` is called if the client reads no more."""
        try:
            while self._lines or not self._is_closed:
                if self._lines:
                    await self._write(memoryview(self._lines[0].line))
                    self._written(self._lines.popleft())
                else:
                    await self.changed.wait()
        except OSError:
            self._is_closed = True
            self._change()
            gone()

    def _written(self, one: _Line) -> None:
        self._unread -= len(one.line)
        self._held -= len(one.line)
        if one.id is not None:
            self.over(one.id)
        self._change()

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


def _encoded(message: JSONRPCMessage) -> bytes:
    return message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
