"""A host's end of a connection, without a connection."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from sliphook.wire import envelope
from sliphook.wire.rpc import Handler, Handlers, Rpc

EMPTY = msgspec.Raw(b"{}")


def body(frame: bytes) -> Any:
    header, _, rest = frame.partition(b"\r\n\r\n")
    assert header == b"Content-Length: %d" % len(rest)
    assert rest.endswith(b"\n")
    return json.loads(rest)


def message(fields: str) -> str:
    return '{"jsonrpc":"2.0",' + fields + "}"


class Peer:
    """A host's end: what it emitted, what its requests came to."""

    def __init__(
        self, handlers: Mapping[str, Handler] | None = None, *, writes_at_once: bool = True
    ) -> None:
        self.emitted: list[Any] = []
        self.rpc = Rpc(self._emit, Handlers(handlers or {}))
        self._writes_at_once = writes_at_once

    def _emit(self, frame: bytes, method: str, request_id: int | str) -> None:
        reply = body(frame)
        assert reply["id"] == request_id
        self.emitted.append((method, reply))
        if self._writes_at_once:
            self.rpc.answered(request_id)

    def says(self, text: str) -> bool:
        return self.rpc.consume(envelope.decode(text.encode()))


class Waiter:
    """Waits for one reply, and remembers every one that it is given."""

    def __init__(self) -> None:
        self.got: list[Any] = []

    def replied(self, result: msgspec.Raw | None, error: envelope.ErrorObject | None) -> None:
        self.got.append(
            json.loads(bytes(result))
            if result is not None
            else error and (error.code, error.message, json.loads(bytes(error.data)))
        )


def asked(peer: Peer, method: str = "hook/stop") -> Waiter:
    waiter = Waiter()
    peer.rpc.request(method, EMPTY, waiter)
    return waiter


# -- what a plugin asks
# --------------------------------------------------------------------------------------------


def echo(params: bytes | msgspec.Raw) -> Any:
    return json.loads(bytes(params)).get("say")
