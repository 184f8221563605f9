"""Handlers called past Endpoint are answered with Endpoint's bytes, however they end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
import pytest

from sliphook_sdk.errors import RpcError
from sliphook_sdk.framing import frame
from sliphook_sdk.plugin import Plugin
from sliphook_sdk.protocol import ErrorCode
from sliphook_sdk.registration.answers import deny
from sliphook_sdk.registration.tools import Tool
from sliphook_sdk.service import Invocation, Service
from sliphook_sdk.wire.call import Call
from sliphook_sdk.wire.replies import DeferredReply
from sliphook_sdk.wire.rpc import EndpointReply, Peer

Handler = Callable[[Peer, Call], Any]


class Mute(Exception):
    """It cannot even say what it is."""

    def __str__(self) -> str:
        raise ValueError


CANCEL = b'{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":7}}'
CANCELLED = '{"jsonrpc":"2.0","id":7,"error":{"code":-32800,"message":"request cancelled"}}'


def request(request_id: str = "7") -> bytes:
    return b'{"jsonrpc":"2.0","id":' + request_id.encode() + b',"method":"hook/stop","params":{}}'


def log(message: str) -> str:
    return (
        '{"jsonrpc":"2.0","method":"host/log","params":{"level":"error","message":"'
        + message
        + '","fields":null}}'
    )


def error(message: str, code: int = -32603) -> str:
    members = f'"code":{code},"message":"{message}"'
    return '{"jsonrpc":"2.0","id":7,"error":{' + members + "}}"


def returning(value: Any) -> Handler:
    return lambda peer, call: value


def raising(exc: BaseException) -> Handler:
    def handler(peer: Peer, call: Call) -> None:
        raise exc

    return handler


def cancelled_meanwhile(value: Any) -> Handler:
    def handler(peer: Peer, call: Call) -> Any:
        assert peer.receive(CANCEL) is None
        assert call.cancelled
        if isinstance(value, Exception):
            raise value
        return value

    return handler


def both_ways(handler: Handler) -> list[tuple[Peer, list[bytes]]]:
    """Two plugins with the same handler: past Endpoint and through it."""
    ways: list[tuple[Peer, list[bytes]]] = []
    for direct in (True, False):
        written: list[bytes] = []
        peer = Peer(written.append)
        peer.handle("hook/stop", partial(handler, peer), direct=direct)
        ways.append((peer, written))
    return ways


def ask(peer: Peer, request_id: str = "7") -> Call:
    call = peer.receive(request(request_id))
    assert call is not None
    return call


@pytest.mark.parametrize(
    ("handler", "bodies"),
    [
        (returning(None), ['{"jsonrpc":"2.0","id":7,"result":null}']),
        (
            returning(deny("no")),
            ['{"jsonrpc":"2.0","id":7,"result":{"decision":"deny","reason":"no"}}'],
        ),
        (
            returning({"result": 1, "error": 2}),
            ['{"jsonrpc":"2.0","id":7,"result":{"result":1,"error":2}}'],
        ),
        (returning("\udc80"), ['{"jsonrpc":"2.0","id":7,"result":"\\\\udc80"}']),
        (raising(RpcError(ErrorCode.INVALID_PARAMS, "no")), [error("no", -32602)]),
        (raising(RpcError(ErrorCode.INTERNAL_ERROR, "")), [error("no reason given")]),
        (
            raising(KeyError("x")),
            [
                log("the SDK failed in hook/stop: KeyError: 'x'"),
                error("the SDK failed in hook/stop: KeyError: 'x'"),
            ],
        ),
        (
            raising(SystemExit(3)),
            [
                log("the SDK failed in hook/stop: SystemExit: 3"),
                error("the SDK failed in hook/stop: SystemExit: 3"),
            ],
        ),
        (
            raising(Mute()),
            [log("the SDK failed in hook/stop: Mute"), error("the SDK failed in hook/stop: Mute")],
        ),
        (
            returning(object()),
            [
                log("the answer cannot be sent: Encoding objects of type object is unsupported"),
                error("the answer cannot be sent: Encoding objects of type object is unsupported"),
            ],
        ),
        (
            returning("x" * 1_048_576),
            [
                log(
                    "the answer cannot be sent: it has 1,048,613 bytes, and the answer to a "
                    "hook may have 1,048,576: change less in one answer"
                ),
                error(
                    "the answer cannot be sent: it has 1,048,613 bytes, and the answer to a "
                    "hook may have 1,048,576: change less in one answer"
                ),
            ],
        ),
        (cancelled_meanwhile(None), ['{"jsonrpc":"2.0","id":7,"result":null}']),
        (
            cancelled_meanwhile(deny("no")),
            ['{"jsonrpc":"2.0","id":7,"result":{"decision":"deny","reason":"no"}}'],
        ),
        (
            cancelled_meanwhile(RpcError(ErrorCode.REQUEST_CANCELLED, "request cancelled")),
            [CANCELLED],
        ),
    ],
)
def test_a_handler_that_ends_at_once(handler: Handler, bodies: list[str]) -> None:
    for peer, written in both_ways(handler):
        peer.dispatch(ask(peer))
        assert written == [frame(body.encode()) for body in bodies]


@pytest.mark.parametrize(
    ("outcome", "body"),
    [
        (None, '{"jsonrpc":"2.0","id":7,"result":null}'),
        (deny("no"), '{"jsonrpc":"2.0","id":7,"result":{"decision":"deny","reason":"no"}}'),
        (RpcError(ErrorCode.INTERNAL_ERROR, "boom"), error("boom")),
    ],
)
@pytest.mark.parametrize("cancelled", [False, True])
def test_a_handler_that_answers_later(outcome: Any, body: str, cancelled: bool) -> None:
    answers: list[DeferredReply | EndpointReply] = []

    def handler(peer: Peer, call: Call) -> DeferredReply | EndpointReply:
        answers.append(peer.defer(call))
        return answers[-1]

    for peer, written in both_ways(handler):
        peer.dispatch(ask(peer))
        assert written == []
        if cancelled:
            peer.receive(CANCEL)
        if isinstance(outcome, RpcError):
            answers[-1].refuse(outcome)
        else:
            answers[-1].answer(outcome)
        assert written == [frame(body.encode())]
    assert [type(answer) for answer in answers] == [DeferredReply, EndpointReply]


def test_what_was_cancelled_before_it_began_is_not_begun() -> None:
    for peer, written in both_ways(raising(AssertionError("begun"))):
        call = ask(peer)
        peer.receive(CANCEL)
        assert written == [frame(CANCELLED.encode())]
        peer.dispatch(call)
        assert written == [frame(CANCELLED.encode())]


def test_an_id_is_answered_once_and_may_be_text() -> None:
    for peer, written in both_ways(returning(None)):
        twice, text = [ask(peer), ask(peer)], ask(peer, '"a%d"')
        for call in (*twice, text):
            peer.dispatch(call)
        assert written == [
            frame(b'{"jsonrpc":"2.0","id":7,"result":null}'),
            frame(b'{"jsonrpc":"2.0","id":"a%d","result":null}'),
        ]


def test_a_loop_of_its_own_hears_a_cancel_that_comes_before_it_runs_or_after() -> None:
    """For an `async def` that came at run time, among plain functions."""

    async def sleeps() -> None:
        """Sleeps."""
        await asyncio.sleep(1)

    async def ends() -> None:
        """Ends."""

    written: list[bytes] = []
    service = Service(Plugin("late"), Peer(written.append))
    before, after = (Call(number, "tool/call", msgspec.Raw(b"{}")) for number in (1, 2))
    before.cancel()
    with pytest.raises(RpcError, match="request cancelled"):
        service.run(Invocation(Tool(sleeps), (), {}, before))
    service.run(Invocation(Tool(ends), (), {}, after))
    after.cancel()
    assert written == []
