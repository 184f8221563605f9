"""The command that starts a plugin in a sandbox, and what its exit status means."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sliphook.process import sandbox


def argv(
    path: str,
    *,
    target: str | None = None,
    data_dir: str = "/home/ada/data/guard",
    prefixes: tuple[str, ...] = (),
) -> list[str]:
    return sandbox.sandbox_command(
        Path(path),
        Path(target or path),
        Path(data_dir),
        bwrap="/usr/bin/bwrap",
        python="/usr/bin/python3",
        prefixes=[*map(Path, prefixes)],
    )


def pairs_of(command: list[str], option: str) -> list[str]:
    return [command[index + 1] for index, word in enumerate(command) if word == option]


def test_everything_can_be_read_and_one_folder_written() -> None:
    command = argv("/home/ada/guard")
    assert command[:5] == ["/bin/sh", "-c", 'trap "" TERM; exec "$@"', "sh", "/usr/bin/bwrap"]
    assert pairs_of(command, "--ro-bind") == ["/"]
    assert pairs_of(command, "--bind") == ["/home/ada/data/guard"]
    assert pairs_of(command, "--chdir") == ["/home/ada/data/guard"]
    assert pairs_of(command, "--tmpfs") == ["/run", "/tmp"]
    assert {"--unshare-net", "--unshare-pid", "--unshare-ipc"} <= set(command)
    assert pairs_of(command, "--cap-drop") == ["ALL"]
    assert "--die-with-parent" not in command
    assert command[command.index("--") + 1] == "/usr/bin/python3"
    assert command[-1] == "/home/ada/guard"


@pytest.mark.parametrize(
    ("path", "target", "prefixes", "shown"),
    [
        ("/tmp/work/guard", None, (), ["/tmp/work"]),
        ("/tmp/guard", None, (), ["/tmp/guard"]),
        ("/home/ada/guard", "/run/media/ada/stick/guard", (), ["/run/media/ada/stick"]),
        (
            "/tmp/a/guard",
            "/tmp/b/guard",
            ("/tmp/a", "/tmp/venv", "/usr"),
            ["/tmp/a", "/tmp/b", "/tmp/venv"],
        ),
        ("/tmpfiles/guard", None, ("/running",), []),
    ],
)
def test_what_the_plugin_needs_of_a_folder_that_is_empty_inside(
    path: str, target: str | None, prefixes: tuple[str, ...], shown: list[str]
) -> None:
    command = argv(path, target=target, prefixes=prefixes, data_dir="/tmp/data")
    assert pairs_of(command, "--ro-bind") == ["/", *shown]
    covers = [index for index, word in enumerate(command) if word in ("--ro-bind", "--tmpfs")]
    assert command.index("--bind") > max(covers), "the data folder comes last, or it is covered"


@pytest.mark.parametrize(
    ("returncode", "status"),
    [(0, 0), (1, 1), (127, 127), (128, 128), (139, -11), (137, -9), (-9, -9), (255, 255)],
)
def test_a_death_by_signal_is_told_as_one(returncode: int, status: int) -> None:
    assert sandbox.status_of(returncode) == status


def test_what_stands_in_the_way_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("PATH", str(tmp_path))
    missing = (
        "a sandbox needs bubblewrap, and there is no bwrap on PATH; install it, for "
        "example with: apt install bubblewrap"
    )
    assert sandbox.why_no_sandbox(tmp_path) == missing
    refuses = tmp_path / "bwrap"
    refuses.write_text(
        "#!/bin/sh\necho 'bwrap: No permissions to create\033[2J new namespace' >&2\nexit 1\n"
    )
    refuses.chmod(0o755)
    assert sandbox.why_no_sandbox(tmp_path) == (
        "bubblewrap cannot make a sandbox here: bwrap: No permissions to create\\x1b[2J new "
        "namespace; "
        "this system may not allow user namespaces"
    )
    monkeypatch.setattr(sys, "platform", "darwin")
    assert sandbox.why_no_sandbox(tmp_path) == "a sandbox needs Linux"


def test_one_that_hangs_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def hang(*args: object, **more: object) -> None:
        raise subprocess.TimeoutExpired("bwrap", 5.0)

    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(shutil, "which", "/usr/bin/{}".format)
    monkeypatch.setattr(subprocess, "run", hang)
    assert (
        sandbox.why_no_sandbox(tmp_path) == "bubblewrap did not start an empty program within 5 s"
    )
