"""What a plugin asks of the host, at any time, and what comes of it."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from sliphook.wire.rpc import Refusal, Violation
from sliphook_sdk.protocol import ErrorCode

from .peer import EMPTY, Peer, Waiter, asked, body, echo, message


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
    asked(peer, "initialize")
    peer.says('{"jsonrpc":"2.0","id":1,"result":{}}')
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


@pytest.mark.parametrize(
    ("method", "hint"),
    [
        ("host/nofity", "; did you mean host/notify?"),
        ("host/tool", "; did you mean host/tools?"),
        ("notify", "; did you mean host/notify?"),
        ("shutdown", ""),
        ("x" * 300, ""),
    ],
)
def test_what_an_unknown_method_was_meant_for(method: str, hint: str) -> None:
    peer = Peer({"host/notify": echo, "host/tools": echo})
    asked(peer, "initialize")
    peer.says('{"jsonrpc":"2.0","id":1,"result":{}}')
    peer.says(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method}))
    text = peer.emitted[0][1]["error"]["message"]
    assert text.startswith("there is no method '")
    assert text.partition("'; ")[2] == hint.removeprefix("; ")


def test_before_the_manifest_every_request_is_too_early() -> None:
    peer = Peer()
    asked(peer, "initialize")
    peer.says('{"jsonrpc":"2.0","id":1,"method":"host/nothing"}')
    assert peer.emitted[0][1]["error"] == {
        "code": -32001,
        "message": "host/nothing before the manifest was read",
    }


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
