"""The JSON-RPC engine of one connection, around `pylsp_jsonrpc.endpoint.Endpoint`.

Endpoint keeps the ids, the pending requests and the table of handlers; only hooks and calls of
tools go past it (see `Rpc.ask`). What it would get wrong is kept from it: a message is decoded
strictly before, a reply is passed on only if its request is pending, a cancel never reaches it,
results are boxed, a `DeferredReply` is not seen by it, and its errors leave without a traceback.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, Protocol

import msgspec
from pylsp_jsonrpc.endpoint import Endpoint
from pylsp_jsonrpc.exceptions import JsonRpcException

from sliphook.agent_log import agent_log
from sliphook.errors import SliphookError
from sliphook.quoting import quote
from sliphook_sdk.framing import frame
from sliphook_sdk.protocol import CancelParams, ErrorCode, nearest

from . import envelope
from .decoding import DECODE_ERRORS
from .deferred import DeferredReply
from .shared_params import SharedParams

# Endpoint logs payloads and tracebacks; the user's words must not get into a log.
logging.getLogger("pylsp_jsonrpc").disabled = True
logging.getLogger("pylsp_jsonrpc.endpoint").disabled = True
_log = agent_log(__name__)

# made once, at import: msgspec reads a type at its first use, and not safely in two threads
_WITHDRAWN: Final = msgspec.json.Decoder(CancelParams)
_CANCEL: Final = b'{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":%d}}'
_DOUBLED_IDS_ALLOWED = 2  # protocol.md: the third ends the connection


class Refusal(SliphookError):
    """A handler says no to a plugin's request; goes out as an error reply."""

    def __init__(self, code: ErrorCode, message: str | None = None) -> None:
        super().__init__(message or code.text)
        self.code = code


class Violation(SliphookError):
    """The plugin broke a rule of the protocol. `fatal`: the connection must end."""

    def __init__(self, why: str, *, fatal: bool = False) -> None:
        super().__init__(why)
        self.fatal = fatal


class Pending(Protocol):
    """What waits for the reply to a request."""

    def replied(self, result: msgspec.Raw | None, error: envelope.ErrorObject | None) -> None:
        """Called once, with the result's JSON or the error; must not raise."""
        ...


Handler = Callable[[bytes | msgspec.Raw], Any]
"""Takes the params' JSON, returns the result or a `DeferredReply`; raises `Refusal`."""


class Handlers(dict[str, Handler]):
    """What a plugin may call, by method.

    Args:
        by_method: the handlers.
        unknown: told of the method of a notification that has none, and is ignored.
    """

    def __init__(
        self,
        by_method: Mapping[str, Handler],
        unknown: Callable[[str], None] = lambda method: None,
    ) -> None:
        super().__init__(by_method)
        self.unknown = unknown


