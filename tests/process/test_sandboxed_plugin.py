"""Plugins in a sandbox, with the real bubblewrap where it works."""

from __future__ import annotations

import os
import signal
import tempfile
from pathlib import Path

import pytest
import trio

from sliphook import PluginHost, PluginSpec
from sliphook.process.child import ChildProcess
from sliphook.process.reaper import OrphanReaper
from sliphook.process.sandbox import why_no_sandbox
from sliphook.process.spawn import spawn
from tests.programs import until

WAIT_S = 120.0


def _why_not() -> str:
    with tempfile.TemporaryDirectory() as folder:
        return why_no_sandbox(Path(folder)) or ""


works = pytest.mark.skipif(bool(why := _why_not()), reason=why or "it works")

LOOK = """\
echo mine > kept || echo 'cannot write its own folder' >&2
if echo x > "${0%/*}/spilt"; then echo 'can write beside itself' >&2; fi
grep -c : /proc/net/dev >&2
"""
SPEAK = """\
while read -r line; do
  case $line in
    *'"method":"initialize"'*)
      echo '{"jsonrpc":"2.0","id":1,"result":{"protocol_version":1,"name":"caged"}}' ;;
    *'"method":"exit"'*) exit 0 ;;
  esac
done
"""


def script(folder: Path, text: str) -> Path:
    path = folder / "caged"
    path.write_text(f"#!/bin/sh\n{text}")
    path.chmod(0o755)
    return path


@works
async def test_it_writes_nowhere_else_and_has_no_network(tmp_path: Path) -> None:
    spec = PluginSpec(script(tmp_path, LOOK + SPEAK), name="caged", sandbox=True)
    with trio.fail_after(WAIT_S):
        async with PluginHost(
            [spec], data_home=tmp_path / "data", log_dir=tmp_path / "logs"
        ) as host:
            await until(lambda: len(host.plugins[0].stderr_tail) == 2)
            (status,) = host.plugins
    assert (status.state, status.why) == ("ready", None)
    assert status.stderr_tail[-1] == "1", "the loopback alone"
    assert "Read-only file system" in status.stderr_tail[0]
    assert (tmp_path / "data" / "caged" / "kept").read_text() == "mine\n"
    assert not (tmp_path / "spilt").exists()


async def start(tmp_path: Path, text: str) -> ChildProcess:
    path = script(tmp_path, text)
    process = await spawn(
        path, cwd=tmp_path / "data", env=dict(os.environ), reaper=OrphanReaper(), sandbox=True
    )
    os.close(process.stdin)
    return process


async def read(process: ChildProcess) -> bytes:
    await trio.lowlevel.wait_readable(process.stdout)
    return os.read(process.stdout, 100)


@works
async def test_sigterm_leaves_it_the_time_to_end_and_all_of_it_ends(tmp_path: Path) -> None:
    """What has left the process group too: it would hold the pipe open."""
    with trio.fail_after(WAIT_S):
        process = await start(
            tmp_path,
            "trap 'sleep 0.1; echo bye; exit 7' TERM\nsetsid sleep 1000 &\necho here\nwait\n",
        )
        assert await read(process) == b"here\n"
        process.signal_group(signal.SIGTERM)
        assert await read(process) == b"bye\n"
        await process.exited()
        assert process.reap() == 7
        assert await read(process) == b""
    os.close(process.stdout)
    os.close(process.stderr)


@works
@pytest.mark.parametrize(("text", "status"), [("kill -SEGV $$", -11), ("exit 3", 3)])
async def test_its_status_is_told(tmp_path: Path, text: str, status: int) -> None:
    with trio.fail_after(WAIT_S):
        process = await start(tmp_path, text)
        await process.exited()
    assert process.reap() == status
    os.close(process.stdout)
    os.close(process.stderr)


async def test_without_a_sandbox_it_is_not_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = script(tmp_path, "touch started\n" + SPEAK)
    spec = PluginSpec(path, name="caged", sandbox=True)
    monkeypatch.setenv("PATH", str(tmp_path))
    with trio.fail_after(WAIT_S):
        async with PluginHost(
            [spec], data_home=tmp_path / "data", log_dir=tmp_path / "logs"
        ) as host:
            (status,) = host.plugins
    assert status.state == "refused"
    assert status.why is not None
    assert status.why.startswith("it must run in a sandbox: a sandbox needs ")
    assert not (tmp_path / "data" / "caged" / "started").exists()
