"""The examples that run commands of the user's: in a project of their own, under the real host."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import trio

from sliphook import PluginHost
from tests.programs import WAIT_S, until
from tests.stubborn import lives, needs_proc, pids, stubborn

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


def project(folder: Path, recipe: str) -> None:
    (folder / "Makefile").write_text(f"test:\n\t@{recipe}\n")


@needs_make
async def test_the_gate_tells_the_model_what_fails(tmp_path: Path) -> None:
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([EXAMPLES / "gate.py"]) as host,
            host.session(cwd=tmp_path) as session,
            session.turn("hello") as turn,
        ):
            assert await turn.stop() is None, "there is no Makefile"
            project(tmp_path, "echo test_login failed; exit 1")
            said = await turn.stop()
            assert said is not None
            assert said.startswith("The tests fail:\ntest_login failed\nmake: ")
            project(tmp_path, "true")
            assert await turn.stop() is None


@needs_make
@needs_proc
async def test_an_interrupt_ends_the_tests(tmp_path: Path) -> None:
    stubborn(tmp_path)
    project(tmp_path, "./stubborn")
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([EXAMPLES / "gate.py"]) as host,
            host.session(cwd=tmp_path) as session,
        ):
            async with session.turn("hello") as turn, trio.open_nursery() as nursery:
                nursery.start_soon(turn.stop)
                await until(lambda: len(pids(tmp_path)) == 2)
                session.interrupt("user_stop")
            await until(lambda: not any(map(lives, pids(tmp_path))))
