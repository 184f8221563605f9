"""What `ctx` says of its call, and what it sends to the host for it."""

from __future__ import annotations

from typing import Any

import msgspec

from sliphook_sdk import Context
from sliphook_sdk.protocol import InterruptParams, ProgressParams
from sliphook_sdk.runtime.state import Runtime
from sliphook_sdk.wire.call import Call


class Link:
    """Keeps what is sent; the host says yes to everything."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, msgspec.Struct]] = []

    def notify(self, method: str, params: msgspec.Struct) -> None:
        self.sent.append((method, params))

    def ask(self, method: str, params: msgspec.Struct) -> Any:
        self.sent.append((method, params))
        return {"interrupted": True}

    async def ask_async(self, method: str, params: msgspec.Struct) -> Any:
        return self.ask(method, params)


def made(call: Call, timeout_s: float | None = 5.0) -> tuple[Context, Link]:
    link = Link()
    runtime = Runtime(link, ["interrupt"], {})
    return Context(runtime, call, "session", "turn", timeout_s), link


def a_call() -> Call:
    return Call(7, "hook/stop", msgspec.Raw(b"{}"))


def test_the_deadline_counts_from_when_the_message_was_read() -> None:
    call = a_call()
    call.arrived = 1_000.0  # the call has waited for its turn since then
    assert made(call)[0].deadline == 1_005.0
    assert made(call, None)[0].deadline is None


def test_progress_of_a_cancelled_call_is_not_sent() -> None:
    call = a_call()
    ctx, link = made(call)
    ctx.progress("half", 0.5)
    call.cancel()
    ctx.progress("more", 0.7)
    assert link.sent == [("$/progress", ProgressParams(id=7, message="half", fraction=0.5))]


def test_an_interrupt_names_the_turn_so_that_it_stops_no_other() -> None:
    ctx, link = made(a_call())
    assert ctx.interrupt("enough") is True
    assert link.sent == [
        (
            "host/interrupt",
            InterruptParams(session_id="session", turn_id="turn", reason="enough"),
        )
    ]
