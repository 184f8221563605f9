"""Commands for installed plugins while an agent runs: it takes up the changes when told to."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import trio

from sliphook import HostError, PluginHost
from sliphook.cli.chosen_plugins import choose, take_up
from sliphook.cli.main import main
from sliphook.settings import Settings
from tests.programs import Workshop

WAIT_S = 120.0

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


def write_plugin(folder: Path, name: str, version: str = "1") -> Path:
    path = folder / name
    declared = {
        "protocol_version": 1,
        "name": name,
        "version": version,
        "tools": [{"name": f"use_{name}", "description": ""}],
    }
    path.write_text(PLUGIN.replace("MANIFEST", json.dumps(declared)))
    path.chmod(0o755)
    return path


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("DATA", "STATE", "CONFIG"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    return tmp_path


async def sliphook(*args: str | Path) -> None:
    """Another terminal."""
    command = [sys.executable, "-m", "sliphook", *map(str, args)]
    await trio.run_process(
        command, stdin=subprocess.DEVNULL, capture_stdout=True, capture_stderr=True
    )


def states(host: PluginHost) -> dict[str, str]:
    return {plugin.name: plugin.state for plugin in host.plugins}


async def test_the_running_agent_goes_on_and_takes_up_the_changes(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = write_plugin(home, "first"), write_plugin(home, "second")
    told: list[str] = []
    with trio.fail_after(WAIT_S):
        await sliphook("install", first, "--yes")
        chosen = choose([], Settings())
        async with PluginHost(chosen.specs) as host, host.session():
            (before,) = host.plugins
            await sliphook("install", second, "--yes")
            for args in (
                ["config", "first", "--hook", "stop", "--off"],
                ["disable", "first"],
                ["enable", "first"],
                ["list"],
            ):
                assert main(args) == 0, args
            (now,) = host.plugins
            assert (now.pid, now.state) == (before.pid, "ready")

            await take_up(host, chosen, told.append)
            assert states(host) == {"first": "ready", "second": "ready"}
            assert [tool.name for tool in host.tools()] == ["use_first", "use_second"]
            pids = [plugin.pid for plugin in host.plugins]
            await take_up(host, chosen, told.append)
            assert [plugin.pid for plugin in host.plugins] == pids, "nothing has changed"

            write_plugin(home, "second", version="2")
            [line] = await take_up(host, chosen, told.append)
            assert line.startswith(
                "second is not restarted: its file has changed; if that is right,"
                " run: sliphook trust second (now its sha256 is "
            )
            assert [plugin.pid for plugin in host.plugins] == pids
            assert main(["disable", "first"]) == 0
            assert states(host) == {"first": "ready", "second": "ready"}
            await sliphook("trust", "second", "--yes")
            assert await take_up(host, chosen, told.append) == [
                "restarted: second",
                "ended: first",
            ]
            assert states(host) == {"second": "ready"}
            (status,) = host.plugins
            assert status.manifest is not None
            assert status.manifest.version == "2"

            assert main(["uninstall", "second"]) == 0
            assert [tool.name for tool in host.tools()] == ["use_second"]
            await take_up(host, chosen, told.append)
            assert host.plugins == []
    assert told == []
    capsys.readouterr()


ASKS = """
if method == "tool/call":
    request("q", "host/ask", session_id=params["session_id"], prompt="Where to?")
    while True:
        message = receive()
        if message.get("id") == "q":
            return json.dumps(message.get("result") or message["error"])
"""


async def test_a_grant_that_is_taken_away_holds_until_the_changes_are_taken_up(
    home: Path, shop: Workshop, capsys: pytest.CaptureFixture[str]
) -> None:
    probe = shop.program(tools=["deploy"], uses=["ask"], on=ASKS, before="import json")

    async def person(_: object) -> str:
        return "Bonn"

    with trio.fail_after(WAIT_S):
        await sliphook("install", probe.path, "--yes", "--grant", "ask")
        chosen = choose([], Settings())
        async with (
            PluginHost(chosen.specs, asker=person) as host,
            host.session() as session,
            session.turn("x") as turn,
        ):
            assert main(["config", "probe", "--revoke", "ask"]) == 0
            assert '"answer": "Bonn"' in (await turn.call_tool("deploy", {})).text()
            (before,) = host.plugins
            assert before.pid is not None
            os.kill(before.pid, signal.SIGKILL)
            while host.plugins[0].pid == before.pid:  # noqa: ASYNC110 - no event tells it
                await trio.sleep(0.01)
            assert '"answer": "Bonn"' in (await turn.call_tool("deploy", {})).text()
            await take_up(host, chosen, print)
            assert (await turn.call_tool("deploy", {})).text() == (
                '{"code": -32003, "message": "the user has not granted \'ask\' to probe;'
                ' to grant it: sliphook config probe --grant ask"}'
            )
            assert main(["config", "probe", "--grant", "ask"]) == 0
            await take_up(host, chosen, print)
            assert '"answer": "Bonn"' in (await turn.call_tool("deploy", {})).text()
    capsys.readouterr()


async def test_broken_settings_leave_everything_as_it_is(home: Path) -> None:
    with trio.fail_after(WAIT_S):
        await sliphook("install", write_plugin(home, "first"), "--yes")
        chosen = choose([], Settings())
        async with PluginHost(chosen.specs) as host:
            pids = [plugin.pid for plugin in host.plugins]
            file = home / "config" / "sliphook" / "config.toml"
            make(file, "modle = 1\n")
            with pytest.raises(HostError, match="modle: there is no such key; did you mean model"):
                await take_up(host, chosen, print)
            assert [plugin.pid for plugin in host.plugins] == pids


async def test_a_torn_file_does_not_take_a_running_guard_away(home: Path) -> None:
    told: list[str] = []
    with trio.fail_after(WAIT_S):
        await sliphook("install", write_plugin(home, "first"), "--yes")
        chosen = choose([], Settings())
        async with PluginHost(chosen.specs) as host:
            pids = [plugin.pid for plugin in host.plugins]
            folder = home / "data" / "sliphook" / "plugins"
            whole = (folder / "first.toml").read_text()
            (folder / "first.toml").write_text(whole + "torn")
            with pytest.raises(
                HostError,
                match=(
                    r"first\.toml, at its end: it is no TOML: .*; correct it, or: sliphook "
                    r"uninstall first$"
                ),
            ):
                await take_up(host, chosen, told.append)
            folder.rename(home / "elsewhere")
            folder.write_text("")
            with pytest.raises(HostError, match="cannot be read: Not a directory"):
                await take_up(host, chosen, told.append)
            assert [plugin.pid for plugin in host.plugins] == pids
            folder.unlink()
            (home / "elsewhere").rename(folder)
            (folder / "first.toml").write_text(whole)
            (folder / "new.toml").write_text("torn")
            await take_up(host, chosen, told.append)
            assert [plugin.pid for plugin in host.plugins] == pids
    assert told == [
        f"plugin new is left out: {folder}/new.toml, at its end: it is no TOML: expected '=' "
        "after a key in a key/value pair"
    ]


def make(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True)
    file.write_text(text)
