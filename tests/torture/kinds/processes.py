"""Programs that die, do not die, or have children."""

from __future__ import annotations

import os
import pty
import signal
import sys
from pathlib import Path

import trio

from tests.torture.agents import ROOT, START_S, command, kill_agent
from tests.torture.case import Case, Make, Workshop, at_first, c, nothing, python
from tests.torture.inside import comes, has_ended, keeper_pid, living
from tests.torture.stage import HEALTHY, Stage, check_healthy, make_all

_STUBBORN = python(
    """
    for number in range(1, 32):
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_IGN)
    greet()
    for _ in range(3):
        if os.fork() == 0:
            break
    while True:
        time.sleep(1000)
    """
)
"""Ignores every signal and the end of its standard input, with three children that do the same."""


def _dies(name: str, body: str, says: str) -> Case:
    return Case(
        "processes",
        name,
        "settled at once, told why, started again",
        at_first(body),
        "crashed",
        says=says,
        restarts=1,
    )


def _by_signal(number: signal.Signals) -> Case:
    body = (
        f"signal.signal({number.value}, signal.SIG_DFL)\n"
        f"os.kill(os.getpid(), {number.value})\ntime.sleep(100)"
    )
    if number in (signal.SIGKILL, signal.SIGSTOP):
        body = f"os.kill(os.getpid(), {number.value})\ntime.sleep(100)"
    return _dies(
        f"dies of {number.name}",
        "import resource\nresource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n" + body,
        f"was killed by {number.name}",
    )


def _grandchild(name: str, body: str, says: str = "exited with status 0") -> Case:
    promise = "its death is seen at once, and what is left of its group is killed"
    return Case("processes", name, promise, at_first(body), "crashed", says=says, restarts=1)


async def _daemon_is_out_of_reach(stage: Stage) -> None:
    """Not promised: a grandchild with its own session lives on; here it ends by itself."""
    file = stage.shop.folder / "data" / "bad" / "daemon"
    await stage.until(lambda: file.exists() and file.read_text().endswith("\n"), "the daemon")
    assert living([int(file.read_text())]), (
        "the daemon has been killed, and the documents say that it is out of reach"
    )


def _host_dies(number: signal.Signals) -> Case:
    async def scene(shop: Workshop) -> None:
        await kill_agent(shop, "waits", number, _STUBBORN)

    return Case(
        "processes",
        f"host dies of {number.name}",
        "no plugin's group outlives the host by two seconds",
        nothing,
        scene=scene,
    )


def _host_dies_with_workers(name: str, mode: str) -> Case:
    async def scene(shop: Workshop) -> None:
        await kill_agent(shop, mode, signal.SIGKILL, _STUBBORN)

    return Case(
        "processes",
        name,
        "no plugin's group outlives the host by two seconds",
        nothing,
        scene=scene,
    )


def _reaper(name: str, number: signal.Signals) -> Case:
    """Something happens to the reaper: plugins start, answer and end as before."""

    async def scene(shop: Workshop) -> None:
        programs = await trio.to_thread.run_sync(lambda: make_all(shop, _GOOD, HEALTHY))
        stage = Stage(shop)
        async with stage.open_host(programs) as host, host.session() as stage.session:
            keeper = keeper_pid(host)
            assert keeper is not None
            os.kill(keeper, number)
            assert (await host.restart("bad")).state == "ready", stage.bad
            check_healthy(await stage.ask())
            await stage.interrupt()

    return Case(
        "processes",
        name,
        "plugins work as before, the reaper is gone with the host",
        nothing,
        scene=scene,
    )


_GOOD = python("greet()\nserve()")
_NOTES_SIGNALS = python(
    """
    def note(number, _):
        open("signalled", "w").write(str(number))
    signal.signal(signal.SIGINT, note)
    signal.signal(signal.SIGHUP, note)
    greet()
    serve()
    """
)


async def _ctrl_c(shop: Workshop) -> None:
    """Ctrl+C at a terminal reaches the agent alone; it ends its plugins in good order."""
    programs = await trio.to_thread.run_sync(lambda: make_all(shop, _NOTES_SIGNALS, HEALTHY))
    words = command("waits", shop, programs)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(ROOT)
        os.execve(words[0], words, environment)
    try:
        said = b""
        with trio.fail_after(START_S):
            while b"\n" not in said:
                await trio.lowlevel.wait_readable(terminal)
                said += os.read(terminal, 4096)
            groups = [int(word) for word in said.split(b"\n")[0].split()]
            assert living(groups)
            os.write(terminal, b"\x03")
            assert await comes(lambda: has_ended(pid), 30), "the agent did not end"
        assert not living(groups)
        assert not (shop.folder / "data" / "bad" / "signalled").exists(), (
            "the plugin got the terminal's signal"
        )
    finally:
        trio.lowlevel.notify_closing(terminal)
        os.close(terminal)
        os.kill(pid, signal.SIGKILL)
        await trio.to_thread.run_sync(os.waitpid, pid, 0)


