"""What a shell offers behind TAB."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from sliphook.cli.main import main, sliphook


def offered(*args: str) -> list[str]:
    """The words offered in the place of the last of `args`."""
    completion = ShellComplete(sliphook, {}, "sliphook", "_SLIPHOOK_COMPLETE")
    return [
        item.value if item.type == "plain" else f"({item.type})"
        for item in completion.get_completions(list(args[:-1]), args[-1])
    ]


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of installed plugins, one of whose files is broken."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    folder = tmp_path / "sliphook" / "plugins"
    folder.mkdir(parents=True)
    (folder / "guard.toml").write_text("")
    (folder / "greeter.toml").write_text("no = TOML = at all")
    (folder / "gr \udcff\n.toml").write_text("")
    (folder / ".lock").write_text("")
    return folder


def test_commands_and_their_help() -> None:
    assert offered("ev") == ["events"]
    assert offered("com") == ["completion"]
    assert {"run", "fire", "call"} <= set(offered(""))
    items = ShellComplete(sliphook, {}, "sliphook", "_SLIPHOOK_COMPLETE").get_completions(
        [], "events"
    )
    assert [item.help for item in items] == ["Show the hooks and events of the protocol."]


def test_options_files_and_events() -> None:
    assert offered("--ver") == ["--version"]
    assert offered("fire", "--pl") == ["--plugin"]
    assert offered("fire", "--pa") == ["--payload"]
    assert offered("fire", "--plugin", "") == ["(file)"]
    assert offered("fire", "Pre-Tool") == ["pre_tool_call"]
    assert offered("events", "session") == ["session_start", "session_reset", "session_end"]
    assert offered("completion", "") == ["bash", "zsh", "fish"]


def test_installed_plugins_stand_beside_files(installed: Path) -> None:
    assert offered("fire", "--plugin", "gu") == ["guard", "(file)"]
    assert offered("run", "hello", "--plugin", "") == ["(file)"]


def test_a_wrong_word_before_is_no_error() -> None:
    assert "run" in offered("nonsense", "")
    assert offered("events", "nonsense") == []


def test_to_complete_imports_nothing_that_is_slow() -> None:
    environment = {
        **os.environ,
        "_SLIPHOOK_COMPLETE": "bash_complete",
        "COMP_WORDS": "sliphook ",
        "COMP_CWORD": "1",
    }
    code = (
        "import atexit, sys; from sliphook.cli.main import main; atexit.register(lambda: "
        "print(*sys.modules, file=sys.stderr)); main([])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert "plain,run" in done.stdout.splitlines()
    assert {"trio", "httpx", "rich", "jsonschema", "pylsp_jsonrpc", "msgspec", "tomlkit"} & set(
        done.stderr.split()
    ) == set()


@pytest.mark.parametrize(
    ("shell", "says"),
    [("bash", "complete -o nosort -F"), ("zsh", "compdef"), ("fish", "complete --no-files")],
)
def test_each_script(shell: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert says in script
    assert "_SLIPHOOK_COMPLETE" in script


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_in_bash() -> None:
    typed = """
    sliphook() { "$PYTHON" -m sliphook "$@"; }
    export -f sliphook
    eval "$(sliphook completion bash)"
    COMP_WORDS=(sliphook events pre_t) COMP_CWORD=2
    _sliphook_completion "$WRAPPER"
    printf '%s\\n' "${COMPREPLY[@]}"
    """
    wrapper = Path(sys.executable).parent / "sliphook"
    environment = {**os.environ, "PYTHON": sys.executable, "WRAPPER": str(wrapper)}
    done = subprocess.run(
        ["bash", "-c", typed],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout == "pre_tool_call\n"
    assert done.returncode == 0


@pytest.mark.parametrize("command", ["enable", "disable", "trust", "config", "uninstall"])
def test_names_of_plugins_broken_ones_too(installed: Path, command: str) -> None:
    assert offered(command, "") == ["greeter", "guard"]
    assert offered(command, "gu") == ["guard"]


def test_nothing_on_the_disk_is_in_the_way(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "sliphook" / "config.toml").write_text("no = TOML = at all")
    assert offered("enable", "gr") == ["greeter"]
    monkeypatch.setenv("XDG_DATA_HOME", str(installed / "guard.toml"))
    assert offered("enable", "") == []
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", str(installed / "nowhere"))
    assert offered("enable", "") == []


def test_models_are_the_providers_and_scripts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "sliphook").mkdir()
    config = tmp_path / "sliphook" / "config.toml"
    config.write_text("[providers.local]\nbase_url = 'http://127.0.0.1:8080/v1'")
    assert offered("run", "--model", "") == ["scripted", "local"]
    assert offered("chat", "--model", "lo") == ["local"]
    assert offered("run", "--model", "./re") == ["(file)"]
    config.write_text("no = TOML = at all")
    assert offered("run", "--model", "") == ["scripted"]


def test_what_can_be_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{tmp_path / 'none'}")
    for name in ("sliphook-plugin-greeter", "sliphook-plugin-guard", "sliphook"):
        (tmp_path / name).touch(0o755)
    assert offered("install", "") == ["greeter", "guard"]
    assert offered("install", "gu") == ["guard"]
    assert offered("install", "./gu") == ["(file)"]
    assert offered("install", "x") == ["(file)"]
