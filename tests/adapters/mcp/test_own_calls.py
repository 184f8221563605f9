"""Our own requests on a server's pipes, and the lines that the pipes are cut into; no process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from typing import Any

import pytest

from sliphook.adapters.mcp.transports.own_calls import FIRST_ID, CallFailed, OwnCalls
from sliphook.adapters.mcp.transports.reading import LineReader, LineTooLong
from tests.programs import WAIT_S

ID = FIRST_ID


class Pipe:
    """What was written, as messages."""

    def __init__(self) -> None:
        self.written: list[dict[str, Any]] = []
        self.broken = False
        self.room = asyncio.Event()
        self.room.set()

    def write(self, data: bytes) -> None:
        assert data.endswith(b"\n")
        self.written.append(json.loads(data))

    async def drain(self) -> None:
        await self.room.wait()
        if self.broken:
            raise ConnectionResetError


def run(story: Coroutine[Any, Any, None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(WAIT_S):
            await story

    asyncio.run(bounded())


def reply(**members: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": ID, **members}).encode() + b"\n"


async def begun(
    own: OwnCalls, steps: list[Any] | None = None, timeout_s: float = 60.0
) -> asyncio.Task[Any]:
    def step(*said: Any) -> None:
        if steps is not None:
            steps.append(said)

    params = {"name": "work", "_meta": {"a": 1}}
    task = asyncio.create_task(own.request("tools/call", params, step, timeout_s))
    await asyncio.sleep(0)
    return task


def test_a_request_is_one_line_and_its_reply_is_taken_once() -> None:
    async def story() -> None:
        own, pipe = OwnCalls(), Pipe()
        own.begin(pipe)
        task = await begun(own)
        assert pipe.written == [
            {
                "jsonrpc": "2.0",
                "id": 1073741824,
                "method": "tools/call",
                "params": {"name": "work", "_meta": {"a": 1, "progressToken": 1073741824}},
            }
        ]
        assert own.take(reply(result={"a": 1}))
        assert not own.take(reply(result={"a": 2}))
        assert bytes(await task) == b'{"a": 1}'
        assert not own.take(reply(result={"a": 3}))
        assert len(pipe.written) == 1

    run(story())


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"hello\n",
        b"[]\n",
        b'{"id": 1073741824, "result": {}}\n',
        b"[" * 1_000 + b"\n",
        b'{"jsonrpc":"2.0","id":1073741824,"result":{}\n',
        b'{"jsonrpc":"2.0","id":1,"result":{}}\n',
        b'{"jsonrpc":"2.0","id":1073741825,"result":{}}\n',
        b'{"jsonrpc":"2.0","id":1073741824.5,"result":{}}\n',
        b'{"jsonrpc":"2.0","id":true,"result":{}}\n',
        b'{"jsonrpc":"2.0","id":null,"result":{}}\n',
        b'{"jsonrpc":"2.0","id":"\xff","result":{}}\n',
        b'{"jsonrpc":"2.0","id":"' + b"9" * 5_000 + b'","result":{}}\n',
        b'{"jsonrpc":"2.0","id":1073741824,"method":"ping"}\n',
        b'{"jsonrpc":"2.0","id":1073741824,"method":"notifications/progress"}\n',
        b'{"jsonrpc":"2.0","id":1073741824,"method":"notifications/progress",'
        b'"params":{"progressToken":1073741824,"progress":1}}\n',
        b'{"jsonrpc":"2.0","method":"notifications/progress"}\n',
        b'{"jsonrpc":"2.0","method":"notifications/progress","params":[]}\n',
        b'{"jsonrpc":"2.0","method":"notifications/progress",'
        b'"params":{"progressToken":1073741825,"progress":1}}\n',
        b'{"jsonrpc":"2.0","method":"notifications/progress",'
        b'"params":{"progressToken":1073741824,"progress":"x"}}\n',
    ],
)
def test_what_is_not_for_a_request_is_left_to_the_session(line: bytes) -> None:
    async def story() -> None:
        own = OwnCalls()
        own.begin(Pipe())
        steps: list[Any] = []
        task = await begun(own, steps)
        assert not own.take(line)
        assert not task.done()
        assert own.take(reply(result={}))
        assert bytes(await task) == b"{}"
        assert steps == []

    run(story())


@pytest.mark.parametrize(
    ("members", "why"),
    [
        ({"error": {"code": 1, "message": "no"}}, "no"),
        ({"error": {"code": 1, "message": "no"}, "result": {}}, "no"),
        ({"error": "no"}, "it answered with an error that is none"),
        ({"error": {"code": 1, "message": 5}}, "it answered with an error that is none"),
        ({}, "it answered with neither a result nor an error"),
        ({"result": None}, "it answered with neither a result nor an error"),
    ],
)
def test_a_reply_that_is_no_result_fails_its_request(members: dict[str, Any], why: str) -> None:
    async def story() -> None:
        own = OwnCalls()
        own.begin(Pipe())
        task = await begun(own)
        assert own.take(reply(**members))
        with pytest.raises(CallFailed, match=f"^{why}$"):
            await task

    run(story())


def test_progress_goes_to_its_request() -> None:
    async def story() -> None:
        own = OwnCalls()
        own.begin(Pipe())
        steps: list[Any] = []
        task = await begun(own, steps)
        for token in (ID, str(ID)):
            params = {"progressToken": token, "progress": 1, "total": 4, "message": "on"}
            said = {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}
            assert own.take(json.dumps(said).encode())
        assert steps == [(1.0, 4.0, "on"), (1.0, 4.0, "on")]
        assert own.take(reply(id=str(ID), result={}))
        assert not own.take(json.dumps(said).encode())
        await task

    run(story())


def test_a_cancel_is_told_to_the_server_once_and_only_if_it_has_the_request() -> None:
    async def story() -> None:
        own, pipe = OwnCalls(), Pipe()
        own.begin(pipe)
        first = await begun(own)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        assert not own.take(reply(result={}))
        assert [one["method"] for one in pipe.written] == ["tools/call", "notifications/cancelled"]
        assert pipe.written[1]["params"]["requestId"] == 1073741824
        pipe.room.clear()
        unsent = await begun(own)
        unsent.cancel()
        with pytest.raises(asyncio.CancelledError):
            await unsent
        assert len(pipe.written) == 2
        pipe.room.set()
        answered = await begun(own)
        assert own.take(reply(id=ID + 1, result={}))
        answered.cancel()
        with pytest.raises(asyncio.CancelledError):
            await answered
        assert len(pipe.written) == 3

    run(story())


def test_the_time_of_a_request_is_limited() -> None:
    async def story() -> None:
        own, pipe = OwnCalls(), Pipe()
        own.begin(pipe)
        with pytest.raises(CallFailed, match="it did not answer within 0 s"):
            await own.request("tools/call", {"_meta": {}}, print, 0.0)
        assert pipe.written[1]["params"] == {
            "requestId": 1073741824,
            "reason": "timed out after 0 s",
        }

    run(story())


def test_at_the_end_of_the_pipes_all_requests_fail() -> None:
    async def story() -> None:
        own, pipe = OwnCalls(), Pipe()
        own.begin(pipe)
        tasks = [await begun(own), await begun(own)]
        own.end()
        tasks.append(await begun(own))
        own.begin(pipe)
        pipe.broken = True
        tasks.append(await begun(own))
        for task in tasks:
            with pytest.raises(CallFailed, match="Connection closed"):
                await task
        assert len(pipe.written) == 2

    run(story())


def test_a_request_that_waits_for_a_server_to_read_does_not_outlive_it_or_its_time() -> None:
    async def story() -> None:
        own, pipe = OwnCalls(), Pipe()
        own.begin(pipe)
        pipe.room.clear()
        with pytest.raises(CallFailed, match="it did not read within 0 s"):
            await own.request("tools/call", {"_meta": {}}, print, 0.0)
        task = await begun(own, timeout_s=2 * WAIT_S)
        own.end()
        pipe.room.set()
        with pytest.raises(CallFailed, match="Connection closed"):
            await task
        assert pipe.written == []

    run(story())


class Source(asyncio.ReadTransport):
    """Where the lines come from."""

    paused = False

    def pause_reading(self) -> None:
        self.paused = True

    def resume_reading(self) -> None:
        self.paused = False


def is_paused(source: Source) -> bool:
    return source.paused


def test_lines_are_cut_however_they_come() -> None:
    async def story() -> None:
        offered: list[bytes] = []

        def at_once(line: bytes) -> bool:
            offered.append(line)
            return line == b"mine\n"

        lines, source = LineReader(10, at_once), Source()
        lines.connection_made(source)
        waiting = asyncio.create_task(lines.line())
        await asyncio.sleep(0)
        lines.data_received(b"mine\n")
        lines.data_received(b"a")
        lines.data_received(b"b\nmine\nc\n")
        assert await waiting == b"ab\n"
        lines.data_received(b"mine\n")  # others wait, so it waits too
        assert [await lines.line() for _ in range(3)] == [b"mine\n", b"c\n", b"mine\n"]
        assert offered == [b"mine\n"]
        lines.data_received(b"123456789\n" * 3)
        assert is_paused(source)
        assert [await lines.line() for _ in range(2)] == [b"123456789\n"] * 2
        assert not is_paused(source)
        lines.data_received(b"half")
        assert await lines.line() == b"123456789\n"
        last = asyncio.create_task(lines.line())
        await asyncio.sleep(0)
        lines.connection_lost(None)
        assert [await last, await lines.line()] == [None, None]

    run(story())


def test_behind_the_end_nothing_is_read_however_much_comes() -> None:
    async def story() -> None:
        lines = LineReader(10, lambda _: False)
        lines.connection_made(Source())
        lines.data_received(b"last\nhalf")
        lines.end()
        lines.data_received(b"\nmore\n")
        assert [await lines.line() for _ in range(2)] == [b"last\n", None]

    run(story())


@pytest.mark.parametrize("sent", [b"0123456789a", b"0123456789ab\n", b"ok\n0123456789ab\n"])
def test_a_line_that_is_too_long_is_not_kept(sent: bytes) -> None:
    async def story() -> None:
        lines = LineReader(10, lambda _: False)
        lines.connection_made(Source())
        for at in range(len(sent)):
            lines.data_received(sent[at : at + 1])
        if sent.startswith(b"ok"):
            assert await lines.line() == b"ok\n"
        with pytest.raises(LineTooLong):
            await lines.line()

    run(story())
