"""One request of the host's to one plugin, settled exactly once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

import msgspec
import trio

from sliphook.wire.envelope import ErrorObject

if TYPE_CHECKING:
    from .connection import Connection
    from .deadlines import Deadlines

CallStatus = Literal[
    "answered",
    "error",
    "timed_out",
    "cancelled",
    "crashed",
    "protocol_error",
    "queue_full",
    "failed_to_start",
]


class Call:
    """One request under way. Whoever made it is told by `on_settled`, once; it must not raise.

    Attributes:
        method: the method.
        session_id: the session it belongs to, or None.
        turn_id: the turn it belongs to, or None.
        call_id: the tool call it carries, or None.
        retell: the params, where an interrupt must not lose what the request says: unwritten, it is
            told as an event instead.
        traceparent: the span that it is the work of, for the envelope; None where there are no
            spans.
        timeout_s: from the moment it was made.
        id: the JSON-RPC id; 0 until the connection has taken it.
        connection: where it went, or None.
        written: its first byte has left.
        status: how it ended; None while it is under way.
        result: the result's JSON where it was answered.
        error: the plugin's error object, where it answered one.
        why: what went wrong, one line for people.
        elapsed_ms: from making to settling.
    """

    __slots__ = (
        "_began_s",
        "_deadlines",
        "call_id",
        "connection",
        "elapsed_ms",
        "error",
        "id",
        "method",
        "on_settled",
        "result",
        "retell",
        "session_id",
        "status",
        "timeout_s",
        "traceparent",
        "turn_id",
        "why",
        "written",
    )

    def __init__(
        self,
        method: str,
        timeout_s: float,
        on_settled: Callable[[Call], None],
        *,
        session_id: str | None = None,
        turn_id: str | None = None,
        call_id: str | None = None,
        retell: msgspec.Raw | None = None,
    ) -> None:
        self.method = method
        self.timeout_s = timeout_s
        self.on_settled = on_settled
        self.session_id = session_id
        self.turn_id = turn_id
        self.call_id = call_id
        self.retell = retell
        self.traceparent: str | None = None
        self.id = 0
        self.connection: Connection | None = None
        self.written = False
        self.status: CallStatus | None = None
        self.result: msgspec.Raw | None = None
        self.error: ErrorObject | None = None
        self.why = ""
        self.elapsed_ms = 0.0
        self._began_s = trio.current_time()
        self._deadlines: Deadlines | None = None

    def start_clock(self, deadlines: Deadlines) -> None:
        """Let the timeout begin; it covers all waiting, also that for a plugin that is not ready."""
        self._deadlines = deadlines
        deadlines.add(self, self.timeout_s, self._began_s)

    def replied(self, result: msgspec.Raw | None, error: ErrorObject | None) -> None:
        """The plugin's reply has come, or the engine has let go of a call that the host has settled (see `Rpc`)."""
        if self.status is None:
            self.status = "error" if result is None else "answered"
            self.result = result
            self.error = error
        self._finish()

    def settle(self, status: CallStatus, why: str) -> None:
        """End a call that no connection has; does nothing if it has ended."""
        if self.status is None:
            self.status = status
            self.why = why
            self._finish()

    def expired(self, late_s: float) -> None:
        """The timeout is over (see `Deadlines`)."""
        if self.connection is not None:
            self.connection.expire(self, late_s)
        else:
            self.settle(
                "timed_out", f"no answer within {self.timeout_s:g} s: the plugin is not ready"
            )

    def so_far_ms(self, now_s: float | None = None) -> float:
        """How long it has been under way; `now_s` is `trio.current_time()`, where the caller has just asked for it."""
        return ((trio.current_time() if now_s is None else now_s) - self._began_s) * 1000

    def _finish(self) -> None:
        if self._deadlines is not None:
            self._deadlines.remove(self, self.timeout_s)
        self.elapsed_ms = (trio.current_time() - self._began_s) * 1000
        on_settled, self.on_settled = (
            self.on_settled,
            _nobody,
        )  # whoever made it usually holds it: no cycle is left for the collector
        on_settled(self)


def _nobody(_: Call) -> None:
    """It has been told."""
