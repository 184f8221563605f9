"""A server that asks and does not read the answers has no more than so many requests open."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
import trio
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp_types import JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from sliphook.adapters.mcp.transports import asked
from sliphook.adapters.mcp.transports.asked import MOST_ASKED, OpenRequests
from tests.programs import WAIT_S


def request(id: int | str, **params: Any) -> SessionMessage:
    return SessionMessage(JSONRPCRequest(jsonrpc="2.0", id=id, method="ping", params=params))


class Talk:
    """Both ends of a transport whose server sends what is put into it."""

    def __init__(self) -> None:
        self.lost: list[str] = []
        self.put, self._come = anyio.create_memory_object_stream[SessionMessage | Exception](500)
        self._go, self.written = anyio.create_memory_object_stream[SessionMessage](500)
        self.read: Any = None
        self.write: Any = None

    @asynccontextmanager
    async def _transport(self) -> AsyncGenerator[tuple[Any, Any]]:
        yield self._come, self._go

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[Talk]:
        with trio.fail_after(WAIT_S), self.put, self.written:
            async with (
                OpenRequests(self.lost.append).over(self._transport()) as (self.read, self.write),
                self.read,
                self.write,
            ):
                yield self

    def answer(self, id: int | str) -> Any:
        return self.write.send(SessionMessage(JSONRPCResponse(jsonrpc="2.0", id=id, result={})))


async def test_one_more_than_may_be_open_waits_for_an_answer() -> None:
    async with Talk().opened() as talk:
        for id in range(MOST_ASKED + 1):
            await talk.put.send(request(id))
        for id in range(MOST_ASKED):
            assert (await talk.read.receive()).message.id == id
        async with trio.open_nursery() as nursery:
            nursery.start_soon(talk.answer, "3")  # some give the id back as a text
            assert (await talk.read.receive()).message.id == MOST_ASKED
    assert talk.lost == []


async def test_without_an_answer_the_connection_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asked, "PATIENCE_S", 0.01)
    async with Talk().opened() as talk:
        for id in range(MOST_ASKED + 1):
            await talk.put.send(request(id))
        for _ in range(MOST_ASKED):
            await talk.read.receive()
        with pytest.raises(anyio.EndOfStream):
            await talk.read.receive()
    assert talk.lost == ["it has asked 100 times, and does not read the answers"]


async def test_their_bytes_count_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asked, "PATIENCE_S", 0.01)
    monkeypatch.setattr(asked, "MOST_ASKED_BYTES", 10_000)
    async with Talk().opened() as talk:
        for id in range(3):
            await talk.put.send(request(id, text="x" * 6_000))
        for id in range(2):
            assert (await talk.read.receive()).message.id == id
        with pytest.raises(anyio.EndOfStream):
            await talk.read.receive()
    assert talk.lost == ["it has asked 2 times, and does not read the answers"]


async def test_one_whose_id_is_open_is_dropped() -> None:
    """Else each would be answered, and one id would stand for all of them."""
    note = SessionMessage(JSONRPCNotification(jsonrpc="2.0", method="notifications/message"))
    async with Talk().opened() as talk:
        for _ in range(2 * MOST_ASKED):
            await talk.put.send(request("a"))
        await talk.put.send(note)
        assert (await talk.read.receive()).message.id == "a"
        assert await talk.read.receive() is note
        await talk.answer("a")
        await talk.put.send(request("a"))
        assert (await talk.read.receive()).message.id == "a"


async def test_one_that_the_server_has_cancelled_is_over() -> None:
    async with Talk().opened() as talk:
        await talk.put.send(request(1))
        metadata = (await talk.read.receive()).metadata
        assert isinstance(metadata, ServerMessageMetadata)
        assert metadata.on_request_unanswered is not None
        await metadata.on_request_unanswered()
        await talk.put.send(request(1))
        assert (await talk.read.receive()).message.id == 1
