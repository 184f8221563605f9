"""What `ctx` says of its call, and what it sends to the host for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from sliphook_sdk import Context
from sliphook_sdk.protocol import (
    InterruptParams,
    Payload,
    ProgressParams,
    ToolCallParams,
    payloads,
)
from sliphook_sdk.protocol.describe import example_of
from sliphook_sdk.runtime.state import Runtime
from sliphook_sdk.wire.call import Call


class Link:
    """Keeps what is sent; the host says yes to everything."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, msgspec.Struct]] = []

    def notify(self, method: str, params: msgspec.Struct) -> None:
        self.sent.append((method, params))

    def check(self, method: str, *, blocks: bool) -> None:
        """Everything can be asked."""

    def ask(self, method: str, params: msgspec.Struct, call: Call | None = None) -> Any:
        self.sent.append((method, params))
        return {"interrupted": True}

    async def ask_async(self, method: str, params: msgspec.Struct) -> Any:
        return self.ask(method, params)


def made(
    call: Call, kind: type[Payload] = payloads.Stop, **fields: Any
) -> tuple[Context[Any], Link]:
    link = Link()
    runtime = Runtime(link, ["interrupt"], {})
    runtime.introduced()
    sample = {**example_of(kind), "session_id": "session", "turn_id": "turn", **fields}
    return Context(runtime, call, msgspec.convert(sample, kind)), link


def a_call() -> Call:
    return Call(7, "hook/stop", msgspec.Raw(b"{}"))


def test_the_deadline_counts_from_when_the_message_was_read() -> None:
    call = a_call()
    call.arrived = 1_000.0  # the call has waited for its turn since then
    assert made(call, timeout_s=5.0)[0].deadline == 1_005.0
    assert made(call, payloads.TurnEnd)[0].deadline is None


def test_a_tool_knows_whose_call_it_is_and_where() -> None:
    ctx = made(
        a_call(),
        ToolCallParams,
        session_key="chat-7",
        platform="telegram",
        user_id="ada",
        cwd="/home/ada/project",
        agent_id="a-2",
        parent_agent_id="a-1",
        agent_depth=1,
        call_id="c-9",
        seq=12,
        meta={"thread": 3},
    )[0]
    assert (ctx.session_id, ctx.session_key, ctx.turn_id) == ("session", "chat-7", "turn")
    assert (ctx.platform, ctx.user_id) == ("telegram", "ada")
    assert ctx.cwd == Path("/home/ada/project")
    assert (ctx.agent_id, ctx.parent_agent_id, ctx.agent_depth) == ("a-2", "a-1", 1)
    assert (ctx.call_id, ctx.seq, ctx.meta) == ("c-9", 12, {"thread": 3})


def test_what_is_about_no_tool_call_has_no_call_id() -> None:
    ctx = made(a_call(), cwd=None)[0]
    assert ctx.call_id is None
    assert ctx.cwd is None


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