_SEGFAULT = (Path(__file__).parents[1] / "programs" / "segfault.c").read_text(encoding="utf-8")

_C_FORKS_RAW = """
#include <unistd.h>
#include <signal.h>
int main(void) {
    for (int i = 0; i < 5; i++) if (fork() == 0) { signal(SIGTERM, SIG_IGN); for (;;) pause(); }
    return 7;
}
"""


def _compiled_dies(name: str, source: str, make: Make | None = None) -> Case:
    return Case(
        "processes",
        name,
        "settled at once, told why, started again",
        make or c(source),
        "crashed",
        says="was killed by SIGSEGV",
        restarts=1,
    )


_DEADLY = (
    "HUP",
    "INT",
    "QUIT",
    "ILL",
    "TRAP",
    "ABRT",
    "BUS",
    "FPE",
    "KILL",
    "USR1",
    "SEGV",
    "USR2",
    "PIPE",
    "ALRM",
    "TERM",
    "XCPU",
    "SYS",
)
_HOST_DEADLY = (
    "HUP",
    "INT",
    "QUIT",
    "ABRT",
    "KILL",
    "SEGV",
    "TERM",
    "ALRM",
    "USR1",
    "BUS",
    "ILL",
    "FPE",
)

CASES = (
    _dies("exits in the hook", "sys.exit(0)", "exited with status 0"),
    _dies("exits with 77", "os._exit(77)", "exited with status 77"),
    _dies(
        "raises in the hook",
        "raise ValueError('oh no')",
        "exited with status 1; .*ValueError: oh no",
    ),
    _dies("exits after half an answer", "raw(b'stray')\nos._exit(1)", "exited with status 1"),
    _dies("kills its own group", "os.killpg(0, signal.SIGKILL)", "was killed by SIGKILL"),
    _dies(
        "becomes another program",
        "os.execv('/bin/sh', ['sh', '-c', 'exit 9'])",
        "exited with status 9",
    ),
    *(_by_signal(getattr(signal, f"SIG{name}")) for name in _DEADLY),
    _compiled_dies("segmentation fault in C", _SEGFAULT),
    Case(
        "processes",
        "forks and exits before the handshake",
        "told why, the group is killed",
        c(_C_FORKS_RAW),
        None,
        "failed",
        "exited with status 7",
    ),
    _grandchild("grandchild holds the pipes", "subprocess.Popen(['sleep', '1000'])\nsys.exit(0)"),
    _grandchild(
        "grandchild writes for ever",
        "subprocess.Popen(['sh', '-c', 'while :; do echo noise >&2; done'])\nsys.exit(0)",
    ),
    _grandchild(
        "grandchild ignores SIGTERM",
        "subprocess.Popen(['sh', '-c', 'trap \"\" TERM HUP INT; sleep 1000'])\nsys.exit(0)",
    ),
    _grandchild(
        "thirty children", "for _ in range(30): subprocess.Popen(['sleep', '1000'])\nsys.exit(0)"
    ),
    _grandchild(
        "forks in atexit",
        "import atexit\natexit.register(lambda: os.fork() or time.sleep(1000))\nsys.exit(0)",
    ),
    _grandchild(
        "forks twice",
        "if os.fork() == 0:\n    if os.fork() == 0: time.sleep(1000)\n    os._exit(0)\n"
        "os.wait()\nsys.exit(0)",
    ),
    _grandchild(
        "stopped grandchild",
        "subprocess.Popen(['sh', '-c', 'kill -STOP $$; sleep 1000'])\ntime.sleep(.2)\nsys.exit(0)",
    ),
    Case(
        "processes",
        "daemon with its own session",
        "not promised: out of reach, and said so; the host does not wait for it",
        at_first(
            "if os.fork() == 0:\n    os.setsid()\n"
            "    open('daemon', 'w').write(f'{os.getpid()}\\n')\n    time.sleep(3)\n"
            "    os._exit(0)\n"
            "while not os.path.exists('daemon'): time.sleep(.01)\ntime.sleep(.1)\nsys.exit(0)"
        ),
        "crashed",
        says="exited with status 0",
        restarts=1,
        act=_daemon_is_out_of_reach,
    ),
    Case(
        "processes",
        "leaves zombies behind",
        "its zombies are its own",
        at_first("for _ in range(20): subprocess.Popen(['true'])\ntime.sleep(.2)\nreply(id, {})"),
        restarts=0,
    ),
    _reaper("reaper killed", signal.SIGKILL),
    _reaper("reaper stopped", signal.SIGSTOP),
    Case("processes", "Ctrl+C in the terminal", "reaches the agent alone", nothing, scene=_ctrl_c),
    *(_host_dies(getattr(signal, f"SIG{name}")) for name in _HOST_DEADLY),
    _host_dies_with_workers("host dies, its forked worker lives", "forks"),
    _host_dies_with_workers("host dies, its worker forked in C lives", "forks without hooks"),
)
