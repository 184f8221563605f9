"""One plugin in memory, asked over the fast path."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio

from sliphook import Outcome, PluginHost, Turn
from sliphook.testing import FakePlugin
from sliphook.transport import reader
from sliphook_sdk.spin_wait import SpinWait


@pytest.fixture(params=["asleep", "awake"], autouse=True)
def how_callers_wait(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether a caller may spin for its answer makes no difference to the outcome."""
    monkeypatch.setattr(SpinWait, "pays", request.param == "awake")
    monkeypatch.setattr(reader, "SPIN_S", 0.005)


async def ask(turn: Turn, note: str = "") -> Outcome:
    call: dict[str, Any] = {
        "call_id": "c",
        "model_call_id": None,
        "tool_name": "shell",
        "origin": "agent",
        "arguments": {"note": note},
    }
    return await turn.hooks.ask("pre_tool_call", turn, **call)


def statuses(*outcomes: Outcome) -> list[str]:
    return [part.status for outcome in outcomes for part in outcome.parts]


def reply(request_id: int | None, result: str = "null") -> bytes:
    return b'{"jsonrpc":"2.0","id":%d,"result":%b}\n' % (request_id or 0, result.encode())


@asynccontextmanager
async def asking(
    plugin: FakePlugin, on_log: Callable[[str, str, str], None] | None = None
) -> AsyncGenerator[Turn]:
    with trio.fail_after(120):
        async with (
            PluginHost([plugin], on_log=on_log) as host,
            host.session() as session,
            session.turn("x") as turn,
        ):
            yield turn
