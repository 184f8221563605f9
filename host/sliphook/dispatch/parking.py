"""Where tasks sleep until a hook or a call is over, and how few of them go on at a time.

One plugin can end hundreds at once: it answers them in one piece, dies, or lets all time out. What
each of the tasks does next may go to fifty plugins; all of them in one pass would hold the loop.
"""

from __future__ import annotations

from collections import OrderedDict
from time import thread_time
from typing import Final

import trio

GO_ON_IN_A_PASS: Final = 16
"""Tasks that are woken in one pass of the loop."""
GOING_ON_S: Final = 0.003
"""For all of them; the next one waits for another pass. Time is the processor's."""


class _Woken:
    """The woken tasks of one loop.

    Attributes:
        due: those that wait for a later pass, the next one first.
        going: so many were rescheduled and have not run yet.
        late: so many have run when the time was over, and run again in the next pass.
        until_s: when the time of this pass is over; None: none of them has run in it.
    """

    __slots__ = ("due", "going", "late", "until_s")

    def __init__(self) -> None:
        self.due: OrderedDict[trio.lowlevel.Task, None] = OrderedDict()
        self.going = self.late = 0
        self.until_s: float | None = None

    def call(self) -> None:
        """Reschedule as many as may go on; if some run now, the last of them calls the next."""
        while self.due and self.going < GO_ON_IN_A_PASS and self.until_s is None:
            task, _ = self.due.popitem(last=False)
            self.going += 1
            trio.lowlevel.reschedule(task)

    def has_time(self) -> bool:
        """A task runs; False if it has to wait for the next pass and ask again."""
        now_s = thread_time()
        if self.until_s is None:
            self.until_s = now_s + GOING_ON_S
        has_time = now_s <= self.until_s
        self.going -= 1
        self.late += not has_time
        if not self.going:
            self.going, self.late, self.until_s = self.late, 0, None
            self.call()
        return has_time


_woken: trio.lowlevel.RunVar[_Woken] = trio.lowlevel.RunVar("sliphook woken")


def _of_this_loop() -> _Woken:
    try:
        return _woken.get()
    except LookupError:
        woken = _Woken()
        _woken.set(woken)
        return woken


async def park(waiters: list[trio.lowlevel.Task]) -> None:
    """Sleep until `wake`; this task is one of `waiters` meanwhile.

    Raises:
        trio.Cancelled: the task was cancelled before it could go on.
    """
    task, woken = trio.lowlevel.current_task(), _of_this_loop()

    def give_up(_: trio.lowlevel.RaiseCancelT) -> trio.lowlevel.Abort:
        if task in woken.due:
            del woken.due[task]
        else:
            waiters.remove(task)
        return trio.lowlevel.Abort.SUCCEEDED

    waiters.append(task)
    await trio.lowlevel.wait_task_rescheduled(give_up)
    while not woken.has_time():
        # shielded: it is counted
        await trio.lowlevel.cancel_shielded_checkpoint()


def wake(waiters: list[trio.lowlevel.Task]) -> None:
    """Have them go on, in their order, behind those that were woken before."""
    woken = _of_this_loop()
    woken.due.update(dict.fromkeys(waiters))
    waiters.clear()
    woken.call()


async def wait_in_line() -> None:
    """Go on behind those that were woken before; raises what `park` does."""
    waiters: list[trio.lowlevel.Task] = []
    trio.lowlevel.current_trio_token().run_sync_soon(wake, waiters)
    await park(waiters)
