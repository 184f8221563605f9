"""Requests that wait for a plugin to become ready, while their timeouts run."""

from __future__ import annotations

from typing import Final

import msgspec

from sliphook.transport.call import Call, Params
from sliphook.wire.shared_params import SharedParams
from sliphook_sdk.protocol.limits import QUEUE_BYTES, QUEUE_MESSAGES


class _Numbered(msgspec.Struct, frozen=True):
    """The part of a hook's params that is decoded here."""

    seq: int = 0


# made once, at import: msgspec reads a type at its first use, and not safely in two threads
_NUMBERED: Final = msgspec.json.Decoder(_Numbered)


class PendingRequests:
    """Requests in the order of their arrival, with the same bounds as a plugin's queue."""

    def __init__(self) -> None:
        self._waiting: dict[Call, Params] = {}

    def add(self, call: Call, params: Params) -> None:
        """Let a request wait; it is settled at once with `queue_full` if there is no room."""
        if self._is_full(params):
            # requests that have timed out meanwhile are still held: drop them first
            self._waiting = {
                other: kept for other, kept in self._waiting.items() if other.status is None
            }
        if self._is_full(params):
            call.settle("queue_full", "too many requests wait for the plugin to start")
        else:
            self._waiting[call] = params

    def _is_full(self, params: Params) -> bool:
        return (
            len(self._waiting) >= QUEUE_MESSAGES
            or sum(map(len, self._waiting.values())) + len(params) > QUEUE_BYTES
        )

    def __len__(self) -> int:
        return len(self._waiting)

    def withdraw(self, turn_ids: set[str]) -> None:
        """Cancel the requests of these turns."""
        if self._waiting:  # usually nothing waits, and an interrupt looks at every plugin
            for call in [call for call in self._waiting if call.turn_id in turn_ids]:
                self.cancel(call)

    def cancel(self, call: Call) -> None:
        """Cancel one request; does nothing if it has ended."""
        self._waiting.pop(call, None)
        call.settle("cancelled", "cancelled before it was sent")

    def leave(self) -> list[tuple[Call, Params]]:
        """Remove all requests; returns those that have not ended, with their params."""
        waiting, self._waiting = self._waiting, {}
        return [(call, params) for call, params in waiting.items() if call.status is None]

    def fail(self, why: str) -> None:
        """Settle all requests with `failed_to_start`: the plugin will not become ready."""
        for call, _ in self.leave():
            call.settle("failed_to_start", why)

    def first_of(self, session_id: str) -> tuple[str, int] | None:
        """The method and the `seq` of the session's first waiting request, or None."""
        for call, params in self._waiting.items():
            if call.session_id == session_id and call.status is None:
                whole = params.whole() if isinstance(params, SharedParams) else params
                return call.method, _NUMBERED.decode(whole).seq
        return None
