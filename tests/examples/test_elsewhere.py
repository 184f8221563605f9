"""examples/elsewhere: a plugin behind ssh, and what still holds there when the link is bad."""

from __future__ import annotations

import hashlib
import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import trio

from sliphook import PluginHost, PluginSpec
from sliphook.session.results import ToolOutcome
from sliphook.session.turn import Turn
from tests.docs.test_more_examples import passes
from tests.examples.box import OPTIONS, box_in, needs_sshd
from tests.programs import WAIT_S, until
from tests.stubborn import lives

PAGE = Path(__file__).resolve().parents[2] / "examples" / "elsewhere" / "README.md"
GUARD = Path(__file__).with_name("far_guard.py")
COMMAND = f"exec {sys.executable} {GUARD}"


class Scene:
    """A turn of an agent whose guard is elsewhere."""

    def __init__(self, host: PluginHost, turn: Turn, logs: list[str]) -> None:
        self.host = host
        self.turn = turn
        self.logs = logs

    async def shell(self, command: str = "ls", tool: str = "shell") -> ToolOutcome:
        async def run(arguments: dict[str, Any]) -> str:
            return "ran"

        return await self.turn.call_tool(tool, {"command": command}, run=run, input_schema={})

    async def where(self) -> dict[str, Any]:
        """What the plugin finds on its machine."""
        found: dict[str, Any] = json.loads((await self.turn.call_tool("where", {})).text())
        return found

    @property
    def state(self) -> str:
        return self.host.plugins[0].state

    async def back(self, restarts: int = 1) -> None:
        """Wait until it has been started again."""
        await until(lambda: self.host.plugins[0].restarts >= restarts and self.state == "ready")


@asynccontextmanager
async def agent(plugin: Path, data: Path, **spec: Any) -> AsyncGenerator[Scene]:
    logs = list[str]()
    async with (
        PluginHost(
            [PluginSpec(plugin, name="guard", **spec)],
            data_home=data,
            on_log=lambda plugin, level, text: logs.append(text),
        ) as host,
        host.session() as session,
        session.turn("tidy up") as turn,
    ):
        yield Scene(host, turn, logs)


def test_the_page_shows_what_is_tried() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert f"exec ssh {' '.join(OPTIONS)} box" in page


@needs_sshd
async def test_it_keeps_to_the_protocol(tmp_path: Path) -> None:
    quick = PAGE.parents[1] / "guard.sh"
    with trio.fail_after(WAIT_S):
        async with box_in(tmp_path / "box") as box:
            path = box.plugin(tmp_path / "guard", f"exec {quick}")
            await passes(path)


@needs_sshd
async def test_what_comes_over_the_wire_holds(tmp_path: Path) -> None:
    with trio.fail_after(WAIT_S):
        async with box_in(tmp_path / "box") as box:
            # the shell there greets, and GUARD_KEY goes where ssh is told to send it
            path = box.plugin(
                tmp_path / "guard",
                f"'echo welcome to the box; {COMMAND}'",
                "-o",
                "SendEnv=GUARD_KEY",
            )
            spec = {"config": {"strict": True}, "env": {"GUARD_KEY": "k-4711"}}
            async with agent(path, tmp_path / "data", **spec) as scene:
                assert (await scene.shell()).status == "ok"
                assert (await scene.shell("rm x")).text().endswith("guard: not with rm")
                found = await scene.where()
                home = pwd.getpwuid(os.getuid()).pw_dir
                assert {key: value for key, value in found.items() if key != "pid"} == {
                    "folder": home,
                    "data_dir": str(tmp_path / "data" / "guard"),
                    "config": {"strict": True},
                    "key": "k-4711",
                    "over": True,
                }
                await until(lambda: "hello from elsewhere" in scene.logs)
                assert any("welcome to the box" in line for line in scene.logs)

                flag = tmp_path / "flag"
                with trio.move_on_after(60) as waiting:
                    async with trio.open_nursery() as nursery:
                        nursery.start_soon(scene.turn.call_tool, "slow", {"flag": str(flag)})
                        await until(flag.exists)
                        waiting.cancel()
                await until(lambda: flag.read_text() == "cancelled")
            await until(lambda: not lives(found["pid"]))


@needs_sshd
async def test_without_sendenv_a_granted_variable_stays_here(tmp_path: Path) -> None:
    with trio.fail_after(WAIT_S):
        async with box_in(tmp_path / "box") as box:
            path = box.plugin(tmp_path / "guard", COMMAND)
            async with agent(path, tmp_path / "data", env={"GUARD_KEY": "k-4711"}) as scene:
                assert (await scene.where())["key"] is None


@needs_sshd
async def test_a_link_that_is_cut_denies_and_fails_and_comes_back(tmp_path: Path) -> None:
    asked, begun = tmp_path / "asked", tmp_path / "begun"
    outcomes = dict[str, ToolOutcome]()
    with trio.fail_after(WAIT_S):
        async with box_in(tmp_path / "box") as box:
            path = box.plugin(tmp_path / "guard", COMMAND)
            async with agent(path, tmp_path / "data") as scene:
                pid = (await scene.where())["pid"]

                async def hook() -> None:
                    outcomes["hook"] = await scene.shell(f"wait {asked}")

                async def tool() -> None:
                    outcomes["tool"] = await scene.turn.call_tool("slow", {"flag": str(begun)})

                async with trio.open_nursery() as nursery:
                    nursery.start_soon(hook)
                    nursery.start_soon(tool)
                    await until(lambda: asked.exists() and begun.exists())
                    box.link.cut()
                assert outcomes["hook"].status == "denied"
                assert outcomes["tool"].status == "error"
                await until(lambda: not lives(pid))  # its input has ended there
                await scene.back()
                assert (await scene.shell("rm x")).text().endswith("guard: not with rm")
                assert (await scene.where())["pid"] != pid


