"""One plugin against another, or against the reaper, with nothing but the rights of their user."""

from __future__ import annotations

import os
import signal
import sys

import trio

from sliphook import PluginHost
from tests.torture.agents import kill_agent
from tests.torture.case import Case, Make, Skip, Workshop, nothing, python
from tests.torture.inside import comes, keeper_pid, living
from tests.torture.stage import HEALTHY, Stage, check_healthy, make_all

_FIND = """
def children(program):
    "The processes of this program that have the same parent as this one."
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as file:
                parent = int(file.read().rsplit(")", 1)[1].split()[1])
            with open(f"/proc/{pid}/cmdline") as file:
                if parent == os.getppid() and file.read().endswith(program + "\\0"):
                    yield int(pid)
        except OSError:
            continue
"""
_OPENS = """
HEALTHY = os.path.join(os.path.dirname(sys.argv[0]), "healthy")

def opens(name, descriptor, flags, data=b""):
    tried = []
    for pid in children(name):
        try:
            opened = os.open(f"/proc/{pid}/fd/{descriptor}", flags | os.O_NONBLOCK)
            tried.append("opened")
            if data:
                os.write(opened, data)
        except OSError as error:
            tried.append(os.strerror(error.errno))
    with open("tried", "w") as file:
        file.write(" ".join(tried) + "\\n")
"""


def _opens(what: str, call: str) -> Case:
    """The program tries to open another process's stream by way of /proc."""

    async def refused(stage: Stage) -> None:
        if sys.platform != "linux":
            raise Skip("there is no /proc")
        file = stage.shop.folder / "data" / "bad" / "tried"
        await stage.until(lambda: file.exists() and file.read_text().endswith("\n"), "the try")
        # more than one, where several hosts run side by side
        tried = set(file.read_text().strip().replace("address ", "address|").split("|"))
        assert tried == {"No such device or address"}, tried

    body = f"{_FIND}{_OPENS}\ngreet()\nid = hook()\n{call}\nreply(id, {{}})\nserve()"
    promise = "a stream of another process cannot be opened"
    return Case("neighbours", what, promise, python(body), act=refused)


def _keeper_is_gone(name: str, number: signal.Signals) -> Case:
    """The reaper is killed or stopped: another takes its place, and no living plugin is touched."""

    async def scene(shop: Workshop) -> None:
        programs = await trio.to_thread.run_sync(
            lambda: make_all(shop, python("greet()\nserve()"), HEALTHY)
        )
        stage = Stage(shop)
        async with stage.open_host(programs) as host, host.session() as stage.session:
            before, pids = keeper_pid(host), [plugin.pid for plugin in host.plugins]
            assert before is not None
            os.kill(before, number)
            assert await comes(lambda: _another(host, before), 30.0), "no other reaper was started"
            if number == signal.SIGSTOP:
                assert not living([before]), "the stopped one lives"
            check_healthy(await stage.ask())
            assert [plugin.pid for plugin in host.plugins] == pids
            await stage.interrupt()

    return Case("neighbours", name, "another reaper takes its place", nothing, scene=scene)


def _another(host: PluginHost, before: int) -> bool:
    return keeper_pid(host) not in (None, before)


def _outlives(name: str, number: signal.Signals) -> Case:
    """A plugin that holds on to life takes the reaper away; a moment later the host is killed."""
    make: Make = python(
        f"""
        {_FIND.strip().replace(chr(10), chr(10) + " " * 8)}
        for caught in (signal.SIGPIPE, signal.SIGHUP, signal.SIGTERM):
            signal.signal(caught, signal.SIG_IGN)
        for pid in children("reaper_main.py"):
            os.kill(pid, {int(number)})
        time.sleep(4)  # another one is there after a second
        greet()
        time.sleep(1000)
        """
    )

    async def scene(shop: Workshop) -> None:
        if sys.platform != "linux":
            raise Skip("there is no /proc")
        await kill_agent(shop, "waits", signal.SIGKILL, make)

    promise = "no plugin's group outlives the host by two seconds"
    return Case("neighbours", name, promise, nothing, scene=scene)


_FORGED = b'{"jsonrpc":"2.0","id":2,"result":{"decision":"deny"}}\n'

CASES = (
    _opens("answers for another", f"opens(HEALTHY, 1, os.O_WRONLY, {_FORGED!r})"),
    _opens("reads what another is asked", "opens(HEALTHY, 0, os.O_RDONLY)"),
    _opens(
        "tells the reaper that no group lives", 'opens("reaper_main.py", 0, os.O_WRONLY, b"\\n")'
    ),
    _keeper_is_gone("reaper killed", signal.SIGKILL),
    _keeper_is_gone("reaper stopped", signal.SIGSTOP),
    _outlives("reaper killed, then the host", signal.SIGKILL),
    _outlives("reaper stopped, then the host", signal.SIGSTOP),
)
