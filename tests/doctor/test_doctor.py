"""The whole examination, with plugins that are really started."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio
from msgspec.structs import replace

from sliphook.cli.main import main
from sliphook.doctor import Finding, examine, files, rules, system
from sliphook.doctor.finding import Scene
from sliphook.registry import Registry
from sliphook_sdk.protocol import Manifest
from tests.registry.installed import installed, with_interpreter

PLUGIN = """\
#!/bin/sh
while read -r line; do
  case $line in
    *'"method":"initialize"'*) echo '{"jsonrpc":"2.0","id":1,"result":MANIFEST}' ;;
    *'"method":"shutdown"'*) echo '{"jsonrpc":"2.0","id":2,"result":null}' ;;
    *'"method":"exit"'*) exit 0 ;;
  esac
done
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user without any files."""
    for name in ("DATA", "STATE", "CONFIG"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    # what a busy machine takes is no finding
    monkeypatch.setattr(rules, "SLOW_START_MS", 120_000.0)
    monkeypatch.setattr(system, "REAPER_S", 120.0)
    return tmp_path


def install(home: Path, name: str, **declares: Any) -> Path:
    """Install a plugin as `sliphook install` does, without asking anything."""
    declared = {"protocol_version": 1, "name": name, **declares}
    path = home / name
    path.write_text(PLUGIN.replace("MANIFEST", json.dumps(declared)))
    path.chmod(0o755)
    Registry().add(
        installed(
            path,
            msgspec.convert(declared, Manifest),
            sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
        )
    )
    return path


async def examined() -> list[Finding]:
    with trio.fail_after(120):
        return await examine(agent_tools=["shell"])


def left_in(folder: Path) -> list[Path]:
    return list(folder.iterdir())


def about(findings: list[Finding], name: str) -> list[tuple[str, str]]:
    return [(finding.level, finding.what) for finding in findings if finding.about == name]


async def test_a_user_without_plugins_has_nothing_to_do(home: Path) -> None:
    findings = await examined()
    assert [finding for finding in findings if finding.level == "problem"] == []
    assert [finding.about for finding in findings] == ["config.toml", "sandbox", "reaper"]
    assert about(findings, "reaper") == [
        ("ok", "plugins and what they start end with a killed agent")
    ]
    assert not left_in(home)


async def test_each_plugin_is_started_and_what_is_wrong_is_told(home: Path) -> None:
    install(
        home, "guard", subscriptions=[{"event": "pre_tool_call", "match": {"tool_name": "shell"}}]
    )
    install(home, "first", tools=[{"name": "deploy", "description": ""}])
    install(home, "second", tools=[{"name": "deploy", "description": ""}])
    install(home, "gone").unlink()
    install(home, "mute").write_text("#!/bin/sh\nexit 3\n")
    install(home, "off").write_text("#!/bin/sh\ntouch started\n")
    Registry().change("off", lambda plugin: replace(plugin, enabled=False))
    (home / "data" / "sliphook" / "plugins" / "torn.toml").write_text("enabled = 1\n")
    for name in ("of-old", "only-tried"):
        (home / "data" / "sliphook" / "data" / name).mkdir(parents=True)
    (home / "data" / "sliphook" / "data" / "of-old" / "notes").touch()
    (home / "config" / "sliphook").mkdir(parents=True)
    (home / "config" / "sliphook" / "config.toml").write_text("modle = 'x'\n")

    findings = await examined()

    (guard,) = about(findings, "guard")
    assert guard[0] == "ok"
    assert guard[1].startswith("ready after ")
    assert about(findings, "first")[0][0] == "ok"
    ((level, what),) = about(findings, "second")
    assert (level, what) == (
        "problem",
        f"refused: the tool deploy is taken by the plugin first ({home / 'first'})",
    )
    for name in ("gone", "mute", "torn"):
        assert [level for level, _ in about(findings, name)] == ["problem"], name
    assert about(findings, "off") == [
        ("ok", "disabled: it is not started, and guards nothing"),
        ("note", f"{home / 'off'} has changed since it was approved; enabled, it would be refused"),
    ]
    assert about(findings, "of-old")[0][0] == "note"
    assert about(findings, "only-tried") == []
    config = home / "config" / "sliphook" / "config.toml"
    assert about(findings, "config.toml") == [
        ("problem", f"{config}, line 1: modle: there is no such key; did you mean model?")
    ]


def test_the_command(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    install(home, "guard")
    assert main(["doctor"]) == 0
    page = capsys.readouterr().out.splitlines()
    assert page[0] == "plugins"
    assert page[1].startswith("  ok       guard")
    assert page[-1].startswith("no problems, ")
    install(home, "gone").unlink()
    assert main(["doctor", "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["ok"] is False
    assert [
        (finding["area"], finding["level"], finding["about"]) for finding in report["findings"]
    ][:2] == [
        ("plugins", "ok", "guard"),
        ("plugins", "problem", "gone"),
    ]


def test_a_keeper_that_keeps_nothing_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    idle = tmp_path / "reaper.py"
    idle.write_text("import sys; sys.exit(4)")
    monkeypatch.setattr(system, "SCRIPT", idle)
    (finding,) = system.reaper(Scene())
    assert (finding.level, finding.what) == (
        "problem",
        "plugins may outlive a killed agent: the reaper ended with status 4",
    )


async def test_files_that_others_may_write(home: Path) -> None:
    install(home, "guard")
    (Registry().folder / "guard.toml").chmod(0o606)
    config = home / "config" / "sliphook" / "config.toml"
    set_open(config)
    findings = await examined()
    for about_it in (about(findings, "guard"), about(findings, "config.toml")):
        ((level, what),) = about_it
        assert level == "problem"
        assert "everybody may change " in what


def set_open(file: Path) -> None:
    file.parent.mkdir(parents=True)
    file.touch()
    file.chmod(0o606)


def test_executables_of_plugins_that_are_not_started(home: Path) -> None:
    path = install(home, "guard")
    change = Registry().change
    change("guard", lambda plugin: replace(plugin, enabled=False))
    plugin = change("guard", lambda plugin: with_interpreter(plugin, "/bin/sh"))
    assert list(files.executables(Scene(plugins=(plugin,)))) == []
    (home / "sh").symlink_to("/bin/sh")
    plugin = change("guard", lambda plugin: with_interpreter(plugin, str(home / "sh")))
    (finding,) = files.executables(Scene(plugins=(plugin,)))
    what = (
        f"when it was approved, {home}/sh ran it; now /bin/sh does, which may lack what it imports"
    )
    assert (finding.level, finding.what) == ("note", what)
    plugin = change("guard", lambda plugin: with_interpreter(plugin, "/none/sh"))
    path.chmod(0o757)
    found = [
        (finding.level, finding.what.partition(" (")[0])
        for finding in files.executables(Scene(plugins=(plugin,)))
    ]
    assert found == [
        ("note", "when it was approved, /none/sh ran it, which is not there any more"),
        ("problem", f"everybody may change {path}"),
    ]
    path.unlink()
    (finding,) = list(files.executables(Scene(plugins=(plugin,))))[1:]
    assert (finding.level, finding.what) == (
        "note",
        f"{path} cannot be read: No such file or directory; it could not be enabled",
    )
