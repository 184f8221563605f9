"""A plugin that hangs in the first phase does not take away that the others are asked."""

from __future__ import annotations

from typing import Any

import pytest
import trio
from trio.testing import MockClock

from sliphook import PluginHost
from sliphook.dispatch.policy import Ask
from sliphook.session.results import ToolOutcome
from sliphook.testing import HANGS, After, FakePlugin

from .fires import payload, subscriber

ALONE: frozenset[Any] = frozenset()


def ask(*before: Any, timeout_s: float = 5.0) -> Ask:
    one = subscriber("one", {"replaces": True, "timeout_s": timeout_s})
    return Ask(one, one.routes[0], payload("pre_tool_call"), frozenset(before))


@pytest.mark.parametrize(
    ("what", "left_s", "seconds"),
    [
        (ask(), 5.0, 5.0),
        (ask(), 2.0, 2.0),
        (ask(timeout_s=1.0), 5.0, 1.0),
        # a quarter of the whole is kept for the second phase
        (ask("others"), 5.0, 3.75),
        (ask("others"), 1.25, 0.0),
        (ask("others", timeout_s=1.0), 5.0, 1.0),
        # a quarter of the rest is left to the next replacing plugin
        (ask("replacing"), 4.0, 3.0),
        (ask("replacing", "others"), 5.0, 2.8125),
    ],
)
def test_how_long_one_may_take(what: Ask, left_s: float, seconds: float) -> None:
    assert what.timeout_s(left_s, budget_s=5.0) == seconds


def plugin(name: str, answer: Any, **subscription: Any) -> FakePlugin:
    return FakePlugin(
        name,
        hooks={"pre_tool_call": answer},
        subscriptions=[{"event": "pre_tool_call", "on_failure": "open", **subscription}],
    )


async def called(*plugins: FakePlugin) -> tuple[ToolOutcome, list[str], float, list[str]]:
    """The outcome of a call; whether the tool ran; the time; what the user was told."""
    ran: list[str] = []
    told: list[str] = []

    async def run(_: dict[str, Any]) -> str:
        ran.append("ran")
        return "ran"

    async with (
        PluginHost(plugins, on_problem=lambda _, why: told.append(why)) as host,
        host.session() as session,
        session.turn("x") as turn,
    ):
        began_s = trio.current_time()
        outcome = await turn.call_tool("shell", {}, run=run)
        return outcome, ran, round(trio.current_time() - began_s, 6), told
    raise AssertionError("there is no interrupt here")


NO = {"decision": "deny", "reason": "no"}


async def test_an_open_guard_is_asked_behind_one_that_hangs(autojump_clock: MockClock) -> None:
    outcome, ran, took_s, told = await called(
        plugin("hangs", HANGS, replaces=True, timeout_s=2), plugin("guard", NO, timeout_s=2)
    )
    assert (outcome.status, ran, took_s) == ("denied", [], 1.5)
    assert [(reason.plugin, reason.text) for reason in outcome.denied_by] == [("guard", "no")]
    assert len(told) == 1
    assert told[0].startswith("hangs did not answer pre_tool_call: ")


async def test_a_guard_that_replaces_is_asked_behind_one_that_hangs(
    autojump_clock: MockClock,
) -> None:
    outcome, ran, _, _ = await called(
        plugin("hangs", HANGS, replaces=True, timeout_s=2),
        plugin("guard", NO, replaces=True, timeout_s=2),
        plugin("last", None, timeout_s=2),
    )
    assert (outcome.status, ran) == ("denied", [])
    assert [reason.plugin for reason in outcome.denied_by] == ["guard"]


async def test_a_slow_one_alone_has_all_the_time(autojump_clock: MockClock) -> None:
    changed = {"replace": {"arguments": {"a": 1}}}
    outcome, ran, took_s, told = await called(
        plugin("slow", After(1.9, changed), replaces=True, timeout_s=2),
        # asked about other tools alone
        plugin("guard", NO, timeout_s=2, match={"tool_name": "mail"}),
        FakePlugin("ear", hears=["pre_tool_call"]),
    )
    assert (outcome.status, ran, took_s, told) == ("ok", ["ran"], 1.9, [])


async def test_a_guard_has_its_time_before_another_attempt_too(autojump_clock: MockClock) -> None:
    """Those that asked for it have less, and one of them replaces something."""
    hears = {"event": "pre_llm_call", "replaces": True, "attempts": True, "timeout_s": 0.5}
    mender = FakePlugin(
        "mender", hooks={"pre_llm_call": {"replace": {"model": "big"}}}, subscriptions=[hears]
    )
    guard = FakePlugin("guard", hooks={"pre_llm_call": After(2.0, NO)})
    async with (
        PluginHost([mender, guard]) as host,
        host.session() as session,
        session.turn("x") as turn,
    ):
        for attempt in (1, 2):
            gate = await turn.pre_llm_call(
                provider=None, model="small", messages=[], tools=[], attempt=attempt
            )
            assert (gate.denied, gate.reason) == (True, "guard: no")


@pytest.mark.parametrize("on_failure", ["open", "closed"])
async def test_who_cannot_be_asked_any_more_is_said(
    on_failure: str, autojump_clock: MockClock
) -> None:
    told: list[str] = []
    late = plugin("late", None, on_failure=on_failure)
    async with (
        PluginHost(
            [plugin("first", None, replaces=True), late], on_problem=lambda _, why: told.append(why)
        ) as host,
        host.session() as session,
        session.turn("x") as turn,
    ):
        outcome = await turn.hooks.ask(
            "pre_tool_call",
            turn,
            budget_s=0.0,
            call_id="c",
            model_call_id=None,
            tool_name="shell",
            origin="agent",
            arguments={},
        )
        why = "the hook's time was over before it was asked"
        assert [(part.plugin, part.status, part.error) for part in outcome.parts] == [
            ("first", "not_asked", why),
            ("late", "not_asked", why),
        ]
        assert outcome.denied == (on_failure == "closed")
        assert f"first did not answer pre_tool_call: {why}; it counts as no opinion" in told
        assert "pre_tool_call" not in late.names()
