"""Requests of our own on a server's pipes, beside those of the SDK's session.

The SDK can do this, and takes too long. A call through its session costs the bridge 1.0 ms of CPU:
arguments and result pass pydantic four times, and two memory streams, two cancel scopes and three
tasks stand between a call and the pipe. Here one line is written, and one is decoded once, and a
call costs 0.3 ms in all. So the calls of tools go this way. All else (the handshake, lists, what
the server asks) is the session's, which shares the pipes.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeAlias

import msgspec

from sliphook.errors import SliphookError

Progress: TypeAlias = "Callable[[float, float | None, str | None], object]"
"""Takes one step of a call: how far it is, of how much, and in words. Must not raise."""

FIRST_ID: Final = 2**30
"""The session counts its own requests from 1. Numbers, since some servers take no other ids."""
_ID_CHARS: Final = 10
_NULL: Final = msgspec.Raw(b"null")
"""Also what is not there: some servers send both `result` and `error`, one of them null."""


class _Message(msgspec.Struct):
    """What may be a reply of ours or its progress; what is in it is looked at later."""

    jsonrpc: Literal["2.0"]
    id: int | str | None = None
    method: str | None = None
    params: msgspec.Raw = _NULL
    result: msgspec.Raw = _NULL
    error: msgspec.Raw = _NULL


class _Step(msgspec.Struct, rename="camel"):
    progress_token: int | str
    progress: float
    total: float | None = None
    message: str | None = None


class _Error(msgspec.Struct):
    code: int
    message: str


class _Open(NamedTuple):
    reply: asyncio.Future[msgspec.Raw]
    progress: Progress


_MESSAGE: Final = msgspec.json.Decoder(_Message)
_STEP: Final = msgspec.json.Decoder(_Step)
_ERROR: Final = msgspec.json.Decoder(_Error)
_UNFIT: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class CallFailed(SliphookError):
    """A request has no result; str() says why."""


class Pipe(Protocol):
    """The server's input, as `asyncio.StreamWriter` has it."""

    def write(self, data: bytes) -> None:
        """Write the bytes, or queue them."""
        ...

    async def drain(self) -> None:
        """Wait until not much is queued."""
        ...


class OwnCalls:
    """The requests that are open. The transport says what the pipes are, and what has come."""

    def __init__(self) -> None:
        self._open: dict[int, _Open] = {}
        self._ids = itertools.count(FIRST_ID)
        self._pipe: Pipe | None = None

    def begin(self, pipe: Pipe) -> None:
        """Requests can be made."""
        self._pipe = pipe

    def end(self) -> None:
        """No reply comes any more: what is open fails."""
        self._pipe = None
        for request_id in list(self._open):
            self._fail(request_id, "Connection closed")

    async def request(
        self, method: str, params: dict[str, Any], progress: Progress, timeout_s: float
    ) -> msgspec.Raw:
        """Make a request, and wait for its result. If the task is cancelled, the server is told.

        Args:
            method: the method.
            params: its params; `_meta` must be there.
            progress: is told what the server says of it meanwhile.
            timeout_s: what it may take, with the wait for a server that does not read.

        Raises:
            CallFailed: there is no result.
        """
        pipe = self._pipe
        if pipe is None:
            raise CallFailed("Connection closed")
        loop = asyncio.get_running_loop()
        ends_s = loop.time() + timeout_s
        try:
            async with asyncio.timeout_at(ends_s):
                # before it is written: a server that does not read is sent no more
                await pipe.drain()
        except ConnectionError:
            raise CallFailed("Connection closed") from None
        except TimeoutError:
            raise CallFailed(f"it did not read within {timeout_s:g} s") from None
        if self._pipe is not pipe:  # it has ended meanwhile
            raise CallFailed("Connection closed")
        request_id = next(self._ids)
        reply: asyncio.Future[msgspec.Raw] = loop.create_future()
        meta = {**params["_meta"], "progressToken": request_id}
        self._write(id=request_id, method=method, params={**params, "_meta": meta})
        self._open[request_id] = _Open(reply, progress)
        timer = loop.call_at(ends_s, self._time_is_up, request_id, timeout_s)
        try:
            return await reply
        finally:
            timer.cancel()
            if self._open.pop(request_id, None) is not None:
                self._cancel(request_id, "the call was cancelled")

    def awaits(self, request_id: int | str | None) -> bool:
        """Whether a request of this id is open."""
        return _number(request_id) in self._open

    def take(self, line: bytes) -> bool:
        """Whether a message was for an open request; else it is the session's.

        A reply that is none, of a request that is open, makes that fail. One to a request that is
        not open, as after a cancel, is the session's, which drops it.
        """
        try:
            message = _MESSAGE.decode(line)
        except _UNFIT:
            return False
        if message.method is not None:
            return message.method == "notifications/progress" and self._step(message)
        call = self._open.pop(_number(message.id), None)
        if call is None:
            return False
        if call.reply.done():  # its task is about to see that
            return True
        if message.error != _NULL:
            call.reply.set_exception(CallFailed(_said(message.error)))
        elif message.result != _NULL:
            call.reply.set_result(message.result)
        else:
            call.reply.set_exception(CallFailed("it answered with neither a result nor an error"))
        return True

    def _step(self, message: _Message) -> bool:
        if message.id is not None:
            return False
        try:
            step = _STEP.decode(message.params)
        except _UNFIT:
            return False
        call = self._open.get(_number(step.progress_token))
        if call is None:
            return False
        call.progress(step.progress, step.total, step.message)
        return True

    def _time_is_up(self, request_id: int, timeout_s: float) -> None:
        self._fail(request_id, f"it did not answer within {timeout_s:g} s")
        self._cancel(request_id, f"timed out after {timeout_s:g} s")

    def _fail(self, request_id: int, why: str) -> None:
        call = self._open.pop(request_id, None)
        if call is not None and not call.reply.done():
            call.reply.set_exception(CallFailed(why))

    def _cancel(self, request_id: int, reason: str) -> None:
        params = {"requestId": request_id, "reason": reason}
        self._write(method="notifications/cancelled", params=params)

    def _write(self, **message: Any) -> None:
        if self._pipe is not None:
            self._pipe.write(msgspec.json.encode({"jsonrpc": "2.0", **message}) + b"\n")


def _number(given: int | str | None) -> int:
    """The id, which some servers give back as a text; 0 for what is none of ours."""
    if isinstance(given, str):
        return int(given) if given.isdecimal() and len(given) <= _ID_CHARS else 0
    return given or 0


def _said(error: bytes) -> str:
    try:
        return _ERROR.decode(error).message
    except _UNFIT:
        return "it answered with an error that is none"
