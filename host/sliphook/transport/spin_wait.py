"""Whether a caller that waits for one plugin's answer stays awake for it.

A processor that has nothing to do falls asleep, and to wake it again takes longer than most answers
do; its caches are cold then, so everything after that is slow too. So a caller whose plugin answers
at once looks for the answer at every pass of the event loop, in between the work of other tasks,
instead of letting the loop sleep. It does so for `SPIN_S` at most, and only if that has paid
lately: most hooks that come seconds apart, plugins that think for longer and hosts with a single
processor never get there.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Final

SPIN_S: Final = 0.0005
"""How long a caller stays awake at most.

A Python plugin on a sleepy virtual machine answers in half of it; what it costs is never more.
"""

QUICK_ANSWERS: Final = 8
"""After staying awake in vain: so many quick answers until it is tried again.

So at most one hook in nine costs `SPIN_S` for nothing.
"""


class SpinWait:
    """Counts one plugin's answers.

    Args:
        processors: how many this process may use; the plugin must run while the host is awake.
    """

    __slots__ = ("_possible", "_wanted")

    def __init__(self, processors: int) -> None:
        self._possible = processors > 1
        # nothing is known of this plugin yet: one quick answer first
        self._wanted = 1

    @property
    def pays(self) -> bool:
        """The next answer is worth staying awake for."""
        return self._possible and not self._wanted

    def took(self, seconds: float) -> None:
        """An answer has come, or is not waited for any more, after so long."""
        if seconds > SPIN_S:
            # only a spin in vain is costly: after a sleep one quick answer is enough
            self._wanted = QUICK_ANSWERS if self.pays else max(self._wanted, 1)
        elif self._wanted:
            self._wanted -= 1


def processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        with suppress(OSError):  # a sandbox may forbid to ask
            return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
