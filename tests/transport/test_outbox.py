"""What waits to be written to one plugin: order, room, and frames that are never mixed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from sliphook.transport.call import Call
from sliphook.transport.outbox import WRITE_BYTES, Item, Outbox, QueueFull


def call() -> Call:
    """Something that stands for a request; the outbox only looks at who it is."""
    return Call("hook/stop", 1.0, lambda _: None, _began_s=0.0)


def event(frame: bytes, session_id: str | None = None) -> Item:
    return Item(frame, "event/turn_start", session_id=session_id)


def droppable(frame: bytes, session_id: str | None = None) -> Item:
    return Item(frame, "event/notification", session_id=session_id, droppable=True)


def request(frame: bytes, of: Call, session_id: str | None = None) -> Item:
    return Item(frame, "hook/stop", call=of, session_id=session_id)


def drain(outbox: Outbox, at_most: Callable[[], int] = lambda: 1 << 30) -> bytes:
    written = b""
    while outbox:
        data = bytes(outbox.next_write())
        count = min(len(data), at_most())
        outbox.wrote(count)
        written += data[:count]
    assert outbox.next_write() == b""
    assert outbox.size == 0
    return written


def test_urgent_goes_before_normal_and_each_is_first_in_first_out() -> None:
    outbox = Outbox()
    for name in (b"n1", b"n2"):
        outbox.put(event(name))
    for name in (b"u1", b"u2"):
        outbox.put(event(name), urgent=True)
    outbox.put(event(b"n3"))
    assert drain(outbox) == b"u1u2n1n2n3"


def test_a_message_that_has_begun_is_finished_before_anything_urgent() -> None:
    outbox = Outbox()
    first = event(b"abcdef")
    outbox.put(first)
    outbox.next_write()
    assert outbox.wrote(2) == [first]
    outbox.put(event(b"URGENT"), urgent=True)
    assert bytes(outbox.next_write()) == b"cdef"
    assert outbox.wrote(1) == []
    assert bytes(outbox.next_write()) == b"def"
    assert outbox.wrote(3) == []
    assert bytes(outbox.next_write()) == b"URGENT"


def test_what_has_left_is_told_once_at_its_first_byte() -> None:
    outbox = Outbox()
    one, two, three = event(b"111"), event(b"222"), event(b"333")
    for item in (one, two, three):
        outbox.put(item)
    assert outbox.next_write() == b"111222333"
    assert outbox.wrote(4) == [one, two]
    assert (len(outbox), outbox.size) == (2, 5)
    assert bytes(outbox.next_write()) == b"22"
    assert outbox.wrote(2) == []
    assert outbox.wrote(0) == []
    assert outbox.next_write() == b"333"
    assert outbox.wrote(3) == [three]
    assert not outbox


def test_frames_are_joined_up_to_what_a_pipe_takes_at_once() -> None:
    outbox = Outbox()
    for _ in range(5):
        outbox.put(event(b"x" * 20_000))
    assert len(outbox.next_write()) == 60_000
    outbox.wrote(60_000)
    assert len(outbox.next_write()) == 40_000
    outbox.wrote(40_000)
    outbox.put(event(b"small"))
    outbox.put(event(b"y" * 100_000))
    assert outbox.next_write() == b"small"
    outbox.wrote(5)
    assert len(outbox.next_write()) == 100_000
    assert WRITE_BYTES == 65_536


def test_the_limits_are_1024_messages_and_16_mib() -> None:
    outbox = Outbox()
    for _ in range(1_024):
        outbox.put(event(b"x"))
    with pytest.raises(QueueFull):
        outbox.put(event(b"x"))
    outbox = Outbox()
    for _ in range(2):
        outbox.put(event(bytes(8 * 1024 * 1024)))
    with pytest.raises(QueueFull):
        outbox.put(event(b"x"))
    assert outbox.size == 16_777_216


def test_a_message_that_is_half_written_counts() -> None:
    outbox = Outbox(max_messages=1)
    outbox.put(event(b"abc"))
    outbox.wrote(1)
    with pytest.raises(QueueFull):
        outbox.put(event(b"d"))
    outbox.wrote(2)
    assert outbox.put(event(b"d")) == []


def test_a_full_queue_drops_the_oldest_droppable_events_and_says_which() -> None:
    outbox = Outbox(max_messages=4)
    old, older = droppable(b"b"), droppable(b"a")
    for item in (event(b"-"), older, old, event(b"+")):
        outbox.put(item)
    new = droppable(b"c")
    assert outbox.put(new) == [older]
    assert outbox.put(event(b"!")) == [old]
    assert outbox.put(event(b"?")) == [new]
    with pytest.raises(QueueFull):
        outbox.put(event(b"x"))
    late = droppable(b"d")
    assert outbox.put(late) == [late]
    assert drain(outbox) == b"-+!?"


def test_as_many_go_as_the_bytes_need() -> None:
    outbox = Outbox(max_bytes=10)
    small = [droppable(b"1"), droppable(b"22"), droppable(b"333"), droppable(b"4444")]
    for item in small:
        assert outbox.put(item) == []
    assert outbox.put(event(b"55555")) == small[:3]
    assert drain(outbox) == b"444455555"


@pytest.mark.parametrize("make", [event, droppable])
def test_nothing_is_dropped_in_vain(make: Callable[[bytes], Item]) -> None:
    """If dropping does not make room, the waiting events stay."""
    outbox = Outbox(max_bytes=10)
    outbox.put(event(b"keep"))
    outbox.put(droppable(b"event"))
    too_large = make(b"x" * 7)
    if too_large.droppable:
        assert outbox.put(too_large) == [too_large]
    else:
        with pytest.raises(QueueFull):
            outbox.put(too_large)
    assert drain(outbox) == b"keepevent"


def test_events_that_were_hastened_may_still_be_dropped() -> None:
    outbox = Outbox(max_messages=2)
    old = [droppable(b"1", "s"), droppable(b"2", "s")]
    for item in old:
        outbox.put(item)
    outbox.hasten("s")
    assert outbox.put(event(b"stopped", "s"), urgent=True) == old[:1]
    assert outbox.put(event(b"end", "s"), urgent=True) == old[1:]
    assert drain(outbox) == b"stoppedend"


def test_hasten_moves_all_of_the_session_and_no_other_message() -> None:
    outbox = Outbox()
    outbox.put(event(b"[u]", "s"), urgent=True)
    for item in (
        event(b"[s1]", "s"),
        event(b"[t1]", "t"),
        request(b"[s?]", call(), "s"),
        event(b"[-]"),
        droppable(b"[s2]", "s"),
    ):
        outbox.put(item)
    outbox.hasten("s")
    outbox.hasten("unknown")
    assert drain(outbox) == b"[u][s1][s?][s2][t1][-]"


def test_withdraw_takes_out_only_what_has_not_begun() -> None:
    """A message that is partly written must be finished, or the stream is broken."""
    outbox = Outbox()
    begun, waiting, urgent, other = call(), call(), call(), call()
    outbox.put(request(b"begun", begun))
    outbox.wrote(1)
    outbox.put(request(b"waiting", waiting))
    outbox.put(request(b"other", other))
    outbox.put(request(b"urgent", urgent), urgent=True)
    assert outbox.withdraw({begun, waiting, urgent, call()}) == {waiting, urgent}
    assert outbox.size == 9
    assert drain(outbox) == b"egunother"


def test_swap_keeps_the_place() -> None:
    """A withdrawn request becomes an event where the request stood, so that `seq` still rises."""
    outbox = Outbox()
    first, second = call(), call()
    outbox.put(request(b"<first>", first))
    outbox.put(event(b"<event>"))
    outbox.put(request(b"<second>", second))
    assert outbox.swap(second, event(b"<told>"))
    assert not outbox.swap(second, event(b"<again>"))
    outbox.wrote(1)
    assert not outbox.swap(first, event(b"<begun>"))
    assert drain(outbox) == b"first><event><told>"


def steps_of(work: Callable[[], object]) -> int:
    """How many instructions of Python it takes."""
    steps = 0

    def trace(frame: FrameType, what: str, _: object) -> Any:
        nonlocal steps
        frame.f_trace_opcodes = True
        steps += what == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return steps


def test_an_interrupt_looks_at_nothing_but_what_it_moves() -> None:
    """However much waits: fifty plugins may have a thousand messages each."""

    def steps(waiting: int) -> list[int]:
        outbox = Outbox()
        others, mine = [call() for _ in range(waiting)], [call() for _ in range(3)]
        for other in others:
            outbox.put(request(b"other", other, "t"))
            outbox.put(droppable(b"t", "t"))
        for one in mine:
            outbox.put(request(b"mine", one, "s"))
        took = [
            steps_of(lambda: outbox.withdraw({mine[0], call()})),
            steps_of(lambda: outbox.swap(mine[1], event(b"told", "s"))),
            steps_of(lambda: outbox.hasten("s")),
            steps_of(lambda: outbox.hasten("unknown")),
            steps_of(lambda: outbox.put(event(b"stopped", "s"), urgent=True)),
            # one of megabytes, if the queue is full
            steps_of(lambda: outbox.put(event(bytes(16 * 1024 * 1024 - outbox.size + 1)))),
        ]
        assert bytes(outbox.next_write()).startswith(b"toldminestoppedother")
        return took

    assert steps(400) == steps(2)


def test_clear_forgets_everything_and_tells_what_had_not_begun() -> None:
    outbox = Outbox()
    items = [event(b"begun"), event(b"normal"), event(b"urgent")]
    outbox.put(items[0])
    outbox.wrote(2)
    outbox.put(items[1])
    outbox.put(items[2], urgent=True)
    assert outbox.clear() == [items[2], items[1]]
    assert bool(outbox) is False
    assert len(outbox) == 0
    assert outbox.size == 0
    assert outbox.next_write() == b""


class ListModel(RuleBasedStateMachine):
    """The outbox against two plain lists.

    Every frame is `<number:padding>`, so interleaving would show in the bytes.
    """

    @initialize(max_messages=st.integers(1, 8), max_bytes=st.integers(20, 120))
    def begin(self, max_messages: int, max_bytes: int) -> None:
        self.outbox = Outbox(max_messages, max_bytes)
        self.max_messages, self.max_bytes = max_messages, max_bytes
        self.urgent: list[Item] = []
        self.normal: list[Item] = []
        self.begun = b""
        self.written = b""
        self.expected = b""
        self.number = 0

    def frame(self, padding: int) -> bytes:
        self.number += 1
        return b"<%d:%s>" % (self.number, b"." * padding)

    def held(self) -> int:
        return len(self.begun) + sum(len(item.frame) for item in self.urgent + self.normal)

    def fits(self, item: Item) -> bool:
        count = len(self.urgent) + len(self.normal) + (self.begun != b"")
        return count < self.max_messages and self.held() + len(item.frame) <= self.max_bytes

    @rule(
        padding=st.integers(0, 60),
        kind=st.sampled_from(["request", "event", "droppable"]),
        session_id=st.sampled_from([None, "s", "t"]),
        urgent=st.booleans(),
    )
    def put(self, padding: int, kind: str, session_id: str | None, urgent: bool) -> None:
        made = call() if kind == "request" else None
        item = Item(
            self.frame(padding),
            kind,
            call=made,
            session_id=session_id,
            droppable=kind == "droppable",
        )
        before = list(self.urgent), list(self.normal)
        dropped: list[Item] = []
        while not self.fits(item):
            victim = next(
                (waiting for waiting in self.urgent + self.normal if waiting.droppable), None
            )
            if victim is None:
                self.urgent, self.normal = before
                if item.droppable:
                    assert self.outbox.put(item, urgent=urgent) == [item]
                else:
                    with pytest.raises(QueueFull):
                        self.outbox.put(item, urgent=urgent)
                return
            dropped.append(victim)
            self.urgent = [waiting for waiting in self.urgent if waiting is not victim]
            self.normal = [waiting for waiting in self.normal if waiting is not victim]
        (self.urgent if urgent else self.normal).append(item)
        assert self.outbox.put(item, urgent=urgent) == dropped

    @rule(data=st.data())
    def write_some(self, data: st.DataObject) -> None:
        piece = bytes(self.outbox.next_write())
        count = data.draw(st.integers(0, len(piece)))
        self.written += piece[:count]
        left: list[Item] = []
        remaining = count
        while remaining:
            if not self.begun:
                item = (self.urgent or self.normal).pop(0)
                left.append(item)
                self.begun = item.frame
            step = min(remaining, len(self.begun))
            self.expected += self.begun[:step]
            self.begun = self.begun[step:]
            remaining -= step
        assert self.outbox.wrote(count) == left
        assert self.written == self.expected

    @rule(session_id=st.sampled_from(["s", "t"]))
    def hasten(self, session_id: str) -> None:
        self.outbox.hasten(session_id)
        moved = [item for item in self.normal if item.session_id == session_id]
        self.urgent += moved
        self.normal = [item for item in self.normal if item not in moved]

    @rule(data=st.data())
    def withdraw(self, data: st.DataObject) -> None:
        waiting = [item.call for item in self.urgent + self.normal if item.call is not None]
        calls = {one for one in waiting if data.draw(st.booleans())} | {call()}
        assert self.outbox.withdraw(calls) == calls & set(waiting)
        self.urgent = [item for item in self.urgent if item.call not in calls]
        self.normal = [item for item in self.normal if item.call not in calls]

    @rule(data=st.data(), padding=st.integers(0, 9))
    def swap(self, data: st.DataObject, padding: int) -> None:
        lanes = [
            lane
            for lane in (self.urgent, self.normal)
            if any(item.call is not None for item in lane)
        ]
        told = Item(self.frame(padding), "event/told", session_id="s")
        if not lanes:
            assert not self.outbox.swap(call(), told)
            return
        lane = data.draw(st.sampled_from(lanes))
        index = data.draw(
            st.sampled_from([index for index, item in enumerate(lane) if item.call is not None])
        )
        victim = lane[index].call
        assert victim is not None
        lane[index] = told
        assert self.outbox.swap(victim, told)

    @rule()
    def clear(self) -> None:
        assert self.outbox.clear() == self.urgent + self.normal
        self.urgent, self.normal, self.begun = [], [], b""

    @invariant()
    def what_is_held(self) -> None:
        if hasattr(self, "outbox"):
            assert self.outbox.size == self.held()
            assert len(self.outbox) == len(self.urgent) + len(self.normal) + (self.begun != b"")
            assert bool(self.outbox) is (self.held() > 0)
            assert bytes(self.outbox.next_write()) == (
                self.begun or b"".join(item.frame for item in self.urgent + self.normal)
            )


TestListModel = ListModel.TestCase
TestListModel.settings = settings(max_examples=150, stateful_step_count=30, deadline=None)


@pytest.mark.parametrize("size", [10, 3 * WRITE_BYTES])
@pytest.mark.parametrize("at_most", [1, 7, 1 << 30])
def test_a_message_whose_bytes_are_shared_is_written_whole(size: int, at_most: int) -> None:
    rest = memoryview(b"r" * size)
    outbox = Outbox()
    for name in (b"one", b"two"):
        outbox.put(Item(name, "hook/stop", rest=rest))
    outbox.put(event(b"after"))
    assert outbox.size == 2 * (3 + size + 2) + 5
    written = drain(outbox, lambda: at_most)
    assert written == b"one" + rest + b"}\ntwo" + rest + b"}\nafter"
