"""The JSON-RPC side: `pylsp_jsonrpc`'s Endpoint behind strict checks. No other module knows it.

Endpoint keeps the ids of the plugin's requests, finds the handler of a message and builds replies.
This module does what Endpoint does badly: it passes on only valid messages, handles cancels itself,
wraps each result, and gives a handler's failure its code and message before Endpoint sees it.
Handlers registered with `direct=True` are called past Endpoint (see `Peer.handle`).
"""

from __future__ import annotations

import itertools
import logging
import os
import threading
from concurrent import futures
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
from pylsp_jsonrpc.endpoint import Endpoint  # type: ignore[import-untyped, unused-ignore]
from pylsp_jsonrpc.exceptions import JsonRpcException  # type: ignore[import-untyped, unused-ignore]

from sliphook_sdk.errors import Cancelled, HostRefused, NotConnected, RpcError, describe
from sliphook_sdk.forked import say
from sliphook_sdk.framing import frame
from sliphook_sdk.protocol import CancelParams, ErrorCode, LogParams

from .call import Call
from .envelope import Envelope, ErrorObject, unasked_body
from .given import line_of
from .replies import NO_REASON, DeferredReply, Replies
from .waiting import loop_runs, settled

if TYPE_CHECKING:
    from collections.abc import Callable

# made once, at import: msgspec reads a type at its first use, and not safely in two threads
_ENVELOPE = msgspec.json.Decoder(Envelope)
_CANCEL = msgspec.json.Decoder(CancelParams)

for _name in ("pylsp_jsonrpc", "pylsp_jsonrpc.endpoint"):
    # Endpoint logs whole payloads, and every request that fails
    logging.getLogger(_name).disabled = True


class EndpointReply(futures.Future[Any]):
    """A `DeferredReply` for a handler that Endpoint has called: Endpoint waits for a Future."""

    def answer(self, value: Any) -> None:
        """Reply with a result."""
        self.set_result({"result": value})

    def refuse(self, error: RpcError) -> None:
        """Reply with an error."""
        self.set_exception(_for_endpoint(error))


class _Latest(threading.local):
    """The id of the thread's latest request: Endpoint does not tell it."""

    id = 0


