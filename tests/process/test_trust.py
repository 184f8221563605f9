"""An installed plugin is started only if its file is the one that was approved.

The file is held from the check of its bytes to the plugin's first answer.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import trio

from sliphook import PluginHost
from sliphook.files import held_file
from sliphook.files.held_file import HeldFile, Unreadable, sha256_of
from sliphook.plugin.spec import PluginSpec
from sliphook.process.child import ChildProcess
from sliphook_sdk.protocol import Manifest, Subscription
from tests.programs import WAIT_S, Workshop, until

GUARD = Manifest(
    protocol_version=1, name="guard", subscriptions=[Subscription(event="pre_tool_call")]
)
IDLE = """\
#!/bin/sh
while read -r line; do
    case $line in *'"initialize"'*)
        printf '%s' '{"jsonrpc":"2.0","id":1,"result":{"protocol_version":1,"name":"guard",'
        echo '"subscriptions":[{"event":"pre_tool_call"}]}}' ;;
    *'"shutdown"'* | *'"exit"'*) exit 0 ;;
    esac
done
"""


def script(path: Path, text: str = IDLE) -> Path:
    path.write_text(text)
    path.chmod(0o700)
    return path


def approved(path: Path) -> PluginSpec:
    return PluginSpec(
        path, name="guard", recorded=GUARD, sha256=hashlib.sha256(path.read_bytes()).hexdigest()
    )


async def test_a_changed_file_is_refused_at_every_start_and_still_guards(
    shop: Workshop, tmp_path: Path
) -> None:
    path = script(tmp_path / "guard")
    spec = approved(path)
    with trio.fail_after(WAIT_S):
        async with PluginHost([spec]) as host, host.session() as session:
            assert host.plugins[0].state == "ready"
            path.write_text(IDLE + "# more\n")
            status = await host.restart("guard")
            assert status.state == "refused"
            assert status.why == (
                f"its file {path} has changed; if that is right, run: sliphook trust guard "
                f"(approved was sha256 {spec.sha256}, now it is "
                f"{hashlib.sha256(path.read_bytes()).hexdigest()})"
            )
            async with session.turn("go on") as turn:
                await turn.submit()
                assert (await turn.call_tool("shell", {}, run=_never)).status == "denied"
            path.write_text(IDLE)
            assert (await host.restart("guard")).state == "ready"


async def _never(_: dict[str, Any]) -> str:
    raise AssertionError("it was denied")


async def test_a_restart_after_a_death_looks_again(tmp_path: Path) -> None:
    path = script(tmp_path / "guard")
    with trio.fail_after(WAIT_S):
        async with PluginHost([approved(path)]) as host:
            pid = host.plugins[0].pid
            assert pid is not None
            script(tmp_path / "new", IDLE + "#")
            os.replace(tmp_path / "new", path)
            os.kill(pid, 9)
            await until(lambda: host.plugins[0].state == "refused")


@pytest.mark.parametrize(
    ("what", "mode", "why"),
    [
        ("", 0o777, "everybody may change {path} (drwxrwxrwx); run: chmod o-w {path}"),
        ("guard", 0o702, "everybody may change {path} (-rwx----w-); run: chmod o-w {path}"),
    ],
)
async def test_a_file_that_others_could_change_is_refused(
    tmp_path: Path, what: str, mode: int, why: str
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    spec = approved(script(folder / "guard"))
    (folder / what).chmod(mode)
    with trio.fail_after(WAIT_S):
        async with PluginHost([spec]) as host:
            assert (host.plugins[0].state, host.plugins[0].why) == (
                "refused",
                why.format(path=folder / what),
            )


async def test_a_data_folder_that_leads_elsewhere_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "guard").symlink_to("/")
    with trio.fail_after(WAIT_S):
        async with PluginHost(
            [approved(script(tmp_path / "guard"))], data_home=tmp_path / "data"
        ) as host:
            assert host.plugins[0].why == (
                f"its data folder {tmp_path}/data/guard is a symbolic link, which may "
                "lead anywhere; put a folder there"
            )


async def test_a_file_that_is_swapped_between_the_look_and_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, other = (
        script(tmp_path / "guard"),
        script(tmp_path / "other", "#!/bin/sh\nexec sleep 60\n"),
    )

    def swap(held: HeldFile) -> None:
        os.replace(other, path)

    monkeypatch.setattr(held_file.HeldFile, "by_descriptor", property(swap))
    with trio.fail_after(WAIT_S):
        async with PluginHost([approved(path)]) as host:
            assert host.plugins[0].state == "refused"
            assert host.plugins[0].why == (
                f"its file {path} was changed while it was started;"
                " the running program may not be the approved one; "
                "if that is right, run: sliphook trust guard"
            )
            assert host.plugins[0].pid is None


async def test_a_script_that_is_changed_before_its_interpreter_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = script(tmp_path / "guard")
    spec = approved(path)
    start = ChildProcess.__init__

    def start_then_change(process: ChildProcess, *args: Any, **kwargs: Any) -> None:
        start(process, *args, **kwargs)
        with path.open("a") as file:  # its interpreter may read it now: it is whole at all times
            file.write("# changed\n")

    monkeypatch.setattr(ChildProcess, "__init__", start_then_change)
    with trio.fail_after(WAIT_S):
        async with PluginHost([spec]) as host:
            await until(lambda: host.plugins[0].state == "refused")
            assert "was changed while it was started" in str(host.plugins[0].why)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="the system has no /proc")
def test_a_binary_runs_by_the_descriptor_that_was_hashed(tmp_path: Path) -> None:
    path = tmp_path / "true"
    shutil.copy(shutil.which("true") or "/bin/true", path)
    held = HeldFile(path)
    os.replace(script(tmp_path / "false", "#!/bin/sh\nexit 1\n"), path)
    try:
        assert held.by_descriptor is not None
        assert subprocess.run([path], executable=held.by_descriptor, check=False).returncode == 0
        assert subprocess.run([path], check=False).returncode == 1
        assert not held.is_as_it_was()
    finally:
        held.close()
    text = HeldFile(path)
    assert text.by_descriptor is None
    assert text.is_as_it_was()
    text.close()


def test_what_cannot_be_hashed(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name, why in (
        ("none", "No such file"),
        ("pipe", "is no regular file"),
        (".", "is no regular file"),
        ("a\0", "null (byte|character)"),
    ):
        with pytest.raises(Unreadable, match=why):
            sha256_of(tmp_path / name)
    (tmp_path / "x").write_bytes(b"abc")
    assert (
        sha256_of(tmp_path / "x")
        == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    )


def test_a_file_that_is_written_to_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"a" * (3 * 1024 * 1024))

    def grow() -> bool:
        with path.open("ab") as file:
            file.write(b"b")
        return False

    with pytest.raises(Unreadable, match="is being written to; try again when that is done"):
        HeldFile(path, grow)
    with pytest.raises(held_file.Abandoned):
        HeldFile(path, lambda: True)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of moves")
@pytest.mark.parametrize("moved", ["folder", "link"])
async def test_a_folder_that_is_moved_away_and_back_while_a_script_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moved: str
) -> None:
    """For a moment another file was under the path; no time of the file itself tells of it."""
    (tmp_path / "folder").mkdir()
    runs = tmp_path / "runs"
    script(tmp_path / "folder" / "guard", IDLE.replace("\n", f"\n: >{runs}\n", 1))
    (tmp_path / "link").symlink_to("folder")
    start = ChildProcess.__init__

    def start_then_move(process: ChildProcess, *args: Any, **kwargs: Any) -> None:
        start(process, *args, **kwargs)
        # the shell has opened it: without its script it would end, and nobody would have to refuse
        end_s = time.monotonic() + WAIT_S
        while not runs.exists() and time.monotonic() < end_s:
            time.sleep(0.001)
        os.rename(tmp_path / moved, tmp_path / "away")
        os.rename(tmp_path / "away", tmp_path / moved)

    monkeypatch.setattr(ChildProcess, "__init__", start_then_move)
    with trio.fail_after(WAIT_S):
        async with PluginHost([approved(tmp_path / "link" / "guard")]) as host:
            await until(lambda: host.plugins[0].state == "refused")
            assert "was changed while it was started" in str(host.plugins[0].why)


async def test_what_is_moved_beside_the_file_does_not_matter(tmp_path: Path) -> None:
    spec = approved(script(tmp_path / "guard"))
    with trio.fail_after(WAIT_S):
        async with PluginHost([spec]) as host:
            for name in ("a", "b"):
                (tmp_path / name).mkdir()
                (tmp_path / name).rename(tmp_path / f"{name}2")
            assert (await host.restart("guard")).state == "ready"
