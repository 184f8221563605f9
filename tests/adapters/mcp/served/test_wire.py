"""The wire alone: junk, floods, long lines, clients that do not read."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio

from sliphook import HostError, ToolOffer
from sliphook.adapters.mcp.serve.backend import AskedFor, Backend
from sliphook.adapters.mcp.serve.incoming import MAX_LINE_BYTES
from sliphook.adapters.mcp.serve.outgoing import MOST_OPEN
from sliphook.adapters.mcp.serve.server import serve
from sliphook.adapters.relayed.messages import Called, Offers
from sliphook.adapters.relayed.waiting_calls import Person, Report
from tests.heartbeat import LIMIT_MS, heartbeat
from tests.programs import WAIT_S

HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "a-test", "version": "1"},
}
ECHO = ToolOffer(
    name="echo", description="", input_schema={"type": "object"}, timeout_s=60, plugin="p"
)

FORM = {"type": "object", "properties": {"which": {"type": "string"}}, "required": ["which"]}


class Fixed:
    """One tool, which answers its arguments; with `hang` it never does."""

    def __init__(self) -> None:
        self.cancelled = 0
        self.ended = False

    async def offers(self) -> Offers:
        await trio.lowlevel.checkpoint()
        return Offers((ECHO,))

    async def call(self, request: AskedFor, person: Person | None, report: Report) -> Called:
        if "hang" in request.arguments:
            try:
                await trio.sleep_forever()
            finally:
                self.cancelled += 1
        await trio.lowlevel.checkpoint()
        return Called(content=json.dumps(request.arguments))

    async def run_command(self, request: AskedFor) -> str:
        await trio.lowlevel.checkpoint()
        return request.text

    async def end(self) -> None:
        await trio.lowlevel.checkpoint()
        self.ended = True


class Asks(Fixed):
    """The same tool asks the client's person first."""

    async def call(self, request: AskedFor, person: Person | None, report: Report) -> Called:
        assert person is not None
        try:
            return Called(content=json.dumps(await person("Which?", FORM)))
        except HostError as error:
            return Called(content=str(error))


class Pipes:
    """The client's side."""

    def __init__(self, put: int, get: int) -> None:
        self.put = put
        self._get = get
        self._bytes = bytearray()

    async def write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            await trio.lowlevel.wait_writable(self.put)
            view = view[os.write(self.put, view[:4096]) :]

    async def say(self, **message: Any) -> None:
        await self.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    async def read(self, most: int) -> None:
        await trio.lowlevel.wait_readable(self._get)
        piece = os.read(self._get, most)
        assert piece, "the server has ended"
        self._bytes += piece

    async def hear(self) -> dict[str, Any]:
        while b"\n" not in self._bytes:
            await self.read(65536)
        line, _, rest = bytes(self._bytes).partition(b"\n")
        self._bytes = bytearray(rest)
        found: dict[str, Any] = json.loads(line)
        return found

    async def initialize(self, **capabilities: object) -> None:
        hello = HELLO | {"capabilities": capabilities}
        await self.say(id="hello", method="initialize", params=hello)
        assert (await self.hear())["id"] == "hello"
        await self.say(method="notifications/initialized")

    async def call(self, id: int, **arguments: Any) -> None:
        params = {"name": "echo", "arguments": arguments}
        await self.say(id=id, method="tools/call", params=params)


async def serve_fixed(source: int, sink: int, backend: Backend) -> None:
    async def choose(*_: object) -> Backend:
        await trio.lowlevel.checkpoint()
        return backend

    await serve(source, sink, choose)


@asynccontextmanager
async def served(backend: Backend, *, sockets: bool = False) -> AsyncGenerator[Pipes]:
    """A server, which ends when the client's pipes are closed."""
    if sockets:
        ours, theirs = socket.socketpair()
        pairs = ours.detach(), theirs.detach()
        source = sink = pairs[1]
        put = get = pairs[0]
    else:
        source, put = os.pipe()
        get, sink = os.pipe()

    with trio.fail_after(WAIT_S):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(serve_fixed, source, sink, backend)
            yield Pipes(put, get)
            for descriptor in {put, get}:
                os.close(descriptor)
    for descriptor in {source, sink}:
        os.close(descriptor)


@pytest.mark.parametrize("sockets", [False, True])
async def test_a_call_over_pipes_and_sockets(sockets: bool) -> None:
    backend = Fixed()
    async with served(backend, sockets=sockets) as client:
        await client.initialize()
        await client.call(1, text="x" * 1_000_000)
        said = await client.hear()
        assert len(said["result"]["content"][0]["text"]) == 1_000_012
    assert backend.ended


