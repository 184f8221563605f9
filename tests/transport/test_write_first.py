"""What an interrupt writes at once: in one write, whole and in order, however full the pipe is."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from typing import cast

import pytest
import trio

from sliphook.transport import descriptors
from sliphook.transport.deadlines import Deadlines
from sliphook.transport.interrupted import Interrupts
from sliphook.transport.outbox import WRITE_BYTES, Item
from sliphook.transport.transport_recorder import TransportRecorder
from sliphook.transport.writer import PipeWriter
from sliphook.wire.shared_params import END

PIPE_BYTES = 64 * 1024
"""What a pipe holds on Linux, in pages of 4 KiB."""


class Owner:
    """Notes what it is told."""

    def __init__(self) -> None:
        self.noted: list[Item] = []

    def left(self, item: Item) -> None:
        self.noted.append(item)

    def lost(self, item: Item) -> None:
        raise AssertionError(item.method)

    def cannot_write(self, why: str) -> None:
        raise AssertionError(why)


def messages(*sizes: int) -> list[Item]:
    """Messages of so many bytes, each of a letter of its own; every third shares its content."""
    made: list[Item] = []
    for at, size in enumerate(sizes):
        text = bytes([97 + at]) * (size - len(END))
        if at % 3 == 2:
            made.append(Item(text[:10], "event/x", rest=memoryview(text[10:])))
        else:
            made.append(Item(text + END, "event/x"))
    return made


@contextmanager
def a_pipe(owner: Owner, full: int = 0) -> Generator[tuple[int, PipeWriter]]:
    """A pipe with so many bytes in it: its reading end, and the writer of the other."""
    ours, theirs = os.pipe()
    os.write(theirs, bytes(full))
    writer = PipeWriter(descriptors.take(theirs), Deadlines(), owner)
    os.close(theirs)
    try:
        yield ours, writer
    finally:
        writer.close()
        os.close(ours)


async def all_of(descriptor: int, size: int) -> bytes:
    read = b""
    with trio.fail_after(10):
        while len(read) < size:
            await trio.lowlevel.wait_readable(descriptor)
            read += os.read(descriptor, PIPE_BYTES)
    return read


@pytest.mark.parametrize(
    ("full", "sizes", "begun"),
    [
        pytest.param(0, (600,) * 12, 12, id="all-at-once"),
        pytest.param(60 * 1024, (600,) * 12, 7, id="the-seventh-in-part"),
        pytest.param(60 * 1024, (4096, 600, 600), 1, id="between-two"),
        pytest.param(64 * 1024, (600,) * 12, 0, id="a-full-pipe"),
        pytest.param(0, (600, WRITE_BYTES, 600), 1, id="a-large-one-is-not-joined"),
        pytest.param(0, (WRITE_BYTES + 1, 600), 0, id="a-large-one-is-first"),
    ],
)
async def test_what_is_written_first(full: int, sizes: tuple[int, ...], begun: int) -> None:
    items = messages(*sizes)
    sent = bytes(full) + b"".join(bytes(part) for item in items for part in item.parts())
    with a_pipe(owner := Owner(), full) as (ours, writer):
        assert writer.write_first(items) == begun
        assert owner.noted == [], "to note them is the caller's"
        for item in items[begun:]:
            writer.send(item, urgent=True)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(writer.run)
            assert await all_of(ours, len(sent)) == sent
            nursery.cancel_scope.cancel()
        assert owner.noted == items[begun:]


async def test_the_number_of_a_closed_pipe_may_be_another_file_s() -> None:
    read, theirs = os.pipe()
    number = descriptors.take(theirs)
    writer = PipeWriter(number, Deadlines(), Owner())
    writer.close()
    os.dup2(theirs, number)
    try:
        assert writer.write(b"not for it") == 0
        os.set_blocking(read, False)
        with pytest.raises(BlockingIOError):
            os.read(read, 1)
    finally:
        for descriptor in (number, theirs, read):
            os.close(descriptor)


class Recorder:
    """Notes what is to be recorded."""

    def __init__(self) -> None:
        self.noted: list[Item] = []

    def put_off(self, items: list[Item]) -> None:
        self.noted += items

    def catch_up(self) -> None:
        pass


@pytest.mark.parametrize("full", [0, 60 * 1024, 63 * 1024, 64 * 1024])
async def test_each_message_of_an_interrupt_is_recorded_once(full: int) -> None:
    """Also the one of which a part has left."""
    items, recorder = messages(*(600,) * 12), Recorder()
    with a_pipe(owner := Owner(), full) as (ours, writer):
        interrupts = Interrupts(
            writer,
            {},
            Deadlines(),
            lambda item: writer.send(item, urgent=True),
            lambda call: None,
            cast("TransportRecorder", recorder),
        )
        interrupts.urgent += items
        interrupts.flush(WRITE_BYTES)
        size = full + sum(item.size for item in items)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(writer.run)
            await all_of(ours, size)
            nursery.cancel_scope.cancel()
    # the rest is noted by the owner, which records it
    assert recorder.noted + owner.noted == items


@pytest.mark.parametrize(("at_most", "at_once"), [(2_000, 1_800), (600, 600), (100, 100)])
async def test_no_more_is_written_at_once_than_it_may(at_most: int, at_once: int) -> None:
    """The rest leaves soon after, in order."""
    items = messages(*(600,) * 12)
    sent = b"".join(bytes(part) for item in items for part in item.parts())
    with a_pipe(Owner()) as (ours, writer):
        queue = partial(writer.send, urgent=True)
        interrupts = Interrupts(writer, {}, Deadlines(), queue, lambda call: None, None)
        interrupts.urgent += items
        interrupts.flush(at_most)
        assert os.read(ours, PIPE_BYTES) == sent[:at_once]
        async with trio.open_nursery() as nursery:
            nursery.start_soon(writer.run)
            assert await all_of(ours, len(sent) - at_once) == sent[at_once:]
            nursery.cancel_scope.cancel()


async def test_nothing_overtakes_what_has_begun() -> None:
    one, two = messages(2 * PIPE_BYTES, 600)
    with a_pipe(Owner()) as (_, writer):
        writer.send(one)
        assert writer.write_first([two]) == 0


async def test_sixteen_tool_calls_are_told_of_in_one_write(monkeypatch: pytest.MonkeyPatch) -> None:
    writes: list[int] = []
    write = os.write

    def counted(descriptor: int, data: bytes) -> int:
        writes.append(len(data))
        return write(descriptor, data)

    monkeypatch.setattr(os, "write", counted)
    with a_pipe(Owner()) as (_, writer):
        writes.clear()
        assert writer.write_first(messages(*(600,) * 18)) == 18
        monkeypatch.undo()
    assert writes == [18 * 600]
