"""Servers of the tests as plugins that are only tried."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from sliphook import PluginSpec
from sliphook.adapters.mcp.kept_tools import keep
from sliphook.adapters.mcp.names import Fitted
from sliphook.files import paths
from sliphook.registry.made import Made
from tests.programs import WAIT_S

SERVERS = Path(__file__).parent / "servers"
RAW = [sys.executable, "-S", str(SERVERS / "raw.py")]
PLAIN = [sys.executable, str(SERVERS / "plain.py")]


def server(
    name: str, words: Sequence[str], *known: str, settings: dict[str, object] | None = None
) -> PluginSpec:
    """The server of a command.

    Args:
        name: its name.
        words: its command.
        known: its tools, as if it had been started before: on a busy machine a first start takes
            longer than a plugin may.
        settings: the user's.
    """
    made = Made(kind="mcp", words=list(words))
    if known:
        folder = paths.plugin_data() / name
        folder.mkdir(parents=True, exist_ok=True)
        tools = [Fitted(tool, tool, "", {"type": "object", "properties": {}}) for tool in known]
        keep(folder, [*words, ""], tools)
    return PluginSpec(made.program, config=settings or {}, made=made.by(name))


_HURRIED = (
    "import sliphook.adapters.mcp.plugin as plugin; from sliphook.adapters.mcp.__main__ import main;"
    " plugin.LIST_S, plugin.CONNECT_S = {}, {}; main()"
)


def hurried(spec: PluginSpec, *, list_s: float, connect_s: float) -> PluginSpec:
    """The same with other limits for its server's start."""
    assert spec.made is not None
    words = spec.made.arguments[3:]
    arguments = ("-I", "-c", _HURRIED.format(list_s, connect_s), *words)
    return replace(spec, made=replace(spec.made, arguments=arguments))


def patient(spec: PluginSpec, monkeypatch: pytest.MonkeyPatch) -> PluginSpec:
    """The same on a machine on which a first start takes a minute; for `open_wait_s=WAIT_S`."""
    monkeypatch.setattr("sliphook.plugin.instance.INITIALIZE_TIMEOUT_S", WAIT_S)
    return hurried(spec, list_s=WAIT_S - 10, connect_s=WAIT_S - 10)
