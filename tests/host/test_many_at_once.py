"""Fifty plugins change at once: what is done for each does not grow with how many there are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import metadata

import pytest
from trio.testing import MockClock

from sliphook import PluginHost
from sliphook.dispatch.audience import Audience
from sliphook.host import admission
from sliphook.plugin import launch
from sliphook.plugin.supervision import Plugin
from sliphook.testing import FakePlugin

MANY = 50


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """An entry for each time that the manifests of all plugins are gone through."""
    made: list[int] = []

    def counted(
        plugins: Iterable[Plugin], providers: Mapping[str, str | None]
    ) -> dict[str, Audience]:
        made.append(1)
        return admission.subscribers_by_name(plugins, providers)

    monkeypatch.setattr("sliphook.host.state.subscribers_by_name", counted)
    return made


async def test_subscribers_are_found_once_for_all_that_change_together(
    autojump_clock: MockClock, searches: list[int]
) -> None:
    plugins = [
        FakePlugin(
            f"p{number}", hooks={"stop": None}, hears=["session_start", "agent_loop_stopped"]
        )
        for number in range(MANY)
    ]
    async with PluginHost(plugins) as host, host.session() as session:
        opened = len(searches)
        async with session.turn("x") as turn:
            outcome = await session.hooks.ask(
                "stop", turn, turn_count=1, stop_count=0, last_assistant_message=None
            )
            assert len(outcome.parts) == MANY
        before = len(searches)
        host.kill()
        assert len(searches) == before
    assert opened < MANY / 2
    assert len(searches) - before < MANY / 2


def test_the_hosts_own_version_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def counted(name: str) -> str:
        read.append(name)
        return "1.2.3"

    monkeypatch.setattr(metadata, "version", counted)
    launch.own_version.cache_clear()
    try:
        assert {launch.own_version() for _ in range(MANY)} == {"1.2.3"}
    finally:
        launch.own_version.cache_clear()
    assert read == ["sliphook"]