class Peer:
    """The host, as the other end of a stream of messages.

    Args:
        write: writes bytes to the host, whole and in order, from any thread.
    """

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self._pid = os.getpid()
        self._write = write
        self._replies = Replies(write, self.log_error)
        self._handlers: dict[str, Callable[[Call], Any]] = {}
        self._direct: dict[str, Callable[[Call], Any]] = {}
        self._ids = itertools.count(1)
        self._latest = _Latest()
        self._endpoint = Endpoint(self._handlers, self._send, self._new_id)
        self._asked: set[futures.Future[Any]] = set()
        self._closed = False

    def handle(self, method: str, handler: Callable[[Call], Any], *, direct: bool = False) -> None:
        """Register the handler of a method.

        Args:
            method: the method.
            handler: takes the call; returns the result or what `defer` gave it, or raises RpcError.
            direct: call the handler past Endpoint, with the same replies. For hooks and tools,
                since the agent waits for their answers.
        """
        if direct:
            self._direct[method] = handler
        else:
            self._handlers[method] = partial(self._guarded, handler)

    def defer(self, call: Call) -> DeferredReply | EndpointReply:
        """What a handler returns in order to reply to the call later."""
        return (
            DeferredReply(self._replies, call) if call.method in self._direct else EndpointReply()
        )

    def receive(self, body: bytes) -> Call | None:
        """Take in one message.

        Replies and cancels are dealt with at once. What needs a handler is returned, for
        `dispatch`.
        """
        try:
            message = _ENVELOPE.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
            self.log_error(f"a message of the host is not valid: {exc}")
            return None
        if isinstance(message.method, str):
            if isinstance(message.id, msgspec.UnsetType):
                if message.method == "$/cancelRequest":
                    self._cancel_request(message.params)
                    return None
                return Call(None, message.method, message.params, message.traceparent)
            if message.id is None:
                self.log_error(f"a request of the host has no id: {message.method}")
                return None
            call = Call(message.id, message.method, message.params, message.traceparent)
            # in the thread that reads, so that a cancel in the next message finds it
            self._replies.open[message.id] = call
            return call
        self._settle(message)
        return None

    def dispatch(self, call: Call) -> None:
        """Call the handler, and send what it returns or raises as the reply."""
        if call.id is None:
            self._endpoint.consume({"jsonrpc": "2.0", "method": call.method, "params": call})
        elif self._replies.may_begin(call):
            handler = self._direct.get(call.method)
            if handler is None:
                self._endpoint.consume(
                    {"jsonrpc": "2.0", "id": call.id, "method": call.method, "params": call}
                )
            else:
                self._dispatch_direct(handler, call)

    def withdraw(self, call: Call) -> None:
        """Reply to a request that was cancelled before its handler ran."""
        self._replies.withdraw(call)

    def notify(self, method: str, params: msgspec.Struct) -> None:
        """Send a notification. In a forked child a line of the log goes to standard error."""
        if os.getpid() == self._pid:
            self._endpoint.notify(method, params)
        elif isinstance(params, LogParams):
            say(line_of(params))

    def ask(self, method: str, params: msgspec.Struct, call: Call | None = None) -> Any:
        """Send a request and block until its result has arrived.

        Args:
            method: the method.
            params: its params.
            call: withdraw the request if this is cancelled.

        Raises:
            Cancelled: the call was.
            HostRefused: the host answered with an error.
            NotConnected: the host has gone, before the request or before its answer.
            RuntimeError: see `check`.
        """
        self.check(method, blocks=True)
        request_id, reply = self._request(method, params)
        if call is not None and not call.wait_for(reply):
            self._withdraw(request_id)
            raise Cancelled
        return _result(reply)

    async def ask_async(self, method: str, params: msgspec.Struct) -> Any:
        """Send a request and await its result; a cancel of the task withdraws the request.

        Raises:
            HostRefused: the host answered with an error.
            NotConnected: the host has gone, before the request or before its answer.
            RuntimeError: see `check`.
        """
        self.check(method, blocks=False)
        request_id, reply = self._request(method, params)
        try:
            # a cancel must not reach Endpoint's future: then Endpoint raises in `consume`
            await settled(reply)
        except BaseException:
            self._withdraw(request_id)
            raise
        return _result(reply)

    def check(self, method: str, *, blocks: bool) -> None:
        """Check that a request can be made here.

        Raises:
            NotConnected: the host has gone.
            RuntimeError: this is a forked child, which the host does not hear; or the request
                blocks, and an event loop runs in this thread.
        """
        if os.getpid() != self._pid:
            raise RuntimeError(f"{method} is for the plugin's own process, and not for its child")
        if self._closed:
            raise _gone(method)
        if blocks and loop_runs():
            raise RuntimeError(
                f"{method} would stop the event loop; in an `async def` await the method of its ctx"
                " or of `plugin.async_host`"
            )

    def close(self) -> None:
        """Nothing more is read: the requests to the host that are open fail, and so do new ones."""
        self._closed = True
        for reply in tuple(self._asked):
            self._abandon(reply)

    def _request(self, method: str, params: msgspec.Struct) -> tuple[int, futures.Future[Any]]:
        reply: futures.Future[Any] = self._endpoint.request(method, params)
        request_id: int = self._latest.id
        self._asked.add(reply)
        reply.add_done_callback(self._asked.discard)
        if self._closed:  # meanwhile
            self._abandon(reply)
        return request_id, reply

    def _new_id(self) -> int:
        self._latest.id = next(self._ids)
        return self._latest.id

    def _withdraw(self, request_id: int) -> None:
        """Tell the host that nothing waits for the reply any more."""
        if not self._closed:
            self._endpoint.notify("$/cancelRequest", CancelParams(id=request_id))

    def _abandon(self, reply: futures.Future[Any]) -> None:
        with suppress(futures.InvalidStateError):  # answered meanwhile
            reply.set_exception(_gone("a request"))

    def refuse(self, call: Call, error: RpcError) -> None:
        """Answer a request of a direct handler with an error, unless it has been answered."""
        self._replies.refuse(call, error)

    def log_error(self, what: str) -> None:
        """Write a line of the SDK to the plugin's log."""
        self._endpoint.notify("host/log", LogParams(level="error", message=what))

    def _cancel_request(self, params: msgspec.Raw) -> None:
        try:
            request_id = _CANCEL.decode(params).id
        except (msgspec.DecodeError, UnicodeDecodeError):
            return
        self._replies.cancel(request_id)

    def _settle(self, reply: Envelope) -> None:
        given = [
            field
            for field in (reply.result, reply.error)
            if not isinstance(field, msgspec.UnsetType)
        ]
        if not isinstance(reply.id, int) or len(given) != 1:
            self.log_error(
                "a reply of the host has no id of ours, or not exactly one of result and error"
            )
        elif isinstance(reply.error, ErrorObject):
            # Endpoint takes a code of 0 and an empty message for missing
            error = {
                "code": reply.error.code or int(ErrorCode.INTERNAL_ERROR),
                "message": reply.error.message or NO_REASON,
            }
            self._endpoint.consume({"jsonrpc": "2.0", "id": reply.id, "error": error})
        else:
            self._endpoint.consume({"jsonrpc": "2.0", "id": reply.id, "result": reply.result})

    def _dispatch_direct(self, handler: Callable[[Call], Any], call: Call) -> None:
        try:
            value = handler(call)
        except BaseException as exc:  # also SystemExit, which would end the thread that reads
            self._replies.refuse(call, self._failure(exc, call))
            return
        if not isinstance(value, DeferredReply):
            self._replies.answer(call, value)

    def _guarded(self, handler: Callable[[Call], Any], call: Call) -> Any:
        try:
            value = handler(call)
        except BaseException as exc:
            raise _for_endpoint(self._failure(exc, call)) from exc
        return value if isinstance(value, EndpointReply) else {"result": value}

    def _failure(self, exc: BaseException, call: Call) -> RpcError:
        """The error to reply with; it is logged if no reply tells the host of it."""
        if isinstance(exc, RpcError):
            if call.id is None:
                self.log_error(exc.message)
            return exc
        what = f"the SDK failed in {call.method}: {describe(exc)}"
        self.log_error(what)
        return RpcError(ErrorCode.INTERNAL_ERROR, what)

    def _send(self, message: dict[str, Any]) -> None:
        if "method" in message:
            self._write(frame(unasked_body(message)))
        else:
            self._replies.send(message)


def _for_endpoint(error: RpcError) -> JsonRpcException:
    return JsonRpcException(error.message or NO_REASON, int(error.code))


def _gone(what: str) -> NotConnected:
    return NotConnected(f"{what} has no answer any more: the host has gone, and the plugin ends")


def _result(reply: futures.Future[Any]) -> Any:
    """The result of a request of the plugin, when it has arrived. Raises HostRefused."""
    try:
        result = reply.result()
    except JsonRpcException as exc:
        raise HostRefused(exc.code, exc.message) from None
    return msgspec.json.decode(result) if isinstance(result, msgspec.Raw) else result
