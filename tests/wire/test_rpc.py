"""The JSON-RPC engine behind its face: what a plugin may send at any time, and what comes of it."""

from __future__ import annotations

import json
import threading
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sliphook.wire import envelope
from sliphook.wire.rpc import Refusal, Violation
from sliphook_sdk.protocol import CATALOGUE, ErrorCode

from .peer import EMPTY, Peer, Waiter, asked, body, echo, message


def test_ids_are_integers_from_one_and_never_reused() -> None:
    peer = Peer()
    frames = [peer.rpc.request("ping", EMPTY, Waiter()) for _ in range(2)]
    assert [number for number, _ in frames] == [1, 2]
    peer.says('{"jsonrpc":"2.0","id":1,"result":null}')
    peer.says('{"jsonrpc":"2.0","id":2,"result":null}')
    assert peer.rpc.request("ping", EMPTY, Waiter())[0] == 3


def test_the_keys_come_in_the_promised_order_and_params_are_written_as_they_are() -> None:
    peer = Peer()
    _, frame = peer.rpc.request("hook/stop", msgspec.Raw(b'{"a":1,"b":"/"}'), Waiter())
    assert frame == (
        b"Content-Length: 71\r\n\r\n"
        b'{"jsonrpc":"2.0","id":1,"method":"hook/stop","params":{"a":1,"b":"/"}}\n'
    )
    assert body(peer.rpc.notify("exit", EMPTY)) == {
        "jsonrpc": "2.0",
        "method": "exit",
        "params": {},
    }


@pytest.mark.parametrize(
    "result",
    [
        None,
        0,
        "",
        False,
        [],
        {},
        {"result": 1},
        {"error": {"code": 1, "message": "x"}},
        {"result": 1, "error": 2},
    ],
)
def test_any_result_reaches_the_waiting_caller_as_it_is(result: Any) -> None:
    peer = Peer()
    waiter = asked(peer)
    assert peer.says(json.dumps({"jsonrpc": "2.0", "id": 1, "result": result})) is True
    assert waiter.got == [result]
    assert peer.rpc.pending == 0


@pytest.mark.parametrize(
    ("error", "got"),
    [
        ({"code": -32603, "message": "boom"}, (-32603, "boom", None)),
        ({"code": 0, "message": "zero"}, (0, "zero", None)),
        ({"code": 1, "message": ""}, (1, "(no message)", None)),
        (
            {"code": -32602, "message": "m", "data": {"where": 1}, "extra": []},
            (-32602, "m", {"where": 1}),
        ),
        ({"code": -32099, "message": "m"}, (-32099, "m", None)),
        ({"code": 10**30, "message": "m"}, (10**30, "m", None)),
    ],
)
def test_any_error_reaches_the_waiting_caller_as_it_is(error: Any, got: Any) -> None:
    peer = Peer()
    waiter = asked(peer)
    assert peer.says(json.dumps({"jsonrpc": "2.0", "id": 1, "error": error})) is True
    assert waiter.got == [got]


def test_replies_come_in_any_order() -> None:
    peer = Peer()
    waiters = [asked(peer) for _ in range(3)]
    for number in (2, 3, 1):
        peer.says(message(f'"id":{number},"result":{number * 10}'))
    assert [waiter.got for waiter in waiters] == [[10], [20], [30]]


@pytest.mark.parametrize("first", ['"result":1', '"error":{"code":1,"message":"x"}'])
@pytest.mark.parametrize("second", ['"result":2', '"error":{"code":2,"message":"y"}'])
def test_a_second_reply_is_dropped_quietly(first: str, second: str) -> None:
    peer = Peer()
    waiter = asked(peer)
    assert peer.says(message(f'"id":1,{first}')) is True
    assert peer.says(message(f'"id":1,{second}')) is False
    assert len(waiter.got) == 1