@pytest.mark.parametrize(
    ("line", "code", "id"),
    [
        (b"junk", -32700, None),
        (b"\xff\xfe\x00", -32700, None),
        (b"[" * 100_000, -32600, None),
        (b'{"jsonrpc":"2.0","id":"\xff","params":' + b"[" * 1_100 + b"}", -32600, None),
        (b'{"jsonrpc":"2.0","id":"\x01","params":[' + b"1," * 30_000 + b"1]}", -32600, None),
        (b'{"jsonrpc":"2.0","id":3,"method":"ping","params":{"x":NaN}}', -32700, 3),
        (
            b'{"method":"ping","params":{"x":"\\ud83d","y":Infinity},"jsonrpc":"2.0","id":3}',
            -32700,
            3,
        ),
        (b"[]", -32600, None),
        (b'{"jsonrpc":"2.0","id":3}', -32600, 3),
        (b'{"jsonrpc":"1.0","id":3,"method":"ping"}', -32600, 3),
        (b'{"jsonrpc":"2.0","id":3,"method":"ping","params":[]}', -32600, 3),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":3,"method":"nonsense"}', -32601, 3),
        (b'{"jsonrpc":"2.0","id":"' + b"x" * 257 + b'","method":"ping"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":1' + b"0" * 300 + b',"method":"ping"}', -32600, None),
    ],
)
async def test_what_is_no_request_is_answered_with_an_error(
    line: bytes, code: int, id: int | None
) -> None:
    async with served(Fixed()) as client:
        await client.initialize()
        await client.write(line + b"\n")
        said = await client.hear()
        assert (said["error"]["code"], said["id"]) == (code, id)
        await client.call(4, a=1)
        assert (await client.hear())["id"] == 4


async def test_half_a_character_is_replaced() -> None:
    params = {"name": "echo", "arguments": {"text": "\ud83d!"}}  # dumps writes an escape
    line = {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": params}
    async with served(Fixed()) as client:
        await client.initialize()
        await client.write(json.dumps(line).encode() + b"\n")
        said = await client.hear()
        assert said["result"]["content"][0]["text"] == '{"text": "\\ufffd!"}'


@pytest.mark.parametrize(
    "text",
    ["\\ud800" * 650_000, "\\\\" * 2_000_000, "\\u0001" * 650_000, "\u00e9" * 2_000_000],
    ids=["halves", "backslashes", "controls", "two bytes"],
)
async def test_a_long_line_is_read_in_steps(text: str) -> None:
    line = f'{{"jsonrpc":"2.0","method":"notifications/x","params":{{"a":"{text}"}}}}\n'.encode()
    own_ms: list[float] = []
    for _ in range(3):  # what the code takes comes again; what a busy machine adds does not
        async with heartbeat() as beat:
            with beat.measure() as held:
                async with served(Fixed()) as client:
                    await client.initialize()
                    await client.write(line)
                    await client.call(4, a=1)
                    assert (await client.hear())["id"] == 4
        own_ms.append(held.own_ms)
        if held.own_ms <= LIMIT_MS:
            break
    assert min(own_ms) <= LIMIT_MS


async def test_what_is_no_utf8_may_become_too_long() -> None:
    line = (
        b'{"jsonrpc":"2.0","id":3,"method":"ping","params":{"a":"' + b"\xff" * 2_000_000 + b'"}}\n'
    )
    async with served(Fixed()) as client:
        await client.initialize()
        await client.write(line)
        said = await client.hear()
        assert said["id"] == 3
        assert said["error"]["message"] == "the message is not read: it is over 4 MiB"


async def test_a_name_that_is_long_or_odd_is_quoted() -> None:
    async with served(Fixed()) as client:
        await client.initialize()
        for id, name in enumerate(("\x1b[31m", "x" * 10_000)):
            await client.say(id=id, method="tools/call", params={"name": name})
            said = (await client.hear())["error"]["message"]
            assert "\x1b" not in said
            assert len(said) < 200


@pytest.mark.parametrize("front", [True, False])
async def test_sixteen_mebibytes_are_refused_by_their_id(front: bool) -> None:
    call = {"method": "tools/call", "params": {"name": "echo", "arguments": {"a": "x" * 2**24}}}
    two = {"jsonrpc": "2.0", "id": 7}
    whole = {**two, **call} if front else {**call, **two}
    async with served(Fixed()) as client:
        await client.initialize()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(client.write, json.dumps(whole).encode() + b"\n")
            said = await client.hear()
        assert said["id"] == 7
        assert said["error"] == {
            "code": -32600,
            "message": "the message is not read: it is over 4 MiB",
        }
        await client.call(8, a=1)
        assert (await client.hear())["id"] == 8


@pytest.mark.parametrize("id", ["007", "00"])
async def test_what_is_not_read_is_refused_also_where_its_id_is_no_json(id: str) -> None:
    async with served(Fixed()) as client:
        await client.initialize()
        await client.write(f'{{"jsonrpc":"2.0","id":{id},"method":"x","params":{MANY}}}\n'.encode())
        said = await client.hear()
        assert said["id"] is None
        assert said["error"]["message"].startswith("the message is not read: it has")
        await client.call(8, a=1)
        assert (await client.hear())["id"] == 8


HUGE = '{"action":"accept","content":{"which":"' + "x" * MAX_LINE_BYTES + '"}}'
MANY = '{"action":"accept","content":{"which":[' + "1," * 20_000 + "1]}}"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('{"jsonrpc":"2.0","id":ID,"result":' + HUGE + "}", "it is over 4 MiB"),
        ('{"result":' + HUGE + ',"id":ID,"jsonrpc":"2.0"}', "it is over 4 MiB"),
        ('{"id":ID,"jsonrpc":"2.0","result":' + MANY + "}", "values"),
        ('{"jsonrpc":"2.0","id":ID,"result":{"action":accept}}', "it is no JSON"),
    ],
    ids=["4-MiB", "4-MiB-and-the-id-behind", "20,000-values", "no-json"],
)
async def test_an_answer_that_is_not_read_is_waited_for_no_longer(line: str, why: str) -> None:
    async with served(Asks()) as client:
        await client.initialize(elicitation={})
        await client.call(1)
        asked = await client.hear()
        assert asked["method"] == "elicitation/create"
        async with trio.open_nursery() as nursery:
            answer = line.replace("ID", json.dumps(asked["id"])).encode() + b"\n"
            nursery.start_soon(client.write, answer)
            said = await client.hear()
        assert said["id"] == 1
        (text,) = (part["text"] for part in said["result"]["content"])
        assert text.startswith("the client cannot ask: the message is not read: ")
        assert why in text


