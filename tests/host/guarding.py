"""A plugin with one gate before tools, and the question that it is asked."""

# An interrupt leaves a turn's block early; these tests know where it does.
# pyright: reportPossiblyUnboundVariable=false

from __future__ import annotations

from typing import Any

from sliphook import Outcome, PluginHost
from tests.programs import Program, Workshop, case_of

QUICK_S = 0.2
"""The timeout of hooks that will not be answered."""


def guarding(
    shop: Workshop,
    on: str,
    *,
    name: str = "probe",
    on_failure: str = "closed",
    timeout_s: float = 5.0,
    **more: Any,
) -> Program:
    """A plugin with one gate before tools, which is answered by `on`."""
    subscription = {"event": "pre_tool_call", "timeout_s": timeout_s, "on_failure": on_failure}
    return shop.program(
        name, subscriptions=[subscription], on=case_of("hook/pre_tool_call", on), **more
    )


async def ask(host: PluginHost) -> Outcome:
    """Fire `pre_tool_call` once in a turn of its own."""
    async with host.session() as session, session.turn("hello") as turn:
        outcome = await session.hooks.ask(
            "pre_tool_call",
            turn,
            call_id="c",
            model_call_id=None,
            tool_name="look",
            origin="agent",
            arguments={"path": "/"},
        )
    return outcome
