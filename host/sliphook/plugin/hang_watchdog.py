"""Detects a plugin that is held by a request which the host has given up.

It *hangs* if an answer is overdue and a ping brings no message either. It is *stuck* if it sends
messages, and what was sent behind the overdue request is not answered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Protocol

import msgspec
import trio

from sliphook.transport.call import Call
from sliphook.transport.deadlines import Deadlines, Timer
from sliphook.wire.decoding import DECODE_ERRORS
from sliphook.wire.envelope import InvalidMessage, Message, Notification, Reply
from sliphook_sdk.protocol import ProgressParams

SUSPECT_S = 5.0
"""If a request is still unanswered so long after its timeout or cancel, the plugin is suspect."""
HANG_S = 10.0
"""If a suspect plugin then sends no message for so long, or a request waits so long, it hangs."""
_PROGRESS: Final = msgspec.json.Decoder(ProgressParams)
_MAX_PROGRESS_BYTES: Final = 4096
"""A longer report is no sign that a request is worked on: it is not looked into."""


class RequestsSent(Protocol):
    """What the watchdog looks at."""

    @property
    def under_way(self) -> Mapping[int, Call]:
        """The requests that have no reply and are within their time, by id."""
        ...

    @property
    def newest_answered(self) -> int:
        """The highest id of a request that was answered in time, pings left out."""
        ...


class HangWatchdog:
    """Watches one process.

    A plugin that owes no answer is never pinged, and any message shows that it does not hang.
    A request waits *behind* one that was given up if it has the higher id. Its method is *open* if
    the plugin has answered, or reported progress on, a request of that method behind it: then it is
    not the overdue one that holds others. A request that is older than the overdue one is an excuse
    while it is under way: a plugin with one thread may still be at it.

    Args:
        deadlines: the host's deadlines.
        requests: those to the plugin.
        ping: sends the request for a sign of life.
        hangs: called with the reason, in words that follow the plugin's name.
    """

    def __init__(
        self,
        deadlines: Deadlines,
        requests: RequestsSent,
        ping: Callable[[], None],
        hangs: Callable[[str], None],
    ) -> None:
        self._deadlines = deadlines
        self._requests = requests
        self._ping = ping
        self._hangs = hangs
        self._owing = Timer(self._suspect)
        self._silent = Timer(self._found_silent)
        self._stuck = Timer(self._look_behind)
        self._stuck_in_s = 0.0
        self._silence_watched = False
        self._pinged_s: float | None = None
        # by method, the newest request that was given up: in the order of ids it is owed longest
        self._owed: dict[str, int] = {}
        self._first = 0
        self._since_s = 0.0
        self._open: set[str] = set()
        self._waits_since_s: float | None = None

    def unanswered(self, call: Call) -> None:
        """The host has given up a request that it had sent: begin to watch, or go on."""
        if call.method == "ping":
            return  # nothing waits for it
        if not self._owed or call.id < self._first:
            self._first = call.id
            self._stop_silence()  # an older request that was an excuse has time of its own
            self._begin()
        elif self._is_behind(call):
            began_s = trio.current_time() - call.so_far_ms() / 1000
            if self._waits_since_s is None or began_s < self._waits_since_s:
                self._waits_since_s = began_s
        self._owed[call.method] = max(call.id, self._owed.get(call.method, 0))
        self._open.discard(call.method)
        if not self._silence_watched:
            self._silence_watched = True
            self._deadlines.add(self._owing, SUSPECT_S)

    def heard(self, message: Message | InvalidMessage) -> None:
        """A message came; it is not yet handled, so its request is still among those under way."""
        # every message comes through here, and nearly always nothing is owed
        if not self._owed:
            return
        self._stop_silence()
        if isinstance(message, Reply) or (isinstance(message, InvalidMessage) and message.is_reply):
            if isinstance(message.id, int):
                self._replied(message.id)
        elif isinstance(message, Notification) and message.method == "$/progress":
            call = self._requests.under_way.get(_id_of_progress(message))
            if call is not None and call.id > self._first:
                self._is_open(call)

    def stop(self) -> None:
        """Stop watching."""
        self._stop_silence()
        self._deadlines.remove(self._stuck, self._stuck_in_s)
        self._owed.clear()
        self._open.clear()
        self._waits_since_s = None

    def _begin(self) -> None:
        """Another request is the oldest that is owed: it has its own time."""
        self._since_s = trio.current_time()
        self._waits_since_s = None
        self._look_in(SUSPECT_S + HANG_S)

    def _stop_silence(self) -> None:
        if self._silence_watched:
            self._silence_watched = False
            self._pinged_s = None
            self._deadlines.remove(self._owing, SUSPECT_S)
            self._deadlines.remove(self._silent, HANG_S)

    def _replied(self, id: int) -> None:
        call = self._requests.under_way.get(id)
        if call is not None and call.method == "ping":
            return  # a reader says that it lives; that says nothing of its handlers
        if call is not None and id > self._first:
            self._is_open(call)
            return
        # an older one is done, or an overdue one at last: the plugin goes on to the next
        if call is None:
            self._owed = {method: owed for method, owed in self._owed.items() if owed != id}
        if not self._owed:
            self.stop()
        elif call is not None or id >= self._first:
            self._first = min(max(self._first, id + 1), *self._owed.values())
            self._begin()

    def _is_open(self, call: Call) -> None:
        self._open.add(call.method)
        if self._owed.get(call.method, call.id) < call.id:
            del self._owed[call.method]
        if not self._owed:
            self.stop()

    def _is_behind(self, call: Call) -> bool:
        return call.id > self._first and call.method != "ping" and call.method not in self._open

    def _is_excused(self) -> bool:
        newest = self._requests.newest_answered
        return any(newest < id < self._first for id in self._requests.under_way)

    def _suspect(self) -> None:
        if self._is_excused():
            # the timeout of the older request will tell, so look again later
            self._deadlines.add(self._owing, SUSPECT_S)
        else:
            self._pinged_s = trio.current_time()
            self._deadlines.add(self._silent, HANG_S)
            self._ping()

    def _found_silent(self) -> None:
        silent_s = trio.current_time() - (self._pinged_s or 0.0)
        self.stop()
        self._hangs(f"hangs: it owes an answer and has given no sign of life for {silent_s:.0f} s")

    def _look_in(self, span_s: float) -> None:
        self._deadlines.remove(self._stuck, self._stuck_in_s)
        self._stuck_in_s = span_s
        self._deadlines.add(self._stuck, span_s)

    def _look_behind(self) -> None:
        if self._is_excused():
            self._look_in(SUSPECT_S)
            return
        behind = [c for c in self._requests.under_way.values() if self._is_behind(c)]
        if not behind:
            self._waits_since_s = None  # no request is held
            self._look_in(SUSPECT_S)
            return
        now_s = trio.current_time()
        waited_s = max(call.so_far_ms(now_s) / 1000 for call in behind)
        if self._waits_since_s is not None:
            waited_s = max(waited_s, now_s - self._waits_since_s)
        if waited_s < HANG_S:
            self._look_in(HANG_S - waited_s)
            return
        if self._pinged_s is not None:
            self._found_silent()
            return
        owed = min(self._owed, key=self._owed.__getitem__)
        overdue_s = now_s - self._since_s
        self.stop()
        self._hangs(
            f"is stuck: its answer to {owed} has been overdue for {overdue_s:.0f} s, and a request"
            f" behind it has waited for {waited_s:.0f} s"
        )


def _id_of_progress(message: Notification) -> int:
    """The id of the request that progress is reported on; 0, which no request has, if none."""
    if len(message.params) > _MAX_PROGRESS_BYTES:
        return 0
    try:
        return _PROGRESS.decode(message.params).id
    except DECODE_ERRORS:  # refused where it is handled
        return 0
