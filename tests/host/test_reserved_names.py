"""No plugin has a name that means someone else where people, guards and models read it."""

from __future__ import annotations

from pathlib import Path

import pytest

from sliphook import PluginHost, PluginSpec
from sliphook.plugin.checks import ManifestError, check_name
from sliphook.plugin.spec import name_before_it_is_said
from sliphook.registry import RegistryError
from sliphook.registry.executables import available
from sliphook.registry.store import Registry
from sliphook_sdk import Plugin, RegistrationError
from sliphook_sdk.protocol import why_no_plugin_name
from tests.programs import Workshop

RESERVED = ["agent", "host", "user", "sliphook", "mcp", "system", "assistant", "model", "tool"]


@pytest.mark.parametrize("name", RESERVED)
def test_nobody_takes_such_a_name(name: str, tmp_path: Path) -> None:
    why = "cannot be a plugin's name: it would say that someone else has done"
    assert (why_no_plugin_name(name) or "").startswith(why)
    with pytest.raises(RegistrationError, match=why):
        Plugin(name)
    with pytest.raises(ManifestError, match=why):
        check_name("plugin", name)
    with pytest.raises(RegistryError, match=why):
        Registry(tmp_path).file_of(name)
    with pytest.raises(ValueError, match=why):
        PluginHost([PluginSpec(tmp_path / "x", name=name)])


@pytest.mark.parametrize("name", ["agents", "my-agent", "agent-", "host_2", "u", "mcp-server"])
def test_names_beside_them_are_free(name: str) -> None:
    assert why_no_plugin_name(name) is None
    check_name("plugin", name)


def test_tools_and_commands_may_be_called_so() -> None:
    check_name("tool", "agent")
    check_name("command", "host")


async def test_a_manifest_with_such_a_name_is_refused(shop: Workshop) -> None:
    told: list[tuple[str, str]] = []

    def problem(plugin: str, why: str) -> None:
        told.append((plugin, why))

    program = shop.program("agent", tools=["innocent"])
    async with PluginHost([program.path], on_problem=problem) as host:
        assert host.tools() == []
        [status] = host.plugins
    assert status.state == "failed"
    [(said_of, why)] = told
    # the file's own name is not believed either
    assert said_of == status.name == "agent-plugin"
    assert "the name 'agent' cannot be a plugin's name" in why


def test_its_file_does_not_give_it_such_a_name() -> None:
    assert name_before_it_is_said(PluginSpec(Path("/plugins/user.py"))) == "user-plugin"
    assert name_before_it_is_said(PluginSpec(Path("/plugins/users.py"))) == "users"


def test_such_a_program_on_path_is_not_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("agent", "guard"):
        path = tmp_path / f"sliphook-plugin-{name}"
        path.write_text("#!/bin/sh\n", encoding="utf-8")
        path.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert list(available()) == ["guard"]
