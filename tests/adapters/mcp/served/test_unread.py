"""Clients that send and do not read: what waits for them is bounded, whatever they send."""

from __future__ import annotations

import json
import logging
import os
import signal
from collections.abc import Callable
from typing import Any

import anyio
import pytest
import trio
from mcp.shared.message import SessionMessage
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    InputRequiredResult,
    JSONRPCNotification,
    JSONRPCResponse,
)
from trio.testing import wait_all_tasks_blocked

from sliphook.adapters.mcp.serve import asking, outgoing
from sliphook.adapters.mcp.serve.backend import AskedFor, untold
from sliphook.adapters.mcp.serve.outgoing import MOST_BYTES, MOST_OPEN, PAUSE_BYTES, Outgoing
from sliphook.adapters.mcp.serve.stdio import LogLines
from sliphook.adapters.relayed.messages import Called
from sliphook.adapters.relayed.waiting_calls import Person, Report
from tests.programs import WAIT_S

from .conftest import Mcp
from .test_wire import Fixed, Pipes, serve_fixed, served

SOME = 1_000
QUIET_S = 0.1
MODERN: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "a-test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
}
CLIENT = {"name": "a-test", "version": "1"}
TEXT = "x" * 50_000
Message = dict[str, Any]


def wide(n: int) -> str:
    """An id, with which a pipe is soon full."""
    return f"{n:0200}"


def request(id: int | str, method: str, **params: Any) -> Message:
    return {"id": id, "method": method, "params": params}


def call(id: int | str, **arguments: Any) -> Message:
    return request(id, "tools/call", name="echo", arguments=arguments)


def cancel(id: int | str) -> Message:
    return {"method": "notifications/cancelled", "params": {"requestId": id}}


FLOODS: dict[str, Callable[[str, str], list[Message]]] = {
    "calls, cancelled": lambda id, late: [call(id, hang=True), cancel(id)],
    "calls, cancelled late": lambda id, late: [call(id), cancel(late)],
    "calls": lambda id, late: [call(id)],
    "calls with a large result, cancelled late": lambda id, late: [
        call(id, a="x" * 2_000),
        cancel(late),
    ],
    "pings": lambda id, late: [request(id, "ping")],
    "pings, cancelled": lambda id, late: [request(id, "ping"), cancel(id)],
    "lists": lambda id, late: [request(id, "tools/list"), request("p" + id, "prompts/list")],
    "lists, cancelled": lambda id, late: [request(id, "tools/list"), cancel(id)],
    "what is refused": lambda id, late: [request(id, "nonsense")],
    "what is refused, cancelled": lambda id, late: [request(id, "nonsense"), cancel(id)],
    "answers to nothing": lambda id, late: [{"id": id, "result": {"action": "accept"}}],
    "notifications": lambda id, late: [{"method": "notifications/x", "params": {"a": "b"}}],
    "progress": lambda id, late: [
        {"method": "notifications/progress", "params": {"progressToken": id, "progress": 1}}
    ],
    "what is no message": lambda id, late: [{"id": id}],
}
MODERN_FLOODS: dict[str, Callable[[str, str], list[Message]]] = {
    "listens, cancelled": lambda id, late: [
        request(id, "subscriptions/listen", _meta=MODERN, notifications={"toolsListChanged": True}),
        cancel(id),
    ],
    "stateless calls, cancelled": lambda id, late: [
        request(id, "tools/call", _meta=MODERN, name="echo", arguments={"hang": True}),
        cancel(id),
    ],
    "stateless calls, cancelled late": lambda id, late: [
        request(id, "tools/call", _meta=MODERN, name="echo", arguments={}),
        cancel(late),
    ],
}


def living() -> int:
    return trio.lowlevel.current_statistics().tasks_living


@pytest.mark.parametrize("what", [*FLOODS, *MODERN_FLOODS])
@pytest.mark.parametrize("reads", [0, 500], ids=["nothing", "bytes"])
async def test_of_a_client_that_reads_little_no_more_tasks_are_kept(what: str, reads: int) -> None:
    flood = (FLOODS | MODERN_FLOODS)[what]
    most = 0

    async def send(client: Pipes) -> None:
        nonlocal most
        for n in range(SOME):
            for message in flood(wide(n), wide(n - 20)):
                await client.say(**message)
            most = max(most, living())

    async with served(Fixed()) as client:
        if what in FLOODS:
            await client.initialize()
        before = living()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(send, client)
            with trio.move_on_after(QUIET_S * 10):
                for _ in range(reads):
                    await client.read(1)
            await wait_all_tasks_blocked(QUIET_S)
            nursery.cancel_scope.cancel()
    assert most - before <= 2 * MOST_OPEN


