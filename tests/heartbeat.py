"""How long the loop is held: by the work of its own thread, and by threads that keep the lock.

Measured is CPU time, not time: other programs on a busy machine do not count in it.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass

import trio

LIMIT_MS = 20.0
"""No single stretch of the loop may take more, whatever a plugin, a server or a user's text does."""
INTERRUPT_MS = 2.0
"""`interrupt()` may take so much."""
TICK_S = 0.001


@dataclass
class Held:
    """The longest stretches, in ms of CPU, while some work was measured.

    Attributes:
        own_ms: of the loop's thread in one pass, for the tasks of that work alone. A pass runs each
            task that is ready once; whoever wants to be heard waits until it is over.
        shared_ms: of the loop's thread in one pass, for tasks that are nobody's, such as trio's.
        frozen_ms: of all other threads between two ticks of a task that sleeps 1 ms, where it is
            more than the loop's own: a thread that keeps the interpreter's lock holds the loop.
        interrupt_ms: of `interrupt()`; see `timed_interrupt`.
    """

    own_ms: float = 0.0
    shared_ms: float = 0.0
    frozen_ms: float = 0.0
    interrupt_ms: float = 0.0

    @property
    def longest_ms(self) -> float:
        """The longest of the three that hold the loop."""
        return max(self.own_ms, self.shared_ms, self.frozen_ms)

    def beyond(self, slack: float = 1.0) -> list[str]:
        """What took longer than it may, times `slack`."""
        stretches = {
            "the loop's thread worked": (self.own_ms, LIMIT_MS),
            "the loop's thread worked for nobody's task": (self.shared_ms, LIMIT_MS),
            "other threads worked between two ticks of the loop": (self.frozen_ms, LIMIT_MS),
            "interrupt() worked": (self.interrupt_ms, INTERRUPT_MS),
        }
        return [
            f"{what} for {took:.1f} ms of CPU in one stretch, {limit * slack:g} ms are allowed"
            for what, (took, limit) in stretches.items()
            if took > limit * slack
        ]


_held: ContextVar[Held] = ContextVar("held")
"""Whom a task works for; tasks that it starts inherit it."""
_beat: ContextVar[Heartbeat] = ContextVar("beat")


class Heartbeat(trio.abc.Instrument):
    """Watches the loop that it is opened in; several pieces of work in it are told apart."""

    def __init__(self) -> None:
        self._measured: list[Held] = []
        self._pass: dict[int, tuple[Held | None, float]] = {}
        self._began = time.thread_time()  # this step has begun already

    @contextmanager
    def measure(self) -> Generator[Held]:
        """Measure what this task does in the block, and all tasks that it starts there."""
        held = Held()
        self._measured.append(held)
        try:
            with self.works_for(held):
                yield held
        finally:
            self._measured.remove(held)

    @contextmanager
    def works_for(self, held: Held) -> Generator[None]:
        """What this task does in the block is held against that one."""
        self._charge(_held.get(None))
        token = _held.set(held)
        try:
            yield
        finally:
            self._charge(held)
            _held.reset(token)

    def _charge(self, held: Held | None) -> None:
        now = time.thread_time()
        _, before_s = self._pass.get(id(held), (held, 0.0))
        self._pass[id(held)] = (held, before_s + now - self._began)
        self._began = now

    # -- what trio tells
    # ----------------------------------------------------------------------------------------------

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self._began = time.thread_time()

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        self._charge(task.context.get(_held))

    def before_io_wait(self, timeout: float) -> None:
        for held, took_s in self._pass.values():
            if held is not None:
                held.own_ms = max(held.own_ms, took_s * 1000)
            else:
                for each in self._measured:
                    each.shared_ms = max(each.shared_ms, took_s * 1000)
        self._pass.clear()

    async def tick(self) -> None:
        """Keep the loop awake, and see what other threads did meanwhile."""
        loop, all_threads = time.thread_time(), time.process_time()
        while True:
            await trio.sleep(TICK_S)
            loop_before, loop = loop, time.thread_time()
            all_before, all_threads = all_threads, time.process_time()
            mine = loop - loop_before
            others = all_threads - all_before - mine
            if others > mine:
                for held in self._measured:
                    held.frozen_ms = max(held.frozen_ms, others * 1000)


@asynccontextmanager
async def heartbeat() -> AsyncGenerator[Heartbeat]:
    """Watch this loop as long as the block lasts."""
    beat = Heartbeat()
    _beat.set(beat)
    trio.lowlevel.add_instrument(beat)
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(beat.tick)
            yield beat
            nursery.cancel_scope.cancel()
    finally:
        trio.lowlevel.remove_instrument(beat)


def measured() -> Held:
    """What is measured here."""
    return _held.get()


@contextmanager
def unmeasured() -> Generator[None]:
    """What this task does in the block, and the tasks that it starts there, are not the host's.

    For an agent that itself works for long. Without a heartbeat it does nothing.
    """
    beat = _beat.get(None)
    with beat.works_for(Held()) if beat is not None else nullcontext():
        yield


@contextmanager
def timed_interrupt() -> Generator[None]:
    """Around a call of `interrupt()`: its CPU counts in what is measured here."""
    held, began = _held.get(None), time.thread_time()
    yield
    if held is not None:
        held.interrupt_ms = max(held.interrupt_ms, (time.thread_time() - began) * 1000)
