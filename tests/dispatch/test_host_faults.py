"""A fault of the host while it reads an answer costs that answer, and nobody waits for ever."""

from __future__ import annotations

import logging

import pytest

from sliphook import PluginHost
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
    async with (
        PluginHost([guard, other] if many else [guard]) as host,
        host.session() as session,
        session.turn("x") as turn,
    ):
        outcome = await ask(turn)
        again = await ask(turn)
        assert [plugin.state for plugin in host.plugins] == ["ready"] * (1 + many)
    part = outcome.parts[0]
    assert (part.plugin, part.status) == ("guard", "refused_answer")
    assert part.error == (
        "the host failed to read its answer: ZeroDivisionError('no one has thought of this')"
    )
    assert outcome.decision == again.decision == ("deny" if on_failure == "closed" else None)
    faults = [one for one in caplog.records if one.levelno >= logging.ERROR]
    assert [one.message for one in faults] == [
        "a fault of the host: an answer could not be read"
    ] * 2
    assert faults[0].exc_info is not None