async def test_an_answer_that_is_not_read_and_belongs_to_no_question_is_ignored() -> None:
    async with served(Fixed()) as client:
        await client.initialize()
        await client.write(f'{{"jsonrpc":"2.0","id":77,"result":{MANY}}}\n'.encode())
        await client.call(2, a=1)
        assert (await client.hear())["id"] == 2


async def test_a_line_that_is_a_little_too_long_comes_with_the_next_one() -> None:
    long = b'{"jsonrpc":"2.0","id":1,"a":"' + b"x" * MAX_LINE_BYTES + b'"}\n'
    async with served(Fixed()) as client:
        await client.initialize()
        ping = b'{"jsonrpc":"2.0","id":2,"method":"ping"}\n'
        async with trio.open_nursery() as nursery:
            nursery.start_soon(client.write, long + ping)
            assert [(await client.hear())["id"] for _ in range(2)] == [1, 2]


async def test_so_many_calls_at_once_and_no_more() -> None:
    backend = Fixed()
    async with served(backend) as client:
        await client.initialize()
        for id in range(MOST_OPEN + 1):
            await client.call(id, hang=True)
        said = await client.hear()
        assert (said["id"], said["error"]["message"]) == (256, "256 requests are open")
        await client.say(method="notifications/cancelled", params={"requestId": 0})
        await client.call(500, a=1)
        assert (await client.hear())["id"] == 500
    assert backend.cancelled == 256


async def test_of_a_client_that_does_not_read_so_many_requests_are_read_and_no_more() -> None:
    read: list[int] = []

    class Counts(Fixed):
        async def call(self, request: AskedFor, person: Person | None, report: Report) -> Called:
            read.append(1)
            return Called(content="x" * 100_000)

    async with served(Counts()) as client:
        await client.initialize()
        with trio.move_on_after(1.0):
            for id in range(5_000):
                await client.call(id)
        assert len(read) <= MOST_OPEN + 64  # some answers are in the queue and in the pipe


@pytest.mark.parametrize("id", [1, "1", "01", " 1"])
async def test_an_id_that_is_open_is_refused(id: int | str) -> None:
    async with served(Fixed()) as client:
        await client.initialize()
        await client.call(1, hang=True)
        await client.say(id=id, method="ping")
        assert (await client.hear())["error"]["message"] == "a request of this id is open"


async def test_a_client_that_does_not_read_holds_nobody() -> None:
    backend = Fixed()
    async with served(backend) as client:
        await client.initialize()
        with trio.move_on_after(1.0):
            for id in range(1_000):
                await client.call(id, text="x" * 100_000)
    assert backend.ended


async def test_a_client_that_closes_what_it_reads_ends_all() -> None:
    source, put = os.pipe()
    get, sink = os.pipe()
    backend = Fixed()
    with trio.fail_after(WAIT_S):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(serve_fixed, source, sink, backend)
            client = Pipes(put, get)
            await client.initialize()
            os.close(get)
            await client.say(id=1, method="tools/list")
    for descriptor in (source, put, sink):
        os.close(descriptor)
