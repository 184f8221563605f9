"""`run` and `call` wait for a server that has never listed its tools, and for no other."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import trio
import trio.testing

from sliphook import PluginSpec
from sliphook.adapters.mcp.kept_tools import keep
from sliphook.cli.first_tools import wait_for_first_tools
from sliphook.files import paths
from sliphook.registry.made import Made


@pytest.mark.parametrize(("ends", "after_s"), [("kept", 5.0), ("failed", 5.0), ("never", 115.0)])
async def test_until_they_are_there_or_it_has_given_up(
    ends: str,
    after_s: float,
    autojump_clock: trio.testing.MockClock,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    made = Made(kind="mcp", words=["x"])
    spec = PluginSpec(made.program, made=made.by("slow"))
    status = SimpleNamespace(name="slow", state="ready")
    host: Any = SimpleNamespace(plugins=[status, SimpleNamespace(name="other", state="ready")])
    said: list[str] = []

    async def come() -> None:
        await trio.sleep(4.95)
        if ends == "kept":
            folder = paths.plugin_data() / "slow"
            folder.mkdir(parents=True)
            keep(folder, ["x", ""], [])
        elif ends == "failed":
            status.state = "restarting"

    async with trio.open_nursery() as nursery:
        nursery.start_soon(come)
        await wait_for_first_tools(host, [PluginSpec(Path("/other")), spec], said.append)
        assert trio.current_time() == pytest.approx(after_s)
    assert said == ["waiting for the first start of the MCP server slow"]
    await wait_for_first_tools(host, [PluginSpec(Path("/other"))], said.append)
    assert len(said) == 1
