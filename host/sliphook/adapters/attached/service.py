"""The socket of a daemon: peers of the same user, one request a connection, bounded.

What can be done at once is done without a checkpoint: a hook waits, and each costs a pass of the
event loop.
"""

from __future__ import annotations

import math
import os
import socket
import struct
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, nullcontext, suppress
from functools import partial
from typing import Final, NamedTuple, TypeVar

import trio

from sliphook.adapters.dialects.answer import HookReply
from sliphook.adapters.relayed.messages import EVENT
from sliphook.agent_log import agent_log
from sliphook.dispatch.parking import wait_in_line
from sliphook.quoting import quote

from .payload import HookPayload, NoJson, read_payload
from .request import MAX_HEAD_BYTES, VERSION, HookRequest, read_head, reply_bytes

_log = agent_log(__name__)

MOST_AT_ONCE: Final = 256
"""Requests under way. For one more, the peer that has been silent for the longest is left; if none
is silent, it waits in the system's queue, and its client with it."""
MOST_SERVED: Final = 512
"""Requests of our MCP servers, which may stay for as long as a session; what is more is closed."""
MOST_LARGE: Final = 4
"""Large bodies that are in memory at once."""
_LARGE_BYTES: Final = 256 * 1024
"""So much of a body needs no room: who announces a large one and sends less holds up none."""
_LARGE_S: Final = 1.0
_LARGE_BYTES_PER_S: Final = 1024 * 1024
"""How fast a large body must come, after `_LARGE_S`, while another one waits for room."""
_HEAD_S: Final = 5.0
_READ_S: Final = 20.0
_WRITE_S: Final = 20.0
_CHUNK: Final = 64 * 1024

T = TypeVar("T")


class Answered(NamedTuple):
    """A reply, and what is done when it has been sent."""

    reply: HookReply
    then: Callable[[], None] | None = None


Answer = Callable[[HookRequest, HookPayload | None], Awaitable[Answered | None]]
"""From the request and its payload, None if it was no JSON, to the reply; None: the client is to
ask another daemon. Never raises."""

Serve = Callable[[HookRequest, HookPayload | None, trio.socket.SocketType], Awaitable[None]]
"""Answers a request of our MCP server on its connection. What it raises is logged."""

Receive = Callable[[], Awaitable[bytes]]
"""The next bytes of a peer, empty at its end. Raises TimeoutError."""


class LargeBodies:
    """Room for large bodies. Who has some and is slow makes room while another one waits."""

    def __init__(self) -> None:
        self._limiter = trio.CapacityLimiter(MOST_LARGE)
        self._waiting = 0
        self._receiving: dict[trio.CancelScope, float] = {}

    @asynccontextmanager
    async def room(self) -> AsyncGenerator[Callable[[Receive], Awaitable[bytes]]]:
        """Wait for room, and have it in the block, which receives by what it gets."""
        try:
            self._limiter.acquire_nowait()
        except trio.WouldBlock:
            await self._wait()
        due_s = trio.current_time() + _LARGE_S

        async def in_time(receive: Receive) -> bytes:
            nonlocal due_s
            while True:
                with trio.CancelScope(deadline=due_s if self._waiting else math.inf) as scope:
                    self._receiving[scope] = due_s
                    try:
                        piece = await receive()
                    finally:
                        del self._receiving[scope]
                    due_s += len(piece) / _LARGE_BYTES_PER_S
                    return piece
                if self._waiting:
                    raise TimeoutError("its body comes slowly, and others wait")

        try:
            yield in_time
        finally:
            self._limiter.release()

    async def _wait(self) -> None:
        self._waiting += 1
        for scope, due_s in self._receiving.items():
            scope.deadline = min(scope.deadline, due_s)
        try:
            await self._limiter.acquire()
        finally:
            self._waiting -= 1


