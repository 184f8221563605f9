"""Requests whose work may go on: the plugin was told to stop, and has not replied yet."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import msgspec
import trio

from sliphook.wire.decoding import DECODE_ERRORS
from sliphook.wire.envelope import Reply
from sliphook_sdk.protocol import ErrorCode

from .call import Call, CallEnd
from .deadlines import Deadlines, Timer
from .rate_limit import RateLimit
from .transport_recorder import TransportRecorder

STILL_RUNS_S: Final = 0.5
"""What has not replied so long after it was told to stop is reported; the SDKs have this number."""
MAX_UNFINISHED: Final = 256
"""Requests kept for each process: all of them are reported in one pass when it ends."""
_MAX_LINES: Final = 10
_LINES_SPAN_S: Final = 10.0
"""Lines for the user about one process: a flood of them would hide the others."""
_MAX_NAMES: Final = 5
_KINDS: Final = {"tool/call": "the tool ", "command/run": "the command /"}
_HOW: Final = {
    "ok": "it succeeded, so its work is done",
    "failed": "it failed",
    "unknown": "whether it succeeded is not known",
}
_HOW_SOON: Final = {
    "ok": "returned a result",
    "failed": "returned an error",
    "unknown": "returned something that cannot be read",
}
"""How it ended within `STILL_RUNS_S`."""


class _Result(msgspec.Struct, frozen=True):
    is_error: bool = False


# made once, at import: msgspec reads a type at its first use, and not safely in two threads
_RESULT: Final = msgspec.json.Decoder(_Result | str | None)


class ToldToStop:
    """One request: when the plugin was told to stop, and whether the user was told that it runs."""

    __slots__ = ("at_s", "call", "method", "said")

    def __init__(self, call: Call, at_s: float) -> None:
        self.call = call
        self.method = call.method
        self.at_s = at_s
        self.said = False


class Unfinished:
    """The requests of one process that the host gave up, until their replies or its end.

    Args:
        deadlines: the host's deadlines.
        say: takes a line for the user, in words that follow the plugin's name.
        recorder: records the messages, or None.

    Attributes:
        told: the requests by id, in the order in which the plugin was told.
    """

    def __init__(
        self, deadlines: Deadlines, say: Callable[[str], None], recorder: TransportRecorder | None
    ) -> None:
        self._deadlines = deadlines
        self._say = say
        self._recorder = recorder
        self.told: dict[int, ToldToStop] = {}
        self._timer = Timer(self._look)
        self._watching = False
        self._lines = RateLimit(_MAX_LINES, _LINES_SPAN_S)

    def add(self, call: Call) -> None:
        """The plugin has been told to stop a request that it may have read."""
        if len(self.told) >= MAX_UNFINISHED:
            # a dict keeps the order of insertion: the first key is the oldest
            del self.told[next(iter(self.told))]
        self.told[call.id] = ToldToStop(call, trio.current_time())
        call.goes_on = True
        if not self._watching:
            self._watch()

    def replied(self, reply: Reply, data: bytes) -> None:
        """A late reply: the work is over."""
        over = self._end(reply.id, _end_by(reply, self.told))
        if self._recorder is not None:
            self._recorder.late(data, reply, over)

    def unreadable(self, request_id: int | str | None) -> bool:
        """A late reply that cannot be read: the work is over all the same; False if it is none."""
        return self._end(request_id, "unknown") is not None

    def close(self) -> None:
        """The process ends, and with it what still ran."""
        self._deadlines.remove(self._timer, STILL_RUNS_S)
        shown = [told.call for told in self.told.values() if told.said or told.call.name]
        if shown:
            # a line of its own: it may end in order, or for a reason that says nothing of these
            self._say(f"ended while {_names(shown)} still ran: killed; the work may be half done")
        for request_id in list(self.told):
            over = self._end(request_id, "killed", say=False)
            if over is not None and self._recorder is not None:
                self._recorder.killed(*over)

    def _watch(self) -> None:
        self._watching = True
        self._deadlines.add(self._timer, STILL_RUNS_S)

    def _look(self) -> None:
        """Report what has not ended in time; one line for all."""
        self._watching = False
        now_s = trio.current_time()
        new = [told for told in self.told.values() if not told.said and _is_work(told.call)]
        # a margin: the clock may be read a little before the deadline
        due = [told for told in new if now_s - told.at_s > STILL_RUNS_S - 0.01]
        for told in due:
            told.said = True
        if due:
            after_s = now_s - due[0].at_s
            names = _names([told.call for told in due])
            self._show(f"was told to stop {names} {after_s:.1f} s ago; still running")
        if len(due) < len(new):
            self._watch()

    def _end(
        self, request_id: int | str | None, end: CallEnd, *, say: bool = True
    ) -> tuple[Call, str] | None:
        told = self.told.pop(request_id, None) if isinstance(request_id, int) else None
        if told is None:
            return None
        call, late_s = told.call, trio.current_time() - told.at_s
        call.goes_on = False
        words = words_of_end(end, late_s)
        if say and told.said:
            self._show(f"went on with {_names([call])}: {words}")
        elif say and call.name is not None and end != "stopped":
            # it did stop in time, but what is shown as interrupted may have been done
            what = f"{_HOW_SOON[end]} for {_names([call])}"
            self._show(f"{what} {_after(late_s)} after it was told to stop")
        if call.on_end is not None:
            call.on_end(end, late_s)
        return call, words

    def _show(self, line: str) -> None:
        now_s = trio.current_time()
        if self._lines.allows(now_s):
            left_out = self._lines.take_left_out("lines about work that goes on")
            if left_out is not None:
                self._say(f"goes on with more: {left_out}")
            self._say(line)


def words_of_end(end: CallEnd, late_s: float) -> str:
    """What came of a request after its plugin was told to stop it."""
    if end == "killed":
        return f"killed {_after(late_s)} after it was told to stop; its work may be half done"
    if end == "stopped":
        return f"stopped {_after(late_s)} after it was told to"
    return f"ended {_after(late_s)} after it was told to stop; {_HOW[end]}"


def _after(late_s: float) -> str:
    return f"{late_s:.1f} s" if late_s >= 1 else f"{late_s * 1000:.0f} ms"


def _end_by(reply: Reply, told: dict[int, ToldToStop]) -> CallEnd:
    if reply.error is not None:
        return "stopped" if reply.error.code == int(ErrorCode.REQUEST_CANCELLED) else "failed"
    mine = told.get(reply.id) if isinstance(reply.id, int) else None
    if mine is None or mine.call.method != "tool/call" or reply.result is None:
        return "ok"
    try:
        result = _RESULT.decode(reply.result)
    except DECODE_ERRORS:
        return "unknown"
    return "failed" if isinstance(result, _Result) and result.is_error else "ok"


def _is_work(call: Call) -> bool:
    """A handler of the author's, and no request of the protocol's own, such as a ping."""
    return call.name is not None or call.method.startswith("hook/")


def _names(calls: Iterable[Call]) -> str:
    names = list(dict.fromkeys(map(_name, calls)))
    more = f" and {len(names) - _MAX_NAMES:,} more" if len(names) > _MAX_NAMES else ""
    return ", ".join(names[:_MAX_NAMES]) + more


def _name(call: Call) -> str:
    kind = _KINDS.get(call.method)
    return f"{kind}{call.name}" if kind else f"its handler of {call.method.removeprefix('hook/')}"
