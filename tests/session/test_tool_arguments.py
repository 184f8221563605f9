"""What a guard is asked about is what the tool gets."""

from __future__ import annotations

import json
from typing import Any

import pytest
import trio.testing

from sliphook import ApprovalRequest, PluginHost
from sliphook.testing import FakePlugin


def deep(levels: int) -> object:
    value: object = 0
    for _ in range(levels):
        value = [value]
    return value


class Payments:
    """A tool of the agent's, and a guard that is asked before it runs."""

    def __init__(self) -> None:
        self.ran: list[dict[str, Any]] = []
        self.guard = FakePlugin("guard", hooks={"pre_tool_call": None})

    async def pay(self, arguments: dict[str, Any]) -> str:
        self.ran.append(arguments)
        return "paid"

    async def call(self, arguments: dict[str, Any]) -> str:
        said = ""
        async with (
            PluginHost([self.guard]) as host,
            host.session() as session,
            session.turn("go") as turn,
        ):
            said = (await turn.call_tool("pay", arguments, run=self.pay)).text()
        return said


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (json.loads('{"amount": NaN}'), "$.amount is nan, which JSON does not have"),
        (json.loads('{"limit": [1e400]}'), "$.limit[0] is inf, which JSON does not have"),
        ({"to": b"x"}, "$.to is a bytes, which JSON does not have"),
        ({"to": {1: "x"}}, "$.to has the key 1, an int, not a str"),
    ],
)
async def test_arguments_that_json_cannot_carry_are_an_error_before_anyone_is_asked(
    arguments: dict[str, Any], why: str
) -> None:
    payments = Payments()
    assert await payments.call(arguments) == f"the arguments of pay are no JSON: {why}"
    assert payments.ran == []
    assert payments.guard.payloads("pre_tool_call") == []


async def test_the_guard_and_the_tool_get_one_value() -> None:
    payments = Payments()
    given = {"amounts": (1, 2.0), "to": "half \ud83d"}
    assert await payments.call(given) == "paid"
    (asked,) = payments.guard.payloads("pre_tool_call")
    assert asked.arguments == payments.ran[0] == {"amounts": [1, 2.0], "to": "half \ufffd"}


@pytest.mark.parametrize(
    ("name", "arguments"), [("pay", {"to": b"x"}), ("pay", {"to": 1}), ("unknown", {})]
)
async def test_a_call_that_fails_early_lets_other_tasks_run(
    name: str, arguments: dict[str, Any]
) -> None:
    payments = Payments()
    schema = {"properties": {"to": {"type": "string"}}}
    async with PluginHost([]) as host, host.session() as session, session.turn("go") as turn:
        with trio.testing.assert_checkpoints():
            await turn.call_tool(
                name,
                arguments,
                run=payments.pay if name == "pay" else None,
                input_schema=schema if name == "pay" else None,
            )
    assert payments.ran == []


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"rows": [[0]] * 10_000}, "no JSON: $ has more than 20,000 values"),
        ({"rows": deep(800)}, "no JSON: $ is nested deeper than 128 levels"),
        ({"text": "x" * 4_194_304}, "no JSON: $ has 4,194,315 bytes, over 4,194,304"),
        (["x"], "no object"),
    ],
)
async def test_arguments_that_no_plugin_can_be_told_are_an_error_before_anyone_is_asked(
    arguments: Any, why: str
) -> None:
    payments = Payments()
    assert await payments.call(arguments) == f"the arguments of pay are {why}"
    assert payments.ran == []
    assert payments.guard.payloads("pre_tool_call") == []


async def test_what_a_tool_or_an_approver_does_to_its_arguments_is_not_told_as_what_it_got() -> (
    None
):
    ear = FakePlugin("ear", hooks={"pre_tool_call": {"decision": "ask"}}, hears=["post_tool_call"])
    seen: list[object] = []

    async def approve(request: ApprovalRequest) -> bool:
        request.arguments["command"] = "rm"
        return True

    async def run(arguments: dict[str, Any]) -> None:
        seen.append(arguments.pop("command"))
        arguments["to"].append("more")

    async with (
        PluginHost([ear], approver=approve) as host,
        host.session() as session,
        session.turn("go") as turn,
    ):
        await turn.call_tool("shell", {"command": "ls", "to": []}, run=run)
    assert seen == ["ls"]
    (told,) = ear.payloads("post_tool_call")
    assert told.arguments == {"command": "ls", "to": []}