def test_a_settled_request_is_settled_here_and_now_and_the_late_reply_is_dropped_quietly() -> None:
    peer = Peer()
    waiter = asked(peer)
    peer.rpc.settle(1, ErrorCode.REQUEST_CANCELLED, "cancelled")
    peer.rpc.settle(1, ErrorCode.REQUEST_CANCELLED, "again")
    assert waiter.got == [(-32800, "cancelled", None)]
    assert peer.says('{"jsonrpc":"2.0","id":1,"result":1}') is False
    assert (
        peer.says('{"jsonrpc":"2.0","id":1,"error":{"code":-32800,"message":"cancelled"}}') is False
    )
    assert waiter.got == [(-32800, "cancelled", None)]


def test_settling_what_was_never_asked_does_nothing() -> None:
    peer = Peer()
    peer.rpc.settle(7, ErrorCode.REQUEST_CANCELLED, "cancelled")
    assert peer.emitted == []


@pytest.mark.parametrize("number", ["2", "0", "-1", '"1"', '"x"', str(2**70)])
def test_a_reply_to_an_id_that_was_never_issued_is_a_violation(number: str) -> None:
    peer = Peer()
    waiter = asked(peer)
    with pytest.raises(Violation, match="which was never sent") as caught:
        peer.says(message(f'"id":{number},"result":1'))
    assert caught.value.fatal is False
    assert waiter.got == []


def test_a_violation_is_one_short_line_whatever_the_id() -> None:
    peer = Peer(writes_at_once=False)
    with pytest.raises(Violation) as caught:
        peer.rpc.consume(envelope.Reply("\x1b[2J\n" + "x" * 1_000_000, EMPTY, None))
    assert (len(str(caught.value)) < 100, str(caught.value).isprintable()) == (True, True)
    request = envelope.Request("\n" * 1_000_000, "m", EMPTY)
    peer.rpc.consume(request)
    with pytest.raises(Violation) as caught:
        peer.rpc.consume(request)
    assert (len(str(caught.value)) < 100, str(caught.value).isprintable()) == (True, True)


def test_the_waiting_caller_may_ask_anew_at_once() -> None:
    peer = Peer()
    second = Waiter()

    class Again(Waiter):
        def replied(self, result: msgspec.Raw | None, error: envelope.ErrorObject | None) -> None:
            super().replied(result, error)
            assert peer.rpc.request("ping", EMPTY, second)[0] == 2

    first = Again()
    peer.rpc.request("ping", EMPTY, first)
    peer.says('{"jsonrpc":"2.0","id":1,"result":"one"}')
    peer.says('{"jsonrpc":"2.0","id":2,"result":"two"}')
    assert (first.got, second.got) == (["one"], ["two"])


def test_neither_work_nor_closing_needs_a_thread_and_closing_may_be_repeated() -> None:
    """The engine has a pool of threads; it never gets anything to do."""
    before = set(threading.enumerate())
    peer = Peer({"echo": lambda _: {}})
    asked(peer)
    peer.says('{"jsonrpc":"2.0","id":1,"result":null}')
    peer.says('{"jsonrpc":"2.0","id":7,"method":"echo","params":{}}')
    assert len(peer.emitted) == 1
    peer.rpc.close()
    peer.rpc.close()
    assert set(threading.enumerate()) == before


MESSAGES = st.one_of(
    st.builds(
        envelope.Reply,
        st.integers(-1, 6) | st.sampled_from(["1", ""]),
        st.sampled_from([EMPTY, msgspec.Raw(b"null")]),
        st.none(),
    ),
    st.builds(
        envelope.Reply,
        st.integers(-1, 6),
        st.none(),
        st.builds(envelope.ErrorObject, st.integers(), st.text(max_size=5)),
    ),
    st.builds(
        envelope.Request,
        st.integers(0, 3) | st.sampled_from(["", "a"]),
        st.sampled_from(["echo", "fail", "none", "$/cancelRequest"]),
        st.just(EMPTY),
    ),
    st.builds(
        envelope.Notification,
        st.sampled_from(["echo", "fail", "none", "$/cancelRequest"]),
        st.just(EMPTY),
    ),
)


