"""Whether one who waits for the other side's next message stays awake for it.

A processor that has nothing to do falls asleep, and to wake it again takes longer than most answers
do; its caches are cold then, so everything after that is slow too. So the host, if a plugin answers
at once, looks for the answer at every pass of its event loop, in between the work of other tasks,
instead of letting the loop sleep. A plugin does the same after its answer, if the next request came
at once. Either does so for a moment at most, and only if that has paid lately: most hooks that come
seconds apart, plugins that think for longer and machines with a single processor never get there.
What is asked and what is waited for are counted apart: a slow tool says nothing of a hook.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from time import perf_counter
from typing import Final, TypeVar

_Found = TypeVar("_Found")

SPIN_S: Final = 0.0005
"""How long the host stays awake for an answer at most.

A Python plugin on a sleepy virtual machine answers in half of it; what it costs is never more.
"""

TOOL_SPIN_S: Final = 0.003
"""How long the host stays awake for the result of a tool at most.

A tool of an MCP server takes half of it on such a machine, by way of the bridge; if the host sleeps
meanwhile it takes two thirds longer.
"""

PLUGIN_SPIN_S: Final = 0.0002
"""How long a plugin stays awake for the next request at most.

A host that has one at hand sends it in half of it. If several plugins are asked together, each
waits longer for the next, and sleeps: the others need the processors.
"""

QUICK_ANSWERS: Final = 8
"""After staying awake in vain: so many quick messages until it is tried again.

So at most one wait in nine of those that are counted together costs `spin_s` for nothing.
"""


class SpinWait:
    """Counts the waits for one other side.

    Args:
        spin_s: how long one may stay awake, also an attribute.
        processors: how many this process may use; the other side must run while this one is awake.
    """

    __slots__ = ("_possible", "_wanted", "spin_s")

    def __init__(self, spin_s: float, processors: int) -> None:
        self.spin_s = spin_s
        self._possible = processors > 1
        # nothing is known of the other side yet: one quick message first
        self._wanted = 1

    @property
    def pays(self) -> bool:
        """The next message is worth staying awake for."""
        return self._possible and not self._wanted

    def took(self, seconds: float) -> None:
        """A message has come, or is not waited for any more, after so long."""
        if seconds > self.spin_s:
            # only a spin in vain is costly: after a sleep one quick message is enough
            self._wanted = QUICK_ANSWERS if self.pays else max(self._wanted, 1)
        elif self._wanted:
            self._wanted -= 1


def stay_awake(look: Callable[[], _Found], within_s: float) -> _Found:
    """What `look` finds as soon as it finds something, or nothing after so long."""
    until = perf_counter() + within_s
    found = look()
    while not found and perf_counter() < until:
        os.sched_yield()  # to who needs the processor: another plugin, or the host
        found = look()
    return found


def processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        with suppress(OSError):  # a sandbox may forbid to ask
            return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
