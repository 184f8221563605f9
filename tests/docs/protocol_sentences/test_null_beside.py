"""What stands beside a result or an error, and errors in place of a manifest."""

from __future__ import annotations

import pytest

from .says import says
from .wire import NO_ARGUMENTS, Refuses, Wire, host_of, own, turn_of

DENIES = b'{"jsonrpc":"2.0","id":@ID@,"result":{"decision":"deny","reason":"no"},"error":null}\n'
FAILS = b'{"jsonrpc":"2.0","id":@ID@,"result":null,"error":{"code":-32603,"message":"it broke"}}\n'


@says("Beside an `error`, a `result` of null is absent, and beside a `result` an `error` of null.")
@pytest.mark.parametrize(("reply", "why"), [(DENIES, "probe: no"), (FAILS, "it broke (-32603)")])
async def test_null_beside_the_other_one_is_absent(reply: bytes, why: str) -> None:
    guard = Wire(hears=["pre_tool_call"], answers={"hook/pre_tool_call": reply})
    async with turn_of(guard) as (turn, _):
        outcome = await turn.call_tool("shell", NO_ARGUMENTS, run=own)
    assert outcome.status == "denied"
    assert why in outcome.text()


@says("The user is shown the message of this and of any other error:")
@pytest.mark.parametrize("code", [-32602, -32603])
async def test_an_error_in_place_of_the_manifest_is_shown(code: int) -> None:
    plugin = Wire(answers={"initialize": Refuses("the licence has expired", code)})
    async with host_of(plugin) as (_, seen):
        pass
    assert [line for line in seen.problems if "the licence has expired" in line] != []
