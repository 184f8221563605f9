"""How a plugin settles a slow request: it answers in time, and soon after a cancel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from sliphook.wire import envelope
from sliphook_sdk.protocol import ErrorCode

from .child import Child
from .finding import CheckFailed, Lapse, Skip
from .samples import message
from .session import Bench

CANCEL_S: Final = 1.0
"""How soon a cancelled request must be answered."""

LONGEST_S: Final = 30.0
"""The longest wait for an answer, even if a subscription or a tool asks for more time."""


async def answer_to(
    child: Child, id: int, timeout_s: float, sent: str, advice: str
) -> envelope.Reply:
    """The reply to a slow request; no reply is no failure if its time exceeds the suite's."""
    try:
        return await child.reply(id, min(timeout_s, LONGEST_S), sent=sent, advice=advice)
    except CheckFailed:
        if timeout_s > LONGEST_S and await child.ended(0) is None:
            why = f"it has {timeout_s:g} s, more than this suite waits"
            raise Skip(f"no answer within {LONGEST_S:g} s; {why}") from None
        raise


async def settled_after_cancel(
    bench: Bench, request: Callable[[int], bytes], what: str, timeout_s: float
) -> str:
    """Send a request and its cancel: the plugin settles it within `CANCEL_S`.

    Raises:
        CheckFailed: no reply came.
        Lapse: it came late, at a second try too.
    """
    sent = f"{what} and its $/cancelRequest"
    cancelled = ErrorCode.REQUEST_CANCELLED.value
    advice = f"read while handlers run; at a cancel stop the work, and answer {cancelled} then"
    how, took_s = "", 0.0
    # Twice, as a machine may be busy for once.
    for _ in range(2):
        child = await bench.pinged()
        id = child.next_id()
        # In one write: after two, a quick plugin could have answered before the cancel came.
        await child.write(request(id) + message("$/cancelRequest", {"id": id}))
        reply = await answer_to(child, id, timeout_s, sent, advice)
        await child.ask("ping", {})
        how = "a result" if reply.error is None else f"the error {reply.error.code}"
        took_s = child.took_s(id)
        if took_s <= CANCEL_S:
            return f"settled with {how} after {1000 * took_s:.1f} ms"
    raise Lapse(sent, f"{how} {took_s:.1f} s after the cancel, at a second try too", advice)
