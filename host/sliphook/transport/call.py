"""One request of the host's to one plugin, settled exactly once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol, TypeAlias

import msgspec
import trio

from sliphook.wire.envelope import ErrorObject
from sliphook.wire.shared_params import SharedParams

from .deadlines import Deadlines

Params: TypeAlias = msgspec.Raw | SharedParams
"""The params of a request, in one piece, or with a part that other requests share."""

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

CallEnd = Literal["stopped", "ok", "failed", "unknown", "killed"]
"""How the work of a request ended that its plugin was told to stop; `killed`: with its process."""


class Carrier(Protocol):
    """What a call needs of the connection that carries it."""

    def expire(self, call: Call, late_s: float) -> None:
        """End `call`, whose timeout passed `late_s` ago, unless its reply can be read now."""
        ...

    def cancel(self, call: Call) -> None:
        """Withdraw `call` and settle it now."""
        ...

    async def read_for(self, call: Call) -> None:
        """Read the plugin's pipe until `call` is settled; may return before if another task reads.

        What settles the call without a message must call `nudge`.
        """
        ...

    def nudge(self) -> None:
        """Wake the task that waits for the plugin's pipe: it decides anew whether to go on."""
        ...


class Call(msgspec.Struct, eq=False):
    """One request under way. Its maker is told through `on_settled`, once; that must not raise.

    Attributes:
        method: the method.
        session_id: the session it belongs to, or None.
        turn_id: the turn it belongs to, or None.
        call_id: the tool call it carries, or None.
        name: the tool or command it calls, or None.
        retell: the params, if an interrupt must not lose what the request says: if the request is
            still unwritten then, the plugin gets them as an event instead.
        traceparent: the span that caused the request, for the envelope; None without spans.
        timeout_s: counts from the moment the call was made.
        id: the JSON-RPC id; 0 until a connection has taken the call.
        connection: the connection that carries it, or None.
        written: its first byte has been written.
        goes_on: the plugin was told to stop it and has not replied yet: it may still act.
        on_text: takes a text that the plugin sends by `$/progress`, and returns False if that is
            too much; None: it may send none. Must not raise.
        on_end: called when that is over, with how it ended and how many seconds after the cancel;
            must not raise.
        status: how it ended; None while it is under way.
        result: the result's JSON if it was answered.
        error: the plugin's error object, if the plugin answered with one.
        why: what went wrong, one line for people.
        elapsed_ms: from making to settling.
    """

    method: str
    timeout_s: float
    on_settled: Callable[[Call], None]
    session_id: str | None = None
    turn_id: str | None = None
    call_id: str | None = None
    name: str | None = None
    retell: Params | None = None
    traceparent: str | None = None
    id: int = 0
    connection: Carrier | None = None
    written: bool = False
    goes_on: bool = False
    on_end: Callable[[CallEnd, float], None] | None = None
    on_text: Callable[[str], bool] | None = None
    status: CallStatus | None = None
    result: msgspec.Raw | None = None
    error: ErrorObject | None = None
    why: str = ""
    elapsed_ms: float = 0.0
    _deadlines: Deadlines | None = None
    _began_s: float = msgspec.field(default_factory=trio.current_time)

    def start_clock(self, deadlines: Deadlines) -> None:
        """Start the timeout; it also covers the wait for a plugin that is not ready yet."""
        self._deadlines = deadlines
        # from the making of the call: what held the loop since then uses up the same time
        deadlines.add(self, self.timeout_s, self._began_s)

    def replied(self, result: msgspec.Raw | None, error: ErrorObject | None) -> None:
        """Take the plugin's reply, or the end of a call that the host has settled (see `Rpc`)."""
        # the host's own verdict stands, whatever the plugin says later
        if self.status is None:
            self.status = "error" if result is None else "answered"
            self.result = result
            self.error = error
        self._finish()

    def settle(self, status: CallStatus, why: str) -> None:
        """End a call that no connection carries; does nothing if it has ended."""
        if self.status is None:
            self.status = status
            self.why = why
            self._finish()

    def expired(self, late_s: float) -> None:
        """End the call: its timeout is over (see `Deadlines`)."""
        if self.connection is not None:
            self.connection.expire(self, late_s)
        else:
            self.settle("timed_out", f"{self.unanswered()}: the plugin is not ready")

    def unanswered(self) -> str:
        """That it has no answer; what is left of a hook's time may be microseconds."""
        return f"no answer within {max(self.timeout_s, 0.001):.4g} s"

    def so_far_ms(self, now_s: float | None = None) -> float:
        """Milliseconds since it was made; `now_s` is `trio.current_time()` if the caller has it."""
        return ((trio.current_time() if now_s is None else now_s) - self._began_s) * 1000

    def _finish(self) -> None:
        if self._deadlines is not None:
            # else the queue would keep the call, and all it refers to, until the timeout
            self._deadlines.remove(self, self.timeout_s)
        self.on_text = None
        self.retell = None  # megabytes, and the recorder remembers a thousand ended calls
        self.elapsed_ms = (trio.current_time() - self._began_s) * 1000
        # The maker usually holds the call, so the call must not go on holding the maker: without
        # that cycle a hook leaves nothing to the garbage collector.
        on_settled, self.on_settled = self.on_settled, _told
        on_settled(self)


def _told(_: Call) -> None:
    """Stand in for an `on_settled` that has been called."""