@given(st.lists(MESSAGES | st.sampled_from(["ask", "settle"]), max_size=30), st.booleans())
def test_whatever_comes_each_request_is_settled_once_and_only_violations_are_raised(
    steps: list[Any], writes_at_once: bool
) -> None:
    def fail(params: bytes | msgspec.Raw) -> Any:
        raise Refusal(ErrorCode.BUSY)

    peer = Peer({"echo": echo, "fail": fail}, writes_at_once=writes_at_once)
    waiters: list[Waiter] = []
    requests = 0
    for step in steps:
        if step == "ask":
            waiters.append(asked(peer))
        elif step == "settle":
            peer.rpc.settle(len(waiters), ErrorCode.REQUEST_CANCELLED, "cancelled")
        else:
            before = sum(len(waiter.got) for waiter in waiters)
            try:
                settled = peer.rpc.consume(step)
            except Violation:
                settled = False
            else:
                requests += isinstance(step, envelope.Request)
            assert sum(len(waiter.got) for waiter in waiters) - before == settled
    for number in range(1, len(waiters) + 1):
        peer.rpc.settle(number, ErrorCode.REQUEST_CANCELLED, "the plugin is gone")
    assert [len(waiter.got) for waiter in waiters] == [1] * len(waiters)
    assert peer.rpc.pending == 0
    assert len(peer.emitted) == requests


# -- the fast path's requests, past Endpoint
# ------------------------------------------------------------------------------


@given(
    st.sampled_from(sorted({entry.method for entry in CATALOGUE.values()})),
    st.dictionaries(st.text(max_size=5), st.integers(-9, 9) | st.text(max_size=9), max_size=4),
    st.none() | st.just("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
)
def test_a_request_past_the_engine_is_the_same_message_in_the_same_row_of_ids(
    method: str, params: dict[str, Any], traceparent: str | None
) -> None:
    raw = msgspec.Raw(envelope.encode(params))
    by_engine, past_it = Peer().rpc, Peer().rpc
    for number in (1, 2, 3):
        request_id, frame = by_engine.request(method, raw, Waiter(), traceparent)
        assert (request_id, frame) == (number, past_it.ask(method, raw, Waiter(), traceparent)[1])
    mixed = Peer().rpc
    assert [
        mixed.ask("a", EMPTY, Waiter())[0],
        mixed.request("b", EMPTY, Waiter())[0],
        mixed.ask("c", EMPTY, Waiter())[0],
    ] == [1, 2, 3]


@pytest.mark.parametrize(
    ("says", "got"),
    [
        ('"result":null', None),
        ('"result":{"decision":"deny"}', {"decision": "deny"}),
        ('"error":{"code":7,"message":"no"}', (7, "no", None)),
        ('"error":{"code":7,"message":""}', (7, "(no message)", None)),
    ],
)
def test_what_was_asked_past_the_engine_is_settled_once(says: str, got: Any) -> None:
    peer, waiter = Peer(), Waiter()
    peer.rpc.ask("hook/stop", EMPTY, waiter)
    assert peer.rpc.pending == 1
    assert peer.says(message(f'"id":1,{says}')) is True
    assert peer.rpc.pending == 0
    assert peer.says(message(f'"id":1,{says}')) is False
    peer.rpc.settle(1, ErrorCode.REQUEST_CANCELLED, "late")
    assert waiter.got == [got]


def test_what_was_asked_past_the_engine_can_be_settled_here_and_now() -> None:
    peer, waiter = Peer(), Waiter()
    peer.rpc.ask("hook/stop", EMPTY, waiter)
    peer.rpc.settle(1, ErrorCode.REQUEST_CANCELLED, "cancelled")
    assert waiter.got == [(-32800, "cancelled", None)]
    assert peer.says('{"jsonrpc":"2.0","id":1,"result":null}') is False