async def test_what_is_not_read_is_so_many_bytes_and_then_all_is_answered() -> None:
    """The others are answered with an error, and the connection goes on."""
    size, count = 1_000_000, 100
    gate = trio.Event()

    class Large(Fixed):
        async def call(self, request: AskedFor, person: Person | None, report: Report) -> Called:
            await gate.wait()
            return Called(content="x" * size)

    async with served(Large()) as client:
        await client.initialize()
        for id in range(count):
            await client.call(id)
        await wait_all_tasks_blocked(QUIET_S)
        gate.set()
        await wait_all_tasks_blocked(QUIET_S)
        answers = [await client.hear() for _ in range(count)]
        assert sorted(one["id"] for one in answers) == [*range(count)]
        left_out = [one["error"] for one in answers if "error" in one]
        assert len(left_out) >= count - MOST_BYTES // size - 1  # one is on the way
        assert {one["code"] for one in left_out} == {-32603}
        assert {one["message"] for one in left_out} == {
            "the answer is left out: over 64 MiB are open or not read"
        }
        await client.call(count)
        assert "result" in await client.hear()


async def test_open_requests_are_so_many_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outgoing, "MOST_BYTES", 1_000_000)
    async with served(Fixed()) as client:
        await client.initialize()
        for id in range(11):
            await client.call(id, hang=True, text="x" * 95_000)
        said = await client.hear()
        assert (said["id"], said["error"]["code"]) == (10, -32603)
        await client.say(**cancel(0))
        await client.call(11, text="x" * 95_000)
        assert "result" in await client.hear()


async def test_nothing_more_is_read_behind_so_much_and_then_all_is() -> None:
    count = PAUSE_BYTES // 50_000 * 2

    async def send(client: Pipes) -> None:
        for id in range(count):
            await client.call(id, text="x" * 50_000)
        is_sent.set()

    is_sent = trio.Event()
    async with served(Fixed()) as client:
        await client.initialize()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(send, client)
            await wait_all_tasks_blocked(QUIET_S)
            assert not is_sent.is_set()
            answers = [await client.hear() for _ in range(count)]
    assert sorted(one["id"] for one in answers) == [*range(count)]
    assert all("result" in one for one in answers)


@pytest.mark.parametrize("what", ["pings", "pings, cancelled", "what is no message"])
async def test_a_client_that_closes_its_stdin_alone_ends_all(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outgoing, "PAUSE_BYTES", 100_000)
    source, put = os.pipe()
    get, sink = os.pipe()
    backend = Fixed()

    async def send(client: Pipes) -> None:
        n = 0
        while True:
            n += 1
            for message in FLOODS[what](wide(n), wide(n - 20)):
                await client.say(**message)

    with trio.fail_after(WAIT_S):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(serve_fixed, source, sink, backend)
            client = Pipes(put, get)
            await client.initialize()
            await client.call(1)
            await client.hear()
            async with trio.open_nursery() as sending:
                sending.start_soon(send, client)
                await wait_all_tasks_blocked(QUIET_S)
                sending.cancel_scope.cancel()
            os.close(put)
    assert backend.ended
    for descriptor in (source, get, sink):
        os.close(descriptor)


@pytest.mark.parametrize("how", ["SIGTERM", "stdin"])
async def test_a_client_that_reads_nothing_holds_no_end(
    how: str, guard: Any, mcp_server: Mcp
) -> None:
    lines = b"".join(
        json.dumps({"jsonrpc": "2.0", **call(n, text=TEXT)}).encode() + b"\n" for n in range(600)
    )
    async with mcp_server(status=143 if how == "SIGTERM" else 0) as server:
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": CLIENT}
        await server.ask({"id": "hello", "method": "initialize", "params": hello})
        await server.say({"method": "notifications/initialized"})
        await server.ask(request(-1, "tools/list"))
        with trio.move_on_after(QUIET_S * 10):
            await server.process.stdin.send_all(lines)
        if how == "SIGTERM":
            server.process.send_signal(signal.SIGTERM)
            await server.process.wait()
    assert guard.methods()[-2:] == ["shutdown", "exit"]


