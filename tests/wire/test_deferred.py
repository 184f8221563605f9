"""Replies that a handler gives later: once, or never if the plugin does not wait any more."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from sliphook.wire.deferred import DeferredReply
from sliphook_sdk.protocol import AskResult

from .peer import Peer, message

DONE = AskResult(outcome="answered", answer="yes")
CANCELLED = {"code": -32800, "message": "request cancelled"}


class Later:
    """Handles `host/ask`: keeps every reply, and notes which are withdrawn."""

    def __init__(self) -> None:
        self.replies: list[DeferredReply] = []
        self.withdrawn: list[int] = []

    def __call__(self, params: bytes | msgspec.Raw) -> DeferredReply:
        at = len(self.replies)
        self.replies.append(DeferredReply(lambda: self.withdrawn.append(at)))
        return self.replies[-1]


def asking(*ids: Any, writes_at_once: bool = True) -> tuple[Peer, Later]:
    later = Later()
    peer = Peer({"host/ask": later, "host/notify": lambda _: None}, writes_at_once=writes_at_once)
    for id in ids:
        peer.says(message(f'"id":{json.dumps(id)},"method":"host/ask"'))
    return peer, later


def cancel(peer: Peer, params: str) -> None:
    assert peer.says(message(f'"method":"$/cancelRequest","params":{params}')) is False


def test_the_reply_comes_when_it_is_given_and_once() -> None:
    peer, later = asking("a", 2)
    assert (peer.emitted, peer.rpc.owed) == ([], 2)
    later.replies[1].answer(DONE)
    later.replies[1].answer(DONE)
    later.replies[0].answer(AskResult(outcome="declined"))
    assert [reply for _, reply in peer.emitted] == [
        {"jsonrpc": "2.0", "id": 2, "result": {"outcome": "answered", "answer": "yes"}},
        {"jsonrpc": "2.0", "id": "a", "result": {"outcome": "declined", "answer": None}},
    ]
    assert [method for method, _ in peer.emitted] == ["host/ask"] * 2
    assert (peer.rpc.owed, later.withdrawn) == (0, [])


def test_other_requests_are_answered_meanwhile() -> None:
    peer, later = asking(1)
    peer.says(message('"id":2,"method":"host/notify"'))
    assert [reply["id"] for _, reply in peer.emitted] == [2]
    later.replies[0].answer(DONE)
    assert [reply["id"] for _, reply in peer.emitted] == [2, 1]


def test_a_plugin_withdraws_its_request() -> None:
    peer, later = asking(1, "1")
    cancel(peer, '{"id":"1"}')
    assert peer.emitted == [("host/ask", {"jsonrpc": "2.0", "id": "1", "error": CANCELLED})]
    assert later.withdrawn == [1]
    later.replies[1].answer(DONE)
    cancel(peer, '{"id":"1"}')
    assert (len(peer.emitted), later.withdrawn, peer.rpc.owed) == (1, [1], 1)


@pytest.mark.parametrize("params", ['{"id":9}', '{"id":true}', '{"id":[1]}', "{}", '{"id":1.0}'])
def test_a_withdrawal_of_nothing_changes_nothing(params: str) -> None:
    peer, later = asking(1)
    cancel(peer, params)
    assert (peer.emitted, later.withdrawn) == ([], [])
    later.replies[0].answer(DONE)
    cancel(peer, '{"id":1}')
    assert (len(peer.emitted), later.withdrawn) == (1, [])


def test_a_cancel_without_params_changes_nothing() -> None:
    peer, later = asking(1)
    peer.says(message('"method":"$/cancelRequest"'))
    assert (peer.emitted, later.withdrawn) == ([], [])


def test_at_the_end_all_are_withdrawn_without_a_reply() -> None:
    peer, later = asking(1, 2, 3)
    later.replies[0].answer(DONE)
    peer.rpc.close()
    assert sorted(later.withdrawn) == [1, 2]
    later.replies[1].answer(DONE)
    assert [reply["id"] for _, reply in peer.emitted] == [1]


def test_one_that_fails_at_its_end_leaves_the_others(caplog: pytest.LogCaptureFixture) -> None:
    ended: list[str] = []

    def fails() -> None:
        raise LookupError

    replies = [DeferredReply(fails), DeferredReply(lambda: ended.append("b"))]
    left = list(replies)
    peer = Peer({"host/ask": lambda _: left.pop(0)})
    for id in (1, 2):
        peer.says(message(f'"id":{id},"method":"host/ask"'))
    cancel(peer, '{"id":1}')
    peer.rpc.close()
    assert ended == ["b"]
    assert [reply["error"] for _, reply in peer.emitted] == [CANCELLED]
    assert "a handler of the host failed" in caplog.text


def test_the_id_is_taken_until_the_reply_is_written() -> None:
    peer, later = asking(1, writes_at_once=False)
    later.replies[0].answer(DONE)
    assert peer.rpc.is_free(1) is False
    peer.rpc.answered(1)
    peer.says(message('"id":1,"method":"host/ask"'))
    assert len(later.replies) == 2
