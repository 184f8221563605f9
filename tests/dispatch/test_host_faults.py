"""A fault of the host while it reads an answer costs that answer, and nobody waits for ever."""

from __future__ import annotations

import logging

import pytest

from sliphook import Outcome, PluginHost
from sliphook.dispatch import shares
from sliphook.testing import FakePlugin

from .one_plugin import ask


@pytest.mark.parametrize("many", [False, True], ids=["one", "two"])
@pytest.mark.parametrize("on_failure", ["open", "closed"])
async def test_the_outcome_comes_and_a_closed_guard_denies(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, on_failure: str, many: bool
) -> None:
    def fail(raw: bytes, *, replacing: bool) -> None:
        raise ZeroDivisionError("no one has thought of this")

    monkeypatch.setattr(shares, "read_answer", fail)
    guard = FakePlugin(
        "guard",
        hooks={"pre_tool_call": {"decision": "allow"}},
        subscriptions=[{"event": "pre_tool_call", "on_failure": on_failure}],
    )
    other = FakePlugin("other", hooks={"pre_tool_call": None})
    outcomes: list[Outcome] = []
    async with (
        PluginHost([guard, other] if many else [guard]) as host,
        host.session() as session,
        session.turn("x") as turn,
    ):
        for _ in range(2):
            outcomes.append(await ask(turn))
        assert [plugin.state for plugin in host.plugins] == ["ready"] * (1 + many)
    part = outcomes[0].parts[0]
    assert (part.plugin, part.status) == ("guard", "refused_answer")
    assert part.error == (
        "the host failed to read its answer: ZeroDivisionError('no one has thought of this')"
    )
    denied = "deny" if on_failure == "closed" else None
    assert [outcome.decision for outcome in outcomes] == [denied, denied]
    faults = [one for one in caplog.records if one.levelno >= logging.ERROR]
    assert [one.message for one in faults] == [
        "a fault of the host: an answer could not be read"
    ] * 2
    assert faults[0].exc_info is not None
