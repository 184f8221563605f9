"""One home and one process for all scenarios: Hermes's start is most of the time."""

# pyright: basic, reportMissingImports=false
# mypy: ignore-errors

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bridges.hermes.real.server import ScriptedServer
from tests.bridges.hermes.real.world import TABLE, World, table


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    # a job in the background ignores SIGINT, and so would its programs
    signal.signal(signal.SIGINT, signal.default_int_handler)
    home = tmp_path_factory.mktemp("hermes")
    server = ScriptedServer()
    server.start()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        patch.setenv("HERMES_HOME", str(home / ".hermes"))
        for name in ("DATA", "STATE", "CONFIG", "CACHE"):
            patch.setenv(f"XDG_{name}_HOME", str(home / name.lower()))
        made = World(Path(home), server)
        made.set_up()
        yield made
    server.stop()
    if os.environ.get("SLIPHOOK_HERMES_TABLE"):
        rows = {(one["where"], one["did"], one["when"]): one for one in table()}
        rows |= {(one["where"], one["did"], one["when"]): one for one in made.table}
        lines = [json.dumps(row, ensure_ascii=False) for row in rows.values()]
        TABLE.write_text("[\n" + ",\n".join(lines) + "\n]\n")


@pytest.fixture(scope="session")
def new_agent(world: World):
    from hermes_cli.plugins import discover_plugins, get_plugin_manager

    discover_plugins()
    from run_agent import AIAgent

    loaded = get_plugin_manager()._plugins["sliphook"]
    assert (loaded.enabled, loaded.error) == (True, None)

    def make(**more):
        return AIAgent(
            **{
                "api_key": "fake-key",
                "base_url": world.server.url,
                "provider": "custom",
                "api_mode": "chat_completions",
                "model": "fake-model",
                "quiet_mode": True,
                "platform": "cli",
                "enabled_toolsets": ["sliphook", "terminal", "delegation", "todo"],
                "skip_memory": True,
                "skip_context_files": True,
                **more,
            }
        )

    yield make
    from sliphook.bridges import hermes

    hermes._bridges[0].close()
