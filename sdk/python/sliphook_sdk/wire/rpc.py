"""The JSON-RPC side: `pylsp_jsonrpc`'s Endpoint behind a strict door.

The only module that knows that package.

Endpoint keeps the ids, finds the handler and shapes the replies; only what is handled `directly`
goes past it (see `Peer.handle`). What it does badly is kept from it: a message reaches it only when
it is valid, cancels are dealt with here, results are boxed, and a handler's failure has its code
and message before Endpoint sees it.
"""

from __future__ import annotations

import itertools
import logging
import sys
from concurrent import futures
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, Optional, Union

import msgspec
from pylsp_jsonrpc.endpoint import Endpoint  # type: ignore[import-untyped, unused-ignore]
from pylsp_jsonrpc.exceptions import JsonRpcException  # type: ignore[import-untyped, unused-ignore]

from sliphook_sdk.errors import HostRefused, RpcError, describe, text_of
from sliphook_sdk.framing import frame
from sliphook_sdk.protocol import CancelParams, ErrorCode, LogParams

from .call import Call
from .encoding import check_limits, to_json

if TYPE_CHECKING:
    from collections.abc import Callable

for _name in ("pylsp_jsonrpc", "pylsp_jsonrpc.endpoint"):
    logging.getLogger(_name).disabled = True  # it logs whole payloads, and every request that fails


_ABSTAINS: Final = b'{"jsonrpc":"2.0","id":%d,"result":null}'
"""A reply that needs no encoder and no look at its limits."""

_LOG_CHARS: Final = 10_000
"""What is kept of a line that cannot be sent whole."""


class ErrorObject(msgspec.Struct, frozen=True):
    """Why the host refused a request."""

    code: int
    message: str


class Envelope(msgspec.Struct, frozen=True):
    """A message of the host before its params or result are looked at."""

    jsonrpc: Literal["2.0"]
    id: Optional[Union[int, str, msgspec.UnsetType]] = msgspec.UNSET
    method: Union[str, msgspec.UnsetType] = msgspec.UNSET
    traceparent: Optional[str] = None
    params: msgspec.Raw = msgspec.Raw(b"{}")
    result: Union[msgspec.Raw, msgspec.UnsetType] = msgspec.UNSET
    error: Union[ErrorObject, msgspec.UnsetType] = msgspec.UNSET


class Later:
    """What a handler returns that answers later, by `answer` or `refuse`; from `Peer.later`."""

    __slots__ = ("_call", "_peer")

    def __init__(self, peer: Peer, call: Call) -> None:
        self._peer = peer
        self._call = call

    def answer(self, value: Any) -> None:
        """Answer with a value."""
        self._peer.answer(self._call, value)

    def refuse(self, error: RpcError) -> None:
        """Answer with an error."""
        self._peer.refuse(self._call, error)


class LaterByEndpoint(futures.Future[Any]):
    """The same for what Endpoint has passed on: it waits for a Future."""

    def answer(self, value: Any) -> None:
        """Answer with a value."""
        self.set_result({"result": value})

    def refuse(self, error: RpcError) -> None:
        """Answer with an error."""
        self.set_exception(_mapped(error))