class Service:
    """Takes the requests.

    The task that has accepted a client serves it, while another waits for the next one: to hand
    each over would cost a pass of the event loop.

    Args:
        listener: bound and listening.
        answer: answers one.
        serve: answers one that is no hook, but of our MCP server.
        other_version: called when a client of another version asks.
    """

    def __init__(
        self,
        listener: socket.socket,
        answer: Answer,
        serve: Serve,
        other_version: Callable[[], None],
    ) -> None:
        listener.setblocking(False)
        self._listener = listener
        self._answer = answer
        self._served = serve
        self._other_version = other_version
        self._nursery: trio.Nursery
        self._waits = False
        self._under_way = 0
        self._silent: dict[trio.CancelScope, None] = {}
        self._serving = 0
        self._large = LargeBodies()

    async def run(self) -> None:
        """Take requests until cancelled."""
        with self._listener:
            async with trio.open_nursery() as self._nursery:
                self._wait_for_next()

    def close(self) -> None:
        """Take no more; what is under way goes on."""
        trio.lowlevel.notify_closing(self._listener)
        self._listener.close()

    def _wait_for_next(self) -> None:
        if not self._waits and (self._under_way < MOST_AT_ONCE or self._silent):
            self._waits = True
            self._nursery.start_soon(self._take)

    async def _take(self) -> None:
        """Serve the next client."""
        peer = await self._accepted()
        if peer is None:
            return
        self._waits = False
        if self._under_way >= MOST_AT_ONCE and self._silent:
            longest = next(iter(self._silent))
            del self._silent[longest]
            longest.cancel()
        self._under_way += 1
        self._wait_for_next()
        asked: tuple[HookRequest, HookPayload | None] | None = None
        try:
            asked = await self._serve(peer)
        except OSError as error:
            _log.info("a client went away: %s", error)
        finally:
            if asked is None:
                peer.close()
            self._under_way -= 1
            self._wait_for_next()
        if asked is not None:
            with peer:
                await self._serve_tools(*asked, peer)

    async def _accepted(self) -> socket.socket | None:
        """The next client; None once no more are taken."""
        while self._listener.fileno() != -1:
            try:
                await trio.lowlevel.wait_readable(self._listener)
                peer, _ = self._listener.accept()
                peer.setblocking(False)
                return peer
            except (BlockingIOError, trio.ClosedResourceError):
                pass
            except OSError as error:
                if self._listener.fileno() != -1:
                    # no descriptors, or the peer has gone already
                    _log.warning("a client could not be taken: %s", error)
                    await trio.sleep(0.05)
        return None

    async def _serve_tools(
        self, request: HookRequest, payload: HookPayload | None, peer: socket.socket
    ) -> None:
        if self._serving >= MOST_SERVED:
            _log.warning("an MCP server was turned away: %d are served", MOST_SERVED)
            return
        self._serving += 1
        try:
            await self._served(request, payload, trio.socket.from_stdlib_socket(peer))
        except Exception:  # one of them must not end the daemon of the others
            _log.exception("what an MCP server asked could not be served")
        finally:
            self._serving -= 1

    async def _serve(self, peer: socket.socket) -> tuple[HookRequest, HookPayload | None] | None:
        """Answer a hook; what is no hook is returned."""
        if not is_same_user(peer):
            _log.warning("a process of another user was turned away")
            return None
        receive = partial(self._when_ready, peer, partial(peer.recv, _CHUNK))
        read = await _read_head(partial(receive, trio.current_time() + _HEAD_S))
        if read is None:
            return None
        request, begun = read
        if request.version != VERSION:
            self._other_version()
            return None
        payload: HookPayload | None = None
        size, until_s = request.size, trio.current_time() + _READ_S
        body = await _read_body(partial(receive, until_s), begun, min(size, _LARGE_BYTES))
        del begun, read
        if len(body) < min(size, _LARGE_BYTES):
            return None
        async with self._large.room() if size > _LARGE_BYTES else nullcontext() as in_time:
            if in_time is not None:
                rest = partial(in_time, partial(receive, trio.current_time() + _READ_S))
                body = await _read_body(rest, body, size)
            if len(body) != size:
                return None
            if self._under_way > 1:
                await wait_in_line()  # the last bytes of hundreds may come at once
            with suppress(NoJson):
                payload = await read_payload(body, shortened=request.shortened)
            del body
        if request.event == EVENT:
            return request, payload
        answered = await self._answer(request, payload)
        if answered is None:
            return None
        view, until_s = memoryview(reply_bytes(answered.reply)), trio.current_time() + _WRITE_S
        try:
            while view:
                sent = await self._when_ready(peer, partial(peer.send, view), until_s, writes=True)
                view = view[sent:]
        finally:
            # also if the agent has ended its hook meanwhile: what it has told has happened
            if answered.then is not None:
                answered.then()
        return None

    async def _when_ready(
        self, peer: socket.socket, do: Callable[[], T], until_s: float, *, writes: bool = False
    ) -> T:
        """Do it; wait before that if it would block.

        Raises:
            TimeoutError: it would block until `until_s`, of trio's clock, or until another client
                needs the place.
        """
        wait = trio.lowlevel.wait_writable if writes else trio.lowlevel.wait_readable
        is_over = False
        while True:
            try:
                return do()  # at the end, too: it may be ready by now
            except BlockingIOError:
                if is_over:
                    raise TimeoutError("it neither says nor takes anything") from None
            # only here: most requests come in one piece, and a scope is not for nothing
            with trio.move_on_at(until_s) as scope:
                self._silent[scope] = None
                self._wait_for_next()
                try:
                    await wait(peer)
                finally:
                    self._silent.pop(scope, None)
            is_over = scope.cancelled_caught


async def _read_head(receive: Receive) -> tuple[HookRequest, bytes] | None:
    """The request, and what came of its body with it; None if it is none."""
    data = bytearray()
    while b"\n" not in data:
        if len(data) > MAX_HEAD_BYTES or not (piece := await receive()):
            if not data:
                return None  # it has only looked whether anyone listens
            _log.warning("a client said no request: %s", quote(bytes(data[:80]).decode("latin-1")))
            return None
        data += piece
    line, _, rest = bytes(data).partition(b"\n")
    request = read_head(line)
    if request is None:
        _log.warning("a client said no request: %s", quote(line[:80].decode("latin-1")))
        return None
    return request, rest


async def _read_body(receive: Receive, begun: bytes, size: int) -> bytes:
    """What has come of a body when that is at least `size`, or at its end."""
    pieces, left = [begun], size - len(begun)
    while left > 0 and (piece := await receive()):
        pieces.append(piece)
        left -= len(piece)
        await trio.lowlevel.checkpoint()  # a long body is not read at a stretch
    return b"".join(pieces)


def is_same_user(peer: socket.socket) -> bool:
    """Whether the process at the other end belongs to this process's user."""
    credentials = getattr(socket, "SO_PEERCRED", None)
    if credentials is None:
        return True  # no Linux; the folder keeps others out
    found = peer.getsockopt(socket.SOL_SOCKET, credentials, struct.calcsize("3i"))
    return bool(struct.unpack("3i", found)[1] == os.geteuid())
