"""Agents in other processes: some are killed, run out of something, or sit at a terminal.

Run as `python -m tests.torture.agents MODE FOLDER PROGRAM…`.
"""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import trio

from sliphook import PluginHost
from tests.torture.case import Make, Workshop
from tests.torture.inside import comes, living
from tests.torture.stage import HEALTHY, Stage, check_healthy, make_all

ROOT = Path(__file__).resolve().parent.parent.parent
START_S = 75.0
"""An agent in its own process with two plugins may take so long to be there on a busy machine."""
WAIT_S = 120.0


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def command(mode: str, shop: Workshop, programs: list[Path]) -> list[str]:
    """What starts such an agent."""
    return [
        sys.executable,
        "-m",
        "tests.torture.agents",
        mode,
        str(shop.folder),
        *map(str, programs),
    ]


async def run_agent(shop: Workshop, mode: str, make: Make) -> None:
    """Play `mode` beside a healthy plugin, in a process of its own.

    Raises:
        AssertionError: it did not end well; with its stderr.
    """
    programs = await trio.to_thread.run_sync(lambda: make_all(shop, make, HEALTHY))
    with trio.fail_after(START_S):
        done = await trio.run_process(
            command(mode, shop, programs),
            cwd=ROOT,
            env=_environment(),
            capture_stdout=True,
            capture_stderr=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr.decode()[-2_000:]


async def kill_agent(shop: Workshop, mode: str, number: int, make: Make) -> None:
    """Start an agent with two plugins and kill it: a moment later none of their processes lives.

    Raises:
        AssertionError: one does.
    """
    programs = await trio.to_thread.run_sync(lambda: make_all(shop, make, HEALTHY))
    agent = await trio.to_thread.run_sync(
        lambda: subprocess.Popen(
            command(mode, shop, programs),
            cwd=ROOT,
            env=_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    )
    assert agent.stdout is not None
    assert agent.stdin is not None
    try:
        output = agent.stdout
        line = b""
        with trio.move_on_after(START_S):
            line = await trio.to_thread.run_sync(output.readline, abandon_on_cancel=True)
        groups = [int(word) for word in line.split() if word.isdigit()]
        assert len(groups) == 2, f"within {START_S:g} s the agent said {line!r}"
        assert len(living(groups)) >= 2
        agent.send_signal(number)
        with trio.fail_after(WAIT_S):
            await trio.to_thread.run_sync(agent.wait, abandon_on_cancel=True)
        began = time.monotonic()
        assert await comes(lambda: not living(groups), WAIT_S), (
            f"the agent is dead and these live: {living(groups)}"
        )
        took = time.monotonic() - began
        assert took < 10, (
            f"they lived for {took:.1f} s"
        )  # two are promised; the machine may be busy
    finally:
        agent.kill()
        agent.wait()
        agent.stdin.close()
        agent.stdout.close()


# -- inside the process
# ---------------------------------------------------------------------------------------------


async def _out_of(
    stage: Stage, programs: list[Path], exhaust: Callable[[], None], says: str
) -> None:
    """The healthy plugin runs; then there is nothing left to start another with, and it goes on."""
    async with stage.open_host(list(reversed(programs))) as host, host.session() as stage.session:
        check_healthy(await stage.ask())
        exhaust()
        status = await host.restart("bad")
        assert status.state == "failed", status
        assert status.why is not None, status
        assert says in status.why, status
        check_healthy(await stage.ask())


def _use_up_descriptors() -> None:
    lowest = os.dup(0)
    resource.setrlimit(
        resource.RLIMIT_NOFILE, (lowest + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    )


def _use_up_processes() -> None:
    def no_more(*_: object, **__: object) -> None:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    subprocess.Popen = no_more  # type: ignore[assignment,misc] # as fork answers at the limit of processes, which root does not have


async def _wait_for_death(programs: list[Path], folder: Path) -> None:
    async with PluginHost(
        programs, data_home=folder / "data", log_dir=folder / "logs", on_problem=_no_problem
    ) as host:
        print(*(plugin.pid for plugin in host.plugins), flush=True)
        await trio.sleep_forever()


def _no_problem(plugin: str, message: str) -> None:
    print(f"{plugin}: {message}", file=sys.stderr, flush=True)


def _fork_and_wait(programs: list[Path], folder: Path, fork: Callable[[], int]) -> None:
    async def main() -> None:
        async with PluginHost(programs, data_home=folder / "data", log_dir=folder / "logs") as host:
            if fork() == 0:
                os.read(0, 1)  # a worker that outlives the agent, until the test closes its end
                os._exit(0)
            print(*(plugin.pid for plugin in host.plugins), flush=True)
            await trio.sleep_forever()

    trio.run(main)


def main(mode: str, folder: str, *paths: str) -> None:
    """Be the agent."""
    shop, programs = Workshop(Path(folder)), [Path(path) for path in paths]
    if mode == "descriptors":
        trio.run(_out_of, Stage(shop), programs, _use_up_descriptors, "no file descriptors left")
    elif mode == "processes":
        trio.run(_out_of, Stage(shop), programs, _use_up_processes, "no room for another process")
    elif mode == "waits":
        trio.run(_wait_for_death, programs, shop.folder)
    elif mode == "forks":
        _fork_and_wait(programs, shop.folder, os.fork)
    elif mode == "forks without hooks":
        _fork_and_wait(programs, shop.folder, ctypes.CDLL(None).fork)


if __name__ == "__main__":
    main(*sys.argv[1:])
