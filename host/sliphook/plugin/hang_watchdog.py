"""Whether a plugin hangs: it owes an answer, and not a byte comes although it was asked for a sign of life."""

from __future__ import annotations

from collections.abc import Callable

from sliphook.transport.deadlines import Deadlines, Timer

SUSPECT_S = 5.0
"""A request that is unanswered so long after its timeout or cancel makes its plugin suspect."""
HANG_S = 10.0
"""A suspect plugin from which no byte comes for so long hangs."""


class HangWatchdog:
    """Watches one process. A plugin that owes nothing is never pinged, and any message clears it.

    Args:
        deadlines: the host's deadlines.
        busy: tells whether requests are under way within their time; then there is no ping.
        ping: sends the sign-of-life request.
        hangs: called when the plugin is found hanging.
    """

    def __init__(
        self,
        deadlines: Deadlines,
        busy: Callable[[], bool],
        ping: Callable[[], None],
        hangs: Callable[[], None],
    ) -> None:
        self._deadlines = deadlines
        self._busy = busy
        self._ping = ping
        self._hangs = hangs
        self._owing = Timer(self._suspect)
        self._silent = Timer(self._found)
        self._watching = False

    def unanswered(self) -> None:
        """A request that the plugin had read was given up by the host."""
        if not self._watching:
            self._watching = True
            self._deadlines.add(self._owing, SUSPECT_S)

    def heard(self) -> None:
        """A message came."""
        if self._watching:
            self.stop()

    def stop(self) -> None:
        """Watch no more."""
        self._watching = False
        self._deadlines.remove(self._owing, SUSPECT_S)
        self._deadlines.remove(self._silent, HANG_S)

    def _suspect(self) -> None:
        if self._busy():
            self._deadlines.add(self._owing, SUSPECT_S)
        else:
            self._deadlines.add(self._silent, HANG_S)
            self._ping()

    def _found(self) -> None:
        self._watching = False
        self._hangs()
