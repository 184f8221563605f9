"""Detects a plugin that hangs: an answer is overdue, and a ping brings no message either."""

from __future__ import annotations

from collections.abc import Callable

from sliphook.transport.deadlines import Deadlines, Timer

SUSPECT_S = 5.0
"""If a request is still unanswered so long after its timeout or cancel, the plugin is suspect."""
HANG_S = 10.0
"""If a suspect plugin then sends no message for so long, it hangs."""


class HangWatchdog:
    """Watches one process.

    A plugin that owes no answer is never pinged. Any message ends a suspicion.

    Args:
        deadlines: the host's deadlines.
        busy: returns True if requests are under way whose timeout is not over: no ping then.
        ping: sends the request for a sign of life.
        hangs: called if the plugin hangs.
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
        """Begin to watch: the host has given up a request that it had sent."""
        if not self._watching:
            self._watching = True
            self._deadlines.add(self._owing, SUSPECT_S)

    def heard(self) -> None:
        """End the suspicion: a message came."""
        # every message comes through here, and nearly always nothing is suspected
        if self._watching:
            self.stop()

    def stop(self) -> None:
        """Stop watching."""
        self._watching = False
        self._deadlines.remove(self._owing, SUSPECT_S)
        self._deadlines.remove(self._silent, HANG_S)

    def _suspect(self) -> None:
        if self._busy():
            # the timeouts of these requests will tell, so look again later
            self._deadlines.add(self._owing, SUSPECT_S)
        else:
            self._deadlines.add(self._silent, HANG_S)
            self._ping()

    def _found(self) -> None:
        self._watching = False
        self._hangs()
