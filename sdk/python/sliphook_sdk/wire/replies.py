"""Replies to the host's requests: one for each, written when its work is over.

After a cancel too: the host takes the reply for the end of the work, so a request whose handler
runs is answered when that comes back. One that has not begun is answered by its cancel.

Endpoint's replies pass through here too; a handler that is called past Endpoint (the fast path, see
`Peer.handle`) is answered by `answer`, `refuse` or a `DeferredReply`, with the same bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sliphook_sdk.errors import RpcError, text_of
from sliphook_sdk.framing import frame
from sliphook_sdk.protocol import ErrorCode

from .encoding import check_limits, to_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from .call import Call

_ABSTAINS: Final = b'{"jsonrpc":"2.0","id":%d,"result":null}'
"""The most frequent reply; it needs no encoder and no check of limits."""

NO_REASON: Final = "no reason given"
"""In place of an empty message, which Endpoint takes for a missing one."""


class Replies:
    """Writes one reply for each request, whichever thread replies first. For any thread.

    Args:
        write: writes bytes to the host, whole and in order.
        log_error: takes a line for the plugin's log.

    Attributes:
        open: the requests that have no reply yet, by their ids. The thread that reads adds to it.
    """

    def __init__(self, write: Callable[[bytes], None], log_error: Callable[[str], None]) -> None:
        self._write = write
        self._log_error = log_error
        self.open: dict[int | str, Call] = {}
        self._going_on: set[int | str] = set()

    def cancel(self, request_id: int | str) -> None:
        """Tell the handler; if it has not begun, reply. Nothing if the request was answered."""
        call = self.open.get(request_id)
        if call is not None:
            call.cancel()
            if not call.begun:
                self.withdraw(call)
            else:
                self._goes_on(request_id)

    def may_begin(self, call: Call) -> bool:
        """True if the handler may run now; False if the request has been cancelled.

        Another thread may be in `cancel`. Each sets its flag before it looks at the other's, so one
        of the two replies, and it is no fault if both try.
        """
        call.begun = True
        if call.cancelled:
            self.withdraw(call)
            return False
        if self._going_on:
            self._say_it_runs(call)
        return True

    def _goes_on(self, request_id: int | str) -> None:
        self._going_on.add(request_id)
        if request_id not in self.open:  # it has just been answered by another thread
            self._going_on.discard(request_id)
            return
        # of each method the newest: so the host sees that the handler holds none of them
        others = [call for call in list(self.open.values()) if call.begun and not call.cancelled]
        for call in {call.method: call for call in others}.values():
            self._say_it_runs(call)

    def _say_it_runs(self, call: Call) -> None:
        """While a handler goes on after its cancel, say of others that they run beside it."""
        if isinstance(call.id, int) and "/" in call.method:  # no ping
            params = {"id": call.id}
            self._write(
                frame(to_json({"jsonrpc": "2.0", "method": "$/progress", "params": params}))
            )

    def withdraw(self, call: Call) -> None:
        """Reply that the request was cancelled, unless it has been answered."""
        self.refuse(call, RpcError(ErrorCode.REQUEST_CANCELLED, ErrorCode.REQUEST_CANCELLED.text))

    def answer(self, call: Call, value: Any) -> None:
        """Reply with a result."""
        if value is None and isinstance(call.id, int):  # most hooks, most of the time
            self._send(call.id, _ABSTAINS % call.id)
        else:
            self.send({"jsonrpc": "2.0", "id": call.id, "result": value})

    def refuse(self, call: Call, error: RpcError) -> None:
        """Reply with an error."""
        self.send({"jsonrpc": "2.0", "id": call.id, "error": _error(error)})

    def send(self, message: dict[str, Any]) -> None:
        """Encode and send a reply; if the host would not accept it, an error that says why."""
        try:
            body = to_json(message)
            call = self.open.get(message["id"])
            check_limits(body, call.method if call is not None and "result" in message else "error")
        except Exception as exc:  # a value's own conversion may raise anything
            what = f"the answer cannot be sent: {text_of(exc)}"
            self._log_error(what)
            error = _error(RpcError(ErrorCode.INTERNAL_ERROR, what))
            body = to_json({"jsonrpc": "2.0", "id": message["id"], "error": error})
        self._send(message["id"], body)

    def _send(self, request_id: int | str, body: bytes) -> None:
        # only the thread that removes the entry replies
        call = self.open.pop(request_id, None)
        if call is not None:
            if self._going_on:
                self._going_on.discard(request_id)
            self._write(frame(body))
            if call.written is not None:
                call.written()


class DeferredReply:
    """Returned by a handler that replies later, with `answer` or `refuse`; from `Peer.defer`."""

    __slots__ = ("_call", "_replies")

    def __init__(self, replies: Replies, call: Call) -> None:
        self._replies = replies
        self._call = call

    def answer(self, value: Any) -> None:
        """Reply with a result."""
        self._replies.answer(self._call, value)

    def refuse(self, error: RpcError) -> None:
        """Reply with an error."""
        self._replies.refuse(self._call, error)


def _error(error: RpcError) -> dict[str, Any]:
    return {"code": int(error.code), "message": error.message or NO_REASON}
