"""What is begun while its session ends comes to an end, too."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
import trio

from sliphook import HostError, PluginHost
from sliphook.adapters.attached.calls import Calls
from sliphook.adapters.attached.held import hold
from sliphook.adapters.dialects.told import ToolAsked
from sliphook.testing import FakePlugin
from tests.programs import WAIT_S


@asynccontextmanager
async def block() -> AsyncGenerator[None]:
    await trio.lowlevel.checkpoint()
    yield


async def test_a_block_that_is_not_entered_any_more() -> None:
    async with trio.open_nursery() as holding:
        holding.cancel_scope.cancel()
        # the nursery is cancelled, and this task is not
        with trio.fail_after(WAIT_S, shield=True), pytest.raises(HostError, match="is over"):
            await hold(holding, block())


async def test_a_call_that_is_not_begun_any_more() -> None:
    call = ToolAsked(
        event="PreToolUse",
        session_id="s",
        tool_name="Bash",
        tool_kind="shell",
        origin="agent",
        arguments={},
    )
    guard = FakePlugin("guard", hooks={"pre_tool_call": None})
    async with (
        PluginHost([guard]) as host,
        host.session() as session,
        session.turn("") as turn,
        trio.open_nursery() as holding,
    ):
        holding.cancel_scope.cancel()
        with trio.fail_after(WAIT_S, shield=True):
            answer = await Calls(holding).begin(call, turn)
            assert answer.denied == "sliphook: the session has ended"