class Rpc:
    """One end of a JSON-RPC conversation, without any I/O.

    Args:
        emit: takes every frame that answers a request of the plugin.
        handlers: what the plugin may call.
    """

    def __init__(self, emit: Callable[[bytes, str, int | str], None], handlers: Handlers) -> None:
        self._emit = emit
        self._handlers = handlers
        self._sent = b""
        self._traceparent: str | None = None
        self._next_id = 0
        self._in_flight: dict[int | str, str] = {}
        self._deferred: dict[int | str, DeferredReply] = {}
        self._doubled_ids = 0
        self._has_reply = False
        self._waiting: dict[int, Pending] = {}
        self._asked: dict[int | str, Pending] = {}
        dispatcher = {name: partial(self._handle, handler) for name, handler in handlers.items()}
        self._endpoint = Endpoint(dispatcher, self._consume_outgoing, self._new_id)

    @property
    def pending(self) -> int:
        """How many requests have no reply yet."""
        return len(self._waiting) + len(self._asked)

    @property
    def owed(self) -> int:
        """How many requests of the plugin have no written reply yet."""
        return len(self._in_flight)

    def request(
        self, method: str, params: msgspec.Raw, pending: Pending, traceparent: str | None = None
    ) -> tuple[int, bytes]:
        """Register a request; returns its id and the frame that has to be written."""
        self._traceparent = traceparent
        self._endpoint.request(method, params)
        # Endpoint has called `_new_id` and `_consume_outgoing` by now, so both are known
        self._waiting[self._next_id] = pending
        return self._next_id, self._sent

    def begin(
        self,
        method: str,
        params: msgspec.Raw | SharedParams,
        pending: Pending,
        traceparent: str | None = None,
    ) -> tuple[int, bytes, memoryview | None]:
        """The same; also returns the part of the params that is shared, if one is (see `Item`).

        Hooks and calls of tools take the cheap way of `ask`: there may be fifty at once.
        """
        if isinstance(params, SharedParams):
            request_id = self._new_id()
            self._asked[request_id] = pending
            return request_id, params.request(request_id, method, traceparent), params.rest
        request = self.ask if method.startswith(("hook/", "tool/")) else self.request
        return *request(method, params, pending, traceparent), None

    def ask(
        self, method: str, params: msgspec.Raw, pending: Pending, traceparent: str | None = None
    ) -> tuple[int, bytes]:
        """The same as `request`, for hooks and calls of tools.

        Endpoint would make a future, with locks and callbacks, that has no waiter.
        """
        request_id = self._new_id()
        self._asked[request_id] = pending
        return request_id, frame(envelope.request(request_id, method, params, traceparent))

    @staticmethod
    def notify(
        method: str, params: msgspec.Raw | msgspec.Struct, traceparent: str | None = None
    ) -> bytes:
        """The frame of a notification: the same for all plugins, as there is no id."""
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        return frame(
            envelope.encode(message if traceparent is None else _traced(message, traceparent))
        )

    @staticmethod
    def cancel(request_id: int) -> bytes:
        """The frame of `$/cancelRequest`: an interrupt may write fifty, so nothing is encoded."""
        return frame(_CANCEL % request_id)

    def settle(self, request_id: int, code: ErrorCode, message: str) -> None:
        """Settle a pending request now, as if the plugin had answered an error."""
        if request_id in self._asked or request_id in self._waiting:
            self._settle(request_id, None, envelope.ErrorObject(code=int(code), message=message))

    def is_free(self, request_id: int | str) -> bool:
        """True if no request of the plugin with this id waits for its reply."""
        return request_id not in self._in_flight

    def check_free(self, request_id: int | str) -> None:
        """Raise Violation if a request of the plugin with this id waits for its reply."""
        if request_id in self._in_flight:
            # no error reply: the plugin would take it for the answer to the first request
            self._doubled_ids += 1
            why = f"the request id {quote(repr(request_id), 40)} is still in flight"
            raise Violation(why, fatal=self._doubled_ids > _DOUBLED_IDS_ALLOWED)

    def was_issued(self, request_id: int | str) -> bool:
        """True where this host sent a request with the id, however long ago."""
        return isinstance(request_id, int) and 1 <= request_id <= self._next_id

    def consume(self, message: envelope.Request | envelope.Notification | envelope.Reply) -> bool:
        """Take one message of the plugin.

        Returns:
            True if it settled a request of the host; False if it was unasked for, or late.

        Raises:
            Violation: the message is well-formed and still wrong.
        """
        if isinstance(message, envelope.Reply):
            return self.consume_reply(message)
        if isinstance(message, envelope.Notification):
            # not for Endpoint, which would fail if the id is missing
            if message.method == "$/cancelRequest":
                self._withdraw(message.params)
            handler = self._handlers.get(message.method)
            if handler is not None:
                self._endpoint.consume(
                    {"jsonrpc": "2.0", "method": message.method, "params": message.params}
                )
            elif message.method != "$/cancelRequest":
                self._handlers.unknown(message.method)
            return False
        self.check_free(message.id)
        # before a refusal too: the id is taken until the reply has been written
        self._in_flight[message.id] = message.method
        # not left to Endpoint, which would send the whole name back, however long
        if message.method not in self._handlers:
            why = self._why_unknown(message.method)
            self._emit(self.refuse(message.id, *why), message.method, message.id)
            return False
        request = {"jsonrpc": "2.0", "id": message.id, "method": message.method}
        self._endpoint.consume({**request, "params": message.params})
        return False

    def _why_unknown(self, method: str) -> tuple[ErrorCode, str]:
        shown = quote(method, 60)
        if not self._has_reply:  # the first reply is the manifest
            return ErrorCode.NOT_READY, f"{shown} before the manifest was read"
        close = nearest(method, list(self._handlers))
        hint = f"; did you mean {close}?" if close is not None else ""
        return ErrorCode.METHOD_NOT_FOUND, f"there is no method '{shown}'{hint}"

    def consume_reply(self, message: envelope.Reply) -> bool:
        """Take a reply; as `consume`."""
        request_id, error = message.id, message.error
        if error is not None and not error.message:
            error = msgspec.structs.replace(error, message="(no message)")
        self._has_reply = self._has_reply or self.was_issued(request_id)
        # out of the table before it is told: it may send the next request at once
        asked = self._asked.pop(request_id, None)
        if asked is not None:
            asked.replied(message.result, error)
        elif isinstance(request_id, int) and request_id in self._waiting:
            self._settle(request_id, message.result, error)
        elif self.was_issued(request_id):
            return False
        else:
            raise Violation(
                f"a reply to the request {quote(repr(request_id), 40)}, which was never sent"
            )
        return True

    def answered(self, request_id: int | str) -> None:
        """The reply to a plugin's request has been written: its id is free again."""
        self._in_flight.pop(request_id, None)

    def refuse(self, request_id: int | str | None, code: ErrorCode, message: str) -> bytes:
        """The frame of an error reply to something that is no valid request."""
        return frame(
            envelope.encode(
                {
                    "jsonrpc": "2.0",
                    "id": request_id,
                    "error": {"code": int(code), "message": message},
                }
            )
        )

    def close(self) -> None:
        """Let go of the engine, whose pool never had a thread, and of all deferred replies."""
        self._endpoint.shutdown()
        while self._deferred:
            self._deferred.popitem()[1].withdraw()

    def _withdraw(self, params: bytes | msgspec.Raw) -> None:
        """The plugin withdraws a request of its own; an id that does not wait changes nothing."""
        try:
            request_id = _WITHDRAWN.decode(params).id
        except DECODE_ERRORS:
            return
        deferred = self._deferred.get(request_id)
        if deferred is not None:
            code = ErrorCode.REQUEST_CANCELLED
            self._reply_later(request_id, {"error": {"code": int(code), "message": code.text}})
            deferred.withdraw()

    def _reply_later(self, request_id: int | str, reply: dict[str, object]) -> None:
        if self._deferred.pop(request_id, None) is not None:
            message = {"jsonrpc": "2.0", "id": request_id, **reply}
            self._emit(frame(envelope.encode(message)), self._in_flight[request_id], request_id)

    def _new_id(self) -> int:
        self._next_id += 1
        return self._next_id

    def _consume_outgoing(self, message: dict[str, Any]) -> None:
        if "method" in message:
            self._sent = frame(
                envelope.encode(
                    message if self._traceparent is None else _traced(message, self._traceparent)
                )
            )
        else:
            request_id = message["id"]
            deferred = message.get("result")
            if isinstance(deferred, DeferredReply):
                self._deferred[request_id] = deferred
                deferred.begin(partial(self._reply_later, request_id))
                return
            self._emit(frame(envelope.encode(message)), self._in_flight[request_id], request_id)

    def _settle(
        self, request_id: int, result: msgspec.Raw | None, error: envelope.ErrorObject | None
    ) -> None:
        pending = self._asked.pop(request_id, None)
        if pending is None:
            # Endpoint only has to know that the request is over: its future has no reader
            self._endpoint.consume({"jsonrpc": "2.0", "id": request_id, "result": None})
            pending = self._waiting.pop(request_id)
        pending.replied(result, error)

    def _handle(self, handler: Handler, params: bytes | msgspec.Raw) -> Any:
        try:
            result = handler(params)
            # boxed: Endpoint would mix a result with a key "result" or "error" into the envelope
            if isinstance(result, DeferredReply):
                return {"result": result}
            return {"result": msgspec.Raw(envelope.encode(result))}
        except Refusal as refusal:
            raise JsonRpcException(str(refusal), int(refusal.code)) from None
        except Exception:
            # the log has the details: protocol.md promises the plugin an error without a traceback
            _log.exception("a handler of the host failed")
            raise JsonRpcException(
                "the host failed to handle this", int(ErrorCode.INTERNAL_ERROR)
            ) from None


def _traced(message: dict[str, Any], traceparent: str) -> dict[str, Any]:
    """A message of the host's with the span that it is the work of; params stay last."""
    return {
        **{key: value for key, value in message.items() if key != "params"},
        "traceparent": traceparent,
        "params": message["params"],
    }
