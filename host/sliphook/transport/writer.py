"""The writing end of one plugin's pipe: writes at once if it can, else by a task."""

from __future__ import annotations

from typing import Protocol

import trio

from sliphook_sdk.protocol.limits import WRITE_STALL_S

from . import descriptors
from .deadlines import Deadlines, Timer
from .outbox import WRITE_BYTES, Item, Outbox

DYING_S = 0.2
"""How long a process that has closed a pipe may take to end before that counts as a fault."""


class WriterOwner(Protocol):
    """Owns the connection. None of the methods may raise."""

    def left(self, item: Item) -> None:
        """The first byte of a message has been written."""
        ...

    def lost(self, item: Item) -> None:
        """A droppable message had to go, the queue is full."""
        ...

    def cannot_write(self, why: str) -> None:
        """The plugin does not read any more, so it cannot be worked with."""
        ...


class PipeWriter:
    """Writes messages in order, the urgent before the normal.

    Args:
        descriptor: the pipe, non-blocking; closed by `close`.
        deadlines: the host's deadlines, for writes that do not move.
        owner: is told what was written, lost, or cannot be written.
    """

    # an event goes to many plugins, and what each of them has is far apart in memory
    __slots__ = (
        "_blocked",
        "_broken",
        "_deadlines",
        "_deaf",
        "_descriptor",
        "_flags",
        "_owner",
        "_send",
        "_stall",
        "_task",
        "outbox",
    )

    def __init__(self, descriptor: int, deadlines: Deadlines, owner: WriterOwner) -> None:
        self.outbox = Outbox()
        self._descriptor = descriptor
        self._send, self._flags = descriptors.sender(descriptor)
        self._deadlines = deadlines
        self._owner = owner
        self._task: trio.lowlevel.Task | None = None
        self._blocked = False
        self._broken = False
        self._stall = Timer(
            lambda: owner.cannot_write(f"it has not read for {WRITE_STALL_S:g} s what it was sent")
        )
        self._deaf = Timer(
            lambda: owner.cannot_write("it has closed its standard input and lives on")
        )

    def send(self, item: Item, *, urgent: bool = False, join: bool = False) -> None:
        """Write `item` now if nothing is before it, else queue it.

        Args:
            item: the message.
            urgent: before all that is not. It is only queued: more follows, and then `flush`.
            join: others are likely to follow in this pass of the loop; leave it to the task, which
                writes them together.

        Raises:
            QueueFull: there is no room, and the message may not be dropped.
        """
        at_once = not (self.outbox.size or self._blocked or urgent or join)
        if at_once and self.send_now(item):
            return
        for victim in self.outbox.put(item, urgent=urgent):
            self._owner.lost(victim)
        if at_once:
            self.flush()
        # the task runs after the others of this pass, and joins what they queue
        elif self.outbox.size and not urgent:
            self._wake()

    def send_now(self, item: Item) -> bool:
        """Write `item` at once; False if it cannot begin to leave now: then `send` it."""
        count = self.write(item.frame)
        if count:
            self.wrote(item, count)
        return count > 0

    def write(self, frame: bytes) -> int:
        """Write as much of a message as the pipe takes at once; returns the count of bytes, or 0.

        To note what was written can wait until the plugin is awake. Call `wrote` then, or `send` if
        nothing was.
        """
        if self.outbox.size or self._blocked:
            return 0
        try:
            return self._send(frame, *self._flags)
        except OSError:
            return 0  # full, broken or closed: `flush` finds out which

    def write_first(self, items: list[Item], at_most: int = WRITE_BYTES) -> int:
        """Write `items` and note nothing; returns how many have begun to leave, 0 if others wait.

        In one write, which is most of what an interrupt costs, of so many bytes at most.
        """
        parts: list[bytes | memoryview] = []
        size = 0
        for item in items:
            size += item.size
            if size > at_most:
                break
            parts += item.parts()
        left = self.write(b"".join(parts)) if parts else 0
        begun = 0
        while left:
            item = items[begun]
            begun += 1
            if left < item.size:
                self._begin(item, left)
                break
            left -= item.size
        return begun

    def wrote(self, item: Item, count: int) -> None:
        """So many bytes of `item` have been written by `write`; the rest is the task's."""
        if count < item.size:
            self._begin(item, count)
        self._owner.left(item)

    def _begin(self, item: Item, count: int) -> None:
        # nothing waited before it, so it is now the head, of which `count` bytes have left
        self.outbox.put(item)
        self.outbox.wrote(count)
        self._wake()

    def flush(self, left: int = WRITE_BYTES) -> None:
        """Write what the pipe takes now, so many bytes at most; the rest is the task's."""
        while self.outbox.size and not self._blocked and self._descriptor >= 0:
            # fifty plugins may be sent megabytes each, and read as fast as this writes
            if left <= 0:
                self._wake()
                return
            data = memoryview(self.outbox.next_write())[:left]
            try:
                count = self._send(data, *self._flags)
                left -= count
            except BlockingIOError:
                self._blocked = True
                self._deadlines.add(self._stall, WRITE_STALL_S)
                self._wake()
                return
            except OSError:
                # it may be dying, with answers still in its pipe: leave its exit the time to be
                # noticed first
                self._blocked = True
                self.outbox.clear()
                # once: else each further message would put the verdict off
                if not self._broken:
                    self._broken = True
                    self._deadlines.add(self._deaf, DYING_S)
                return
            for item in self.outbox.wrote(count):
                self._owner.left(item)

    @trio.lowlevel.enable_ki_protection
    async def run(self) -> None:
        """The task: sleeps until something could not be written at once.

        Ends when the pipe is closed.
        """
        while self._descriptor >= 0:
            # a broken pipe, whose outbox is empty, is always writable: to wait for it would spin
            if self._blocked and self.outbox:
                try:
                    await trio.lowlevel.wait_writable(self._descriptor)
                except trio.ClosedResourceError:
                    return
                # room for any byte counts as reading; a write that stalls again gets its time anew
                self._deadlines.remove(self._stall, WRITE_STALL_S)
                self._blocked = False
            self.flush()
            if self.outbox and not self._blocked:
                await trio.lowlevel.checkpoint()
            elif not self.outbox:
                self._task = trio.lowlevel.current_task()
                await trio.lowlevel.wait_task_rescheduled(self._give_up)

    def close(self) -> None:
        """Close the pipe; what waits is lost."""
        self._deadlines.remove(self._stall, WRITE_STALL_S)
        self._deadlines.remove(self._deaf, DYING_S)
        self.outbox.clear()
        if self._descriptor >= 0:
            descriptors.close(self._descriptor)
            self._descriptor = -1
            self._blocked = True  # for good: the number may soon be that of another file

    def _wake(self) -> None:
        if self._task is not None:
            trio.lowlevel.reschedule(self._task)
            self._task = None

    def _give_up(self, _: trio.lowlevel.RaiseCancelT) -> trio.lowlevel.Abort:
        self._task = None
        return trio.lowlevel.Abort.SUCCEEDED