def test_log_lines_that_no_one_reads_are_lost_and_hold_nothing() -> None:
    get, sink = os.pipe()
    lines = LogLines(sink)
    for n in range(2_000):
        lines.emit(logging.LogRecord("x", logging.WARNING, "", 0, f"line {n:0200}", None, None))
    os.close(sink)
    with os.fdopen(get, "rb") as said:
        found = said.read()
    assert found.startswith(b"line 000")
    assert found.endswith(b"\n")
    assert len(found) < 2_000 * 206


async def test_what_the_client_sends_wrongly_is_told_in_no_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with served(Fixed()) as client:
        await client.initialize()
        for id in ([1], None, True):
            await client.say(method="notifications/cancelled", params={"requestId": id})
        await client.say(method="notifications/progress", params={"progressToken": []})
        await client.say(id=1, method="ping")
        assert (await client.hear())["id"] == 1
    assert caplog.records == []


async def test_only_so_many_questions_wait_for_a_client_that_does_not_come_back() -> None:
    running = 0

    async def work(person: Person, report: Report) -> CallToolResult:
        nonlocal running
        running += 1
        try:
            await person("Which?", {})
        finally:
            running -= 1
        return CallToolResult(content=[])

    params = CallToolRequestParams(name="x")
    with trio.fail_after(WAIT_S):
        async with trio.open_nursery() as nursery:
            by_result = asking.ByResult(nursery)
            for _ in range(asking.MOST_PARKED + 9):
                await by_result.call(params, work, untold)
            last = await by_result.call(params, work, untold)
            assert running == asking.MOST_PARKED
            assert isinstance(last, InputRequiredResult)
            done = CallToolRequestParams(name="x", request_state=last.request_state)
            assert isinstance(await by_result.call(done, work, untold), CallToolResult)
            nursery.cancel_scope.cancel()


async def test_a_cancelled_call_that_may_ask_is_open_until_it_has_ended() -> None:
    steps: list[str] = []

    async def work(person: Person, report: Report) -> CallToolResult:
        try:
            await trio.sleep_forever()
        finally:
            with trio.CancelScope(shield=True):
                await wait_all_tasks_blocked()
            steps.append("the call has ended")

    with trio.fail_after(WAIT_S):
        async with trio.open_nursery() as nursery:
            by_result = asking.ByResult(nursery)
            with trio.CancelScope() as scope:
                async with trio.open_nursery() as asked:
                    asked.start_soon(by_result.call, CallToolRequestParams(name="x"), work, untold)
                    await wait_all_tasks_blocked()
                    scope.cancel()
            steps.append("the request is over")
    assert steps == ["the call has ended", "the request is over"]


async def test_all_is_counted_back() -> None:
    """Answers, refusals, notes and requests without an answer leave nothing in the count."""
    get, sink = os.pipe()
    out = Outgoing(sink)
    with trio.fail_after(WAIT_S):
        async with trio.open_nursery() as nursery:
            for id in (1, "2", "three", "4"):
                out.open(id, 1_000)
            assert out.why_not(2, 1) == (-32600, "a request of this id is open")
            assert out.why_not(5, MOST_BYTES - 4_000) is None
            assert out.why_not(5, MOST_BYTES - 3_999) is not None
            for id in (1, 2, "three"):
                answer = JSONRPCResponse(jsonrpc="2.0", id=id, result={})
                await out.send(SessionMessage(answer))
            out.cancel(1)
            out.cancel("no such id")
            out.refuse("six", -32600, "no")
            note = JSONRPCNotification(jsonrpc="2.0", method="notifications/x")
            await out.send(SessionMessage(note))
            out.over("4")
            assert out.cancelled == {1}
            assert out.why_not(5, MOST_BYTES) is not None
            nursery.start_soon(out.run, nursery.cancel_scope.cancel)
            await wait_all_tasks_blocked()
            assert out.cancelled == set()
            for id in (1, 2, "three", 4):
                assert out.why_not(id, MOST_BYTES) is None
            await out.aclose()
            with pytest.raises(anyio.BrokenResourceError):
                await out.send(SessionMessage(note))
    said = os.read(get, 65_536)
    for descriptor in (get, sink):
        os.close(descriptor)
    ids = [json.loads(line).get("id") for line in said.splitlines()]
    assert ids == [1, 2, "three", "six", None]