@needs_sshd
async def test_a_link_that_says_nothing_more_denies_in_time(tmp_path: Path) -> None:
    with trio.fail_after(WAIT_S):
        async with box_in(tmp_path / "box") as box:
            path = box.plugin(tmp_path / "guard", COMMAND, "-o", "ServerAliveInterval=1")
            async with agent(path, tmp_path / "data") as scene:
                assert (await scene.shell()).status == "ok"
                box.link.frozen = True
                quick = await scene.shell(tool="quick")
                assert quick.text().endswith("guard: no answer within 0.2 s")
                # ssh gives up by itself, and what was asked has failed before its time
                assert (await scene.shell()).status == "denied"
                box.link.frozen = False
                await scene.back()
                assert (await scene.shell()).status == "ok"


@needs_sshd
async def test_the_way_there_and_back_counts_as_the_plugins_time(tmp_path: Path) -> None:
    with trio.fail_after(WAIT_S):
        async with box_in(tmp_path / "box") as box:
            path = box.plugin(tmp_path / "guard", COMMAND)
            async with agent(path, tmp_path / "data") as scene:
                box.link.delay_s = 0.15
                begun = trio.current_time()
                assert (await scene.shell()).status == "ok"
                assert trio.current_time() - begun >= 0.3
                quick = await scene.shell(tool="quick")
                assert quick.text().endswith("guard: no answer within 0.2 s")


HOST = """
import sys, trio
from sliphook import PluginHost

async def main():
    async with PluginHost([sys.argv[1]]) as host, host.session() as session:
        async with session.turn("x") as turn:
            for tool in ("where", "child"):
                print((await turn.call_tool(tool, {})).text(), flush=True)
            await trio.sleep_forever()

trio.run(main)
"""


@needs_sshd
async def test_after_a_killed_host_the_plugin_ends_there_but_not_its_children(
    tmp_path: Path,
) -> None:
    with trio.fail_after(WAIT_S):
        async with box_in(tmp_path / "box") as box:
            path = box.plugin(tmp_path / "guard", COMMAND)
            host = await trio.lowlevel.open_process(
                [sys.executable, "-c", HOST, str(path)], stdout=subprocess.PIPE
            )
            assert host.stdout is not None
            text = b""
            while text.count(b"\n") < 2:
                text += await host.stdout.receive_some()
            where, child = map(json.loads, text.splitlines())
            assert lives(where["pid"])
            host.kill()
            await host.wait()
            await until(lambda: not lives(where["pid"]))
            assert lives(child)
            os.kill(child, signal.SIGTERM)


@needs_sshd
async def test_a_hash_here_says_nothing_of_the_file_there(tmp_path: Path) -> None:
    there = tmp_path / "there.py"
    shutil.copy(GUARD, there)
    approved = hashlib.sha256(there.read_bytes()).hexdigest()
    run = f"exec {sys.executable} {there}"
    page = PAGE.read_text(encoding="utf-8")
    assert 'echo "SHA256  /opt/guard" | sha256sum --check --status && exec /opt/guard' in page
    checked = f"""'echo "{approved}  {there}" | sha256sum --check --status && {run}'"""
    with trio.fail_after(WAIT_S):
        async with box_in(tmp_path / "box") as box:
            path = box.plugin(tmp_path / "guard", run)
            sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
            async with agent(path, tmp_path / "data", sha256=sha256) as scene:
                manifest = scene.host.plugins[0].manifest
                assert (await scene.shell("rm x")).text().endswith("guard: not with rm")
            there.write_text(GUARD.read_text().replace("not with rm", "changed"))
            async with agent(path, tmp_path / "data", sha256=sha256) as scene:
                assert (await scene.shell("rm x")).text().endswith("guard: changed")
            path = box.plugin(tmp_path / "careful", checked)
            async with agent(path, tmp_path / "data", recorded=manifest) as scene:
                assert scene.state == "failed"
                assert (await scene.shell()).status == "denied"
            there.write_text(GUARD.read_text())
            async with agent(path, tmp_path / "data", recorded=manifest) as scene:
                assert (await scene.shell()).status == "ok"
            # what the plugin asks for is compared as ever
            there.write_text(GUARD.read_text().replace('env=["', 'uses=["submit"], env=["'))
            path = box.plugin(tmp_path / "guard", run)
            async with agent(path, tmp_path / "data", recorded=manifest) as scene:
                assert scene.state == "refused"
                assert (await scene.shell()).status == "denied"
            # and so is the key of the machine
            there.write_text(GUARD.read_text())
            box.known.write_text(box.known.read_text().replace("AAAA", "AAAB", 1))
            async with agent(path, tmp_path / "data", recorded=manifest) as scene:
                assert scene.state == "failed"
                assert (await scene.shell()).status == "denied"
