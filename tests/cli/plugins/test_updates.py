"""What a user does when a plugin, or the Python that it runs in, is another one."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from sliphook.cli.common import Failed
from sliphook.cli.main import main
from sliphook.cli.run_once import run_once
from sliphook.files import paths
from sliphook.registry import Registry
from sliphook.registry.delivered import delivered
from sliphook.registry.errors import RegistryError

SCRIPT = """\
#!/usr/bin/env plugin-python
import json, os, sys
for line in sys.stdin.buffer:
    if not line.startswith(b"{"):
        continue
    message = json.loads(line)
    first = os.environ["PATH"].split(":")[0]
    answer = {"protocol_version": 1, "name": "guard", "description": first}
    if message["method"] == "exit":
        break
    if "id" in message:
        result = answer if message["method"] == "initialize" else None
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


@pytest.fixture
def guard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A script whose interpreter is in the environment `one`, which is active."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "plugin-python").symlink_to(sys.executable)
    activate(tmp_path / "one", monkeypatch)
    path = tmp_path / "guard"
    path.write_text(SCRIPT)
    path.chmod(0o755)
    return path


def activate(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def starts_in(folder: Path) -> str:
    """The first entry of the PATH that the plugin has, or why it does not start."""
    try:
        manifest = run_once(Registry().get("guard").spec(os.environ), folder / "data")
    except Failed as error:
        return str(error)
    return manifest.wire.description or ""


def test_install_pins_the_interpreter(
    guard: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pinned = tmp_path / "one" / "plugin-python"
    assert main(["install", str(guard), "--yes"]) == 0
    assert f"  it runs in {pinned}, whatever is active then; to follow" in capsys.readouterr().out
    activate(tmp_path / "two", monkeypatch)
    assert starts_in(tmp_path) == str(tmp_path / "one")
    assert main(["config", "guard", "--no-pin"]) == 0
    assert starts_in(tmp_path) == str(tmp_path / "two")
    assert main(["config", "guard", "--pin"]) == 0
    assert Registry().get("guard").recorded.interpreter == str(tmp_path / "two" / "plugin-python")
    activate(tmp_path / "one", monkeypatch)
    assert starts_in(tmp_path) == str(tmp_path / "two")


def test_an_interpreter_that_is_gone_is_told_and_trust_takes_the_active_one(
    guard: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["install", str(guard), "--yes"]) == 0
    shutil.rmtree(tmp_path / "one")
    activate(tmp_path / "two", monkeypatch)
    assert "to which it is pinned, is not there any more; pin it to the active one by:" in (
        starts_in(tmp_path)
    )
    assert main(["trust", "guard", "--yes"]) == 0
    assert starts_in(tmp_path) == str(tmp_path / "two")


def test_no_pin_follows_from_the_start(
    guard: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["install", str(guard), "--yes", "--no-pin"]) == 0
    assert "it runs in the interpreter that is active where an agent starts" in (
        capsys.readouterr().out
    )
    activate(tmp_path / "two", monkeypatch)
    assert starts_in(tmp_path) == str(tmp_path / "two")


def test_a_program_that_looks_for_none_is_not_pinned(
    tmp_path: Path, guard: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    guard.write_text(SCRIPT.replace("/usr/bin/env plugin-python", sys.executable))
    assert main(["install", str(guard), "--yes"]) == 0
    assert capsys.readouterr().out == "installed guard\n"
    assert main(["config", "guard", "--pin"]) == 1
    assert "does not look for its interpreter on PATH" in capsys.readouterr().err


def test_trust_shows_what_has_changed(guard: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["install", str(guard), "--yes"])
    guard.write_text(SCRIPT + "# \x1b[2J new\n")
    capsys.readouterr()
    assert main(["trust", "guard", "--yes"]) == 0
    shown = capsys.readouterr().err
    assert "  --- as approved\n  +++ now\n" in shown
    assert "\n  +# \\x1b[2J new\n" in shown
    assert "\x1b" not in shown
    shutil.rmtree(paths.approved_texts())
    guard.write_text(SCRIPT)
    main(["trust", "guard", "--yes"])
    shown = capsys.readouterr().err
    assert "What has changed in it cannot be shown: no text of it was kept." in shown
    assert f"  size      {len(SCRIPT)} bytes, changed " in shown
    assert f"  before    {len(SCRIPT) + 11} bytes, installed " in shown


def test_purge_leaves_nothing(guard: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["install", str(guard), "--yes"])
    data = paths.plugin_data() / "guard"
    (data / "deep").mkdir(parents=True)
    logs = paths.state_home() / "logs"
    logs.mkdir(parents=True)
    for name in ("guard.log", "guard.log.1", "other.log"):
        (logs / name).write_text("")
    capsys.readouterr()
    assert main(["uninstall", "guard", "--purge"]) == 0
    assert capsys.readouterr().out == "uninstalled guard, its data and its logs\n"
    assert not data.exists()
    assert [path.name for path in logs.iterdir()] == ["other.log"]
    assert list(paths.approved_texts().iterdir()) == []
    assert guard.exists()


NPM = """\
#!/bin/sh
echo "$PWD $*" > "$LOG"
echo '# newer' >> node_modules/@ada/guard/bin/guard
echo '{"name": "@ada/guard", "version": "2.0.0"}' > node_modules/@ada/guard/package.json
"""


@pytest.fixture
def npm_guard(guard: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The script as a package of npm, and an npm that brings version 2."""
    package = tmp_path / "project" / "node_modules" / "@ada" / "guard"
    (package / "bin").mkdir(parents=True)
    (package / "package.json").write_text('{"name": "@ada/guard", "version": "1.0.0"}')
    moved = package / "bin" / "guard"
    guard.rename(moved)
    npm = tmp_path / "one" / "npm"
    npm.write_text(NPM.replace("$LOG", str(tmp_path / "npm.log")))
    npm.chmod(0o755)
    return moved


def test_upgrade_runs_npm_and_trusts(
    npm_guard: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["install", str(npm_guard), "--yes"]) == 0
    capfd.readouterr()
    assert main(["upgrade", "guard", "--yes"]) == 0
    shown = capfd.readouterr()
    assert shown.out == "guard: now 2.0.0\nguard is accepted as it is now\n"
    assert "guard: @ada/guard 1.0.0, from npm\n" in shown.err
    assert "\n  +# newer\n" in shown.err
    assert (tmp_path / "npm.log").read_text() == (
        f"{tmp_path / 'project'} install @ada/guard@latest\n"
    )


def test_a_failing_upgrade_changes_nothing(
    npm_guard: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    main(["install", str(npm_guard), "--yes"])
    (tmp_path / "one" / "npm").write_text("#!/bin/sh\nexit 7\n")
    assert main(["upgrade", "guard", "--yes"]) == 1
    assert "npm ended with status 7; guard is as it was" in capfd.readouterr().err


def test_what_neither_has_brought(guard: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["install", str(guard), "--yes"])
    capsys.readouterr()
    assert main(["upgrade", "guard", "--yes"]) == 1
    assert capsys.readouterr().err == (
        "sliphook: guard: neither pip nor npm has brought it; update it, and then:"
        " sliphook trust guard\n"
    )
    assert main(["upgrade", "--yes"]) == 0
    assert capsys.readouterr().err == "guard: left as it is: neither pip nor npm has brought it\n"
    assert main(["upgrade", "none", "--yes"]) == 1


def test_the_package_of_a_command_of_pip() -> None:
    beside = Path(sys.executable).parent
    came = delivered(beside / "pytest")
    assert came is not None
    assert (came.by, came.package) == ("pip", "pytest")
    assert came.command[-2:] == ("--upgrade", "pytest")
    assert delivered(beside / "no-such-command") is None
    # installed from this folder: an index may have another package of that name
    with pytest.raises(RegistryError, match="was installed from file://"):
        delivered(beside / "sliphook")


def test_a_global_package_of_npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    npm = tmp_path / "npm"
    npm.write_text("#!/bin/sh\n")
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    package = tmp_path / "usr" / "lib" / "node_modules" / "guard"
    package.mkdir(parents=True)
    (package / "package.json").write_text(json.dumps({"name": "guard", "version": "1.0.0"}))
    came = delivered(package / "cli.mjs")
    assert came is not None
    prefix = os.fspath(tmp_path / "usr")
    assert came.command == (
        os.fspath(npm),
        "install",
        "--global",
        "--prefix",
        prefix,
        "guard@latest",
    )
