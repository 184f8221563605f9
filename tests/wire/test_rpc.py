"""The JSON-RPC engine behind its face: what a plugin may send at any time, and what comes of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sliphook.wire import envelope
from sliphook.wire.rpc import Handler, Refusal, Rpc, Violation
from sliphook_sdk.protocol import CATALOGUE, ErrorCode

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
        self.rpc = Rpc(self._emit, handlers or {})
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


# -- what a plugin asks
# --------------------------------------------------------------------------------------------


def echo(params: bytes | msgspec.Raw) -> Any:
    return json.loads(bytes(params)).get("say")


@pytest.mark.parametrize(
    "say",
    [
        None,
        0,
        "",
        [],
        {},
        {"result": 1},
        {"error": {"code": 1}},
        {"result": 1, "error": 2, "id": 9, "jsonrpc": "x"},
    ],
)
def test_a_result_is_never_mixed_up_with_the_envelope(say: Any) -> None:
    peer = Peer({"echo": echo})
    assert (
        peer.says(
            json.dumps({"jsonrpc": "2.0", "id": "a", "method": "echo", "params": {"say": say}})
        )
        is False
    )
    assert peer.emitted == [("echo", {"jsonrpc": "2.0", "id": "a", "result": say})]


@pytest.mark.parametrize("number", ["1", "0", "-5", '""', '"x"', str(10**100)])
def test_any_integer_or_string_is_an_id(number: str) -> None:
    peer = Peer({"echo": echo})
    peer.says(message(f'"id":{number},"method":"echo"'))
    assert peer.emitted[0][1] == {"jsonrpc": "2.0", "id": json.loads(number), "result": None}


def test_1_and_the_string_1_are_two_ids() -> None:
    peer = Peer({"echo": echo}, writes_at_once=False)
    peer.says('{"jsonrpc":"2.0","id":1,"method":"echo"}')
    peer.says('{"jsonrpc":"2.0","id":"1","method":"echo"}')
    assert [reply["id"] for _, reply in peer.emitted] == [1, "1"]


@pytest.mark.parametrize("method", ["host/nothing", "initialize", "$/cancelRequest", ""])
def test_an_unknown_request_is_method_not_found(method: str) -> None:
    peer = Peer({"echo": echo})
    peer.says(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method}))
    assert peer.emitted == [
        (
            method,
            {
                "jsonrpc": "2.0",
                "id": 1,
                "error": {"code": -32601, "message": f"there is no method '{method}'"},
            },
        )
    ]


def test_a_method_s_name_of_megabytes_is_not_sent_back() -> None:
    peer = Peer()
    peer.says(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "x" * 5_000_000}))
    assert len(peer.emitted[0][1]["error"]["message"]) < 100


@pytest.mark.parametrize("method", ["host/nothing", "$/unknown", "$/cancelRequest", "initialized"])
@pytest.mark.parametrize(
    "params", ["", ',"params":{}', ',"params":{"id":1}', ',"params":{"id":null}']
)
def test_an_unknown_notification_is_ignored_and_so_is_a_cancel_with_or_without_id(
    method: str, params: str
) -> None:
    peer = Peer({"echo": echo})
    waiter = asked(peer)
    assert peer.says(message(f'"method":"{method}"{params}')) is False
    assert (peer.emitted, waiter.got) == ([], [])


def test_a_refusal_goes_out_with_its_code_and_words() -> None:
    def refuse(params: bytes | msgspec.Raw) -> Any:
        raise Refusal(ErrorCode.NOT_GRANTED, "inject is not granted")

    def refuse_plainly(params: bytes | msgspec.Raw) -> Any:
        raise Refusal(ErrorCode.BUSY)

    peer = Peer({"a": refuse, "b": refuse_plainly})
    for number, method in enumerate("ab"):
        peer.says(message(f'"id":{number},"method":"{method}"'))
    assert [reply["error"] for _, reply in peer.emitted] == [
        {"code": -32003, "message": "inject is not granted"},
        {"code": -32004, "message": "busy"},
    ]


def test_a_handler_that_raises_is_an_internal_error_without_a_traceback_and_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(params: bytes | msgspec.Raw) -> Any:
        raise LookupError("a secret of the host")

    def answers_nonsense(params: bytes | msgspec.Raw) -> Any:
        return object()

    peer = Peer({"fail": fail, "nonsense": answers_nonsense})
    for method in ("fail", "nonsense"):
        peer.says(message(f'"id":"{method}","method":"{method}"'))
        assert peer.emitted.pop() == (
            method,
            {
                "jsonrpc": "2.0",
                "id": method,
                "error": {"code": -32603, "message": "the host failed to handle this"},
            },
        )
        assert peer.says(message(f'"method":"{method}"')) is False
        assert peer.emitted == []
    assert {record.name for record in caplog.records} == {"sliphook.wire.rpc"}
    assert len(caplog.records) >= 3
    assert "a secret of the host" in caplog.text


def test_a_method_that_is_called_is_called_as_a_notification_too_and_nothing_is_answered() -> None:
    heard: list[bytes] = []
    peer = Peer({"host/log": lambda params: heard.append(bytes(params))})
    peer.says('{"jsonrpc":"2.0","method":"host/log","params":{"message":"x"}}')
    peer.says('{"jsonrpc":"2.0","id":1,"method":"host/log"}')
    assert heard == [b'{"message":"x"}', b"{}"]
    assert peer.emitted == [("host/log", {"jsonrpc": "2.0", "id": 1, "result": None})]


def test_an_id_that_is_still_in_flight_gets_no_reply_and_the_third_time_is_fatal() -> None:
    peer = Peer({"echo": echo}, writes_at_once=False)
    request = '{"jsonrpc":"2.0","id":"a","method":"echo"}'
    peer.says(request)
    fatal: list[bool] = []
    for _ in range(3):
        with pytest.raises(Violation, match="the request id 'a' is still in flight") as caught:
            peer.says(request)
        fatal.append(caught.value.fatal)
    assert fatal == [False, False, True]
    assert len(peer.emitted) == 1


def test_an_id_is_free_again_when_its_reply_has_been_written() -> None:
    peer = Peer({"echo": echo}, writes_at_once=False)
    request = '{"jsonrpc":"2.0","id":"a","method":"echo"}'
    peer.says(request)
    peer.rpc.answered("a")
    peer.rpc.answered("never seen")
    peer.says(request)
    assert len(peer.emitted) == 2


def test_a_refused_message_that_is_no_request_is_answered_with_the_id_or_null() -> None:
    rpc = Peer().rpc
    assert body(rpc.refuse(None, ErrorCode.INVALID_REQUEST, "a batch")) == {
        "jsonrpc": "2.0",
        "id": None,
        "error": {"code": -32600, "message": "a batch"},
    }
    assert body(rpc.refuse("x", ErrorCode.BUSY, "busy"))["id"] == "x"


def test_a_handler_may_ask_and_tell_the_plugin_before_it_answers() -> None:
    frames: list[bytes] = []
    waiter = Waiter()

    def interrupt(params: bytes | msgspec.Raw) -> Any:
        frames.append(peer.rpc.notify("event/turn_end", EMPTY))
        frames.append(peer.rpc.request("ping", EMPTY, waiter)[1])
        return {"interrupted": True}

    peer = Peer({"host/interrupt": interrupt})
    peer.says('{"jsonrpc":"2.0","id":1,"method":"host/interrupt"}')
    assert [body(frame)["method"] for frame in frames] == ["event/turn_end", "ping"]
    assert peer.emitted == [
        ("host/interrupt", {"jsonrpc": "2.0", "id": 1, "result": {"interrupted": True}})
    ]


def test_payloads_are_never_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(0)
    peer = Peer({"echo": echo})
    asked(peer)
    peer.says('{"jsonrpc":"2.0","id":1,"result":"SECRET"}')
    peer.says('{"jsonrpc":"2.0","id":1,"method":"echo","params":{"say":"SECRET"}}')
    peer.says('{"jsonrpc":"2.0","method":"SECRET"}')
    peer.says('{"jsonrpc":"2.0","id":2,"method":"SECRET"}')
    assert caplog.records == []


def test_closing_needs_no_thread_and_may_be_repeated() -> None:
    peer = Peer()
    peer.rpc.close()
    peer.rpc.close()


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