class Peer:
    """The host, as far as messages go.

    Args:
        write: writes bytes to the host, whole and in order, from any thread.
    """

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self._write = write
        self._handlers: dict[str, Callable[[Call], Any]] = {}
        self._direct: dict[str, Callable[[Call], Any]] = {}
        self._open: dict[int | str, Call] = {}
        self._decoder = msgspec.json.Decoder(Envelope)
        self._cancel = msgspec.json.Decoder(CancelParams)
        self._endpoint = Endpoint(self._handlers, self._send, itertools.count(1).__next__)

    def handle(
        self, method: str, handler: Callable[[Call], Any], *, directly: bool = False
    ) -> None:
        """Let a method be handled: the handler returns the result, or what `later` gives, or raises RpcError.

        Args:
            method: the method.
            handler: takes the call.
            directly: past Endpoint, to the same answers: for hooks, where the agent waits for every
                microsecond of them.
        """
        if directly:
            self._direct[method] = handler
        else:
            self._handlers[method] = partial(self._guarded, handler)

    def later(self, call: Call) -> Later | LaterByEndpoint:
        """What a handler returns that will answer a call later."""
        return Later(self, call) if call.method in self._direct else LaterByEndpoint()

    def receive(self, body: bytes) -> Call | None:
        """Take one message in.

        Replies and cancels are dealt with at once; what a handler must see is returned, for
        `dispatch`.
        """
        try:
            message = self._decoder.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
            self.complain(f"a message of the host is not valid: {exc}")
            return None
        if isinstance(message.method, str):
            if isinstance(message.id, msgspec.UnsetType):
                if message.method == "$/cancelRequest":
                    self._cancel_request(message.params)
                    return None
                return Call(None, message.method, message.params, message.traceparent)
            if message.id is None:
                self.complain(f"a request of the host has no id: {message.method}")
                return None
            call = Call(message.id, message.method, message.params, message.traceparent)
            self._open[message.id] = call
            return call
        self._settle(message)
        return None

    def dispatch(self, call: Call) -> None:
        """Let the handler of a call answer it."""
        if call.id is None:
            self._endpoint.consume({"jsonrpc": "2.0", "method": call.method, "params": call})
        elif not call.cancelled:
            handler = self._direct.get(call.method)
            if handler is None:
                self._endpoint.consume(
                    {"jsonrpc": "2.0", "id": call.id, "method": call.method, "params": call}
                )
            else:
                self._dispatch_directly(handler, call)

    def answer(self, call: Call, value: Any) -> None:
        """Answer a call that is handled directly."""
        if value is None and isinstance(call.id, int):  # most hooks, most of the time
            self._write_reply(call.id, _ABSTAINS % call.id)
        else:
            self._reply({"jsonrpc": "2.0", "id": call.id, "result": value})

    def refuse(self, call: Call, error: RpcError) -> None:
        """Answer a call that is handled directly with an error."""
        self._reply({"jsonrpc": "2.0", "id": call.id, "error": _mapped(error).to_dict()})

    def notify(self, method: str, params: msgspec.Struct) -> None:
        """Send a notification."""
        self._endpoint.notify(method, params)

    def ask(self, method: str, params: msgspec.Struct) -> Any:
        """Send a request and block until its result is here.

        Raises:
            HostRefused: the host refused.
            RuntimeError: an event loop runs in this thread, and would stand still.
        """
        if _loop_runs():
            raise RuntimeError(
                f"{method} would stop the event loop; in an `async def` await the method of its ctx"
            )
        try:
            return _decoded(self._endpoint.request(method, params).result())
        except JsonRpcException as exc:
            raise HostRefused(exc.code, exc.message) from None

    async def ask_async(self, method: str, params: msgspec.Struct) -> Any:
        """Send a request and await its result.

        Raises:
            HostRefused: the host refused.
        """
        import asyncio

        loop = asyncio.get_running_loop()
        arrived = loop.create_future()

        def settle() -> None:
            if not arrived.done():
                arrived.set_result(None)

        # not asyncio.wrap_future: cancelling it would cancel Endpoint's future, which then raises
        # in `consume`
        reply = self._endpoint.request(method, params)
        reply.add_done_callback(lambda _: loop.call_soon_threadsafe(settle))
        await arrived
        try:
            return _decoded(reply.result())
        except JsonRpcException as exc:
            raise HostRefused(exc.code, exc.message) from None

    def _cancel_request(self, params: msgspec.Raw) -> None:
        try:
            request_id = self._cancel.decode(params).id
        except (msgspec.DecodeError, UnicodeDecodeError):
            return
        call = self._open.pop(
            request_id, None
        )  # whoever takes it out answers it, so there is one answer
        if call is not None:
            call.cancel()
            error = {
                "code": int(ErrorCode.REQUEST_CANCELLED),
                "message": ErrorCode.REQUEST_CANCELLED.text,
            }
            self._write(frame(to_json({"jsonrpc": "2.0", "id": request_id, "error": error})))

    def _settle(self, reply: Envelope) -> None:
        given = [
            field
            for field in (reply.result, reply.error)
            if not isinstance(field, msgspec.UnsetType)
        ]
        if not isinstance(reply.id, int) or len(given) != 1:
            self.complain(
                "a reply of the host has no id of ours, or not exactly one of result and error"
            )
        elif isinstance(reply.error, ErrorObject):
            # Endpoint takes a code of 0 and an empty message for missing
            error = {
                "code": reply.error.code or int(ErrorCode.INTERNAL_ERROR),
                "message": reply.error.message or "no reason given",
            }
            self._endpoint.consume({"jsonrpc": "2.0", "id": reply.id, "error": error})
        else:
            self._endpoint.consume({"jsonrpc": "2.0", "id": reply.id, "result": reply.result})

    def _dispatch_directly(self, handler: Callable[[Call], Any], call: Call) -> None:
        try:
            value = handler(call)
        except BaseException as exc:  # SystemExit too: it would cost the thread that reads
            self._reply(
                {"jsonrpc": "2.0", "id": call.id, "error": self._failure(exc, call).to_dict()}
            )
            return
        if not isinstance(value, Later):
            self.answer(call, value)

    def _guarded(self, handler: Callable[[Call], Any], call: Call) -> Any:
        try:
            value = handler(call)
        except BaseException as exc:
            raise self._failure(exc, call) from exc
        return value if isinstance(value, LaterByEndpoint) else {"result": value}

    def _failure(self, exc: BaseException, call: Call) -> JsonRpcException:
        """What the host reads where a handler raised; the log reads of it where nobody else does."""
        if isinstance(exc, RpcError):
            if call.id is None:
                self.complain(exc.message)
            return _mapped(exc)
        what = f"the SDK failed in {call.method}: {describe(exc)}"
        self.complain(what)
        return JsonRpcException(what, int(ErrorCode.INTERNAL_ERROR))

    def _send(self, message: dict[str, Any]) -> None:
        if "method" in message:
            self._write(frame(_unasked(message)))
        else:
            self._reply(message)

    def _reply(self, message: dict[str, Any]) -> None:
        try:
            body = to_json(message)
            check_limits(body)
        except Exception as exc:  # whatever a value's own conversion raises
            what = f"the answer cannot be sent: {text_of(exc)}"
            self.complain(what)
            message = {
                "jsonrpc": "2.0",
                "id": message["id"],
                "error": {"code": int(ErrorCode.INTERNAL_ERROR), "message": what},
            }
            body = to_json(message)
        self._write_reply(message["id"], body)

    def _write_reply(self, request_id: int | str, body: bytes) -> None:
        if self._open.pop(request_id, None) is not None:  # else it has been cancelled, and answered
            self._write(frame(body))

    def complain(self, what: str) -> None:
        """Write a line of the SDK's own to the plugin's log."""
        self._endpoint.notify("host/log", LogParams(level="error", message=what))


def _mapped(error: RpcError) -> JsonRpcException:
    return JsonRpcException(error.message or "no reason given", int(error.code))


def _unasked(message: dict[str, Any]) -> bytes:
    """A request or a notification as JSON.

    One that the host would not take is the author's mistake; a line of the log is cut instead.

    Raises:
        ValueError: it is too large, too deep, or no JSON.
    """
    try:
        body = to_json(message, unknown=repr)  # what a log line cannot hold is at least named
        check_limits(body)
    except Exception as exc:  # whatever a value's own conversion raises
        params = message["params"]
        if not isinstance(params, LogParams):
            raise ValueError(f"{message['method']} cannot be sent: {text_of(exc)}") from None
        short = LogParams(
            level=params.level,
            message=params.message[:_LOG_CHARS],
            fields={"left_out": text_of(exc)},
        )
        body = to_json({**message, "params": short})
    return body


def _loop_runs() -> bool:
    asyncio = sys.modules.get("asyncio")
    if asyncio is None:
        return False
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _decoded(result: Any) -> Any:
    return msgspec.json.decode(result) if isinstance(result, msgspec.Raw) else result
