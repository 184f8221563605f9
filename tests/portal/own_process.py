"""`python own_process.py FACE PLUGINS...`: what of this process a host uses, as JSON.

Prints three looks: before the host is opened, inside its blocks, and after they were left.
"""

from __future__ import annotations

import asyncio
import atexit
import gc
import json
import logging
import os
import signal
import sys
import threading
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

import trio

from sliphook import PluginHost, aio, blocking

looks: list[dict[str, Any]] = []


def look() -> None:
    mask = os.umask(0o077)
    os.umask(mask)
    wakeup = signal.set_wakeup_fd(-1)
    if wakeup != -1:
        signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)
    looks.append(
        {
            "signals": [
                [id(signal.getsignal(number)) for number in signal.Signals],
                sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
                wakeup,
            ],
            "descriptors": descriptors(),
            "threads": sorted(
                # those of trio's pool end by themselves, 10 s after their last use
                thread.name
                for thread in threading.enumerate()
                if not thread.name.startswith("Trio thread")
            ),
            "children": children(),
            "folder": os.getcwd(),
            "environment": dict(os.environ),
            "umask": mask,
            # nothing public tells
            "exit functions": vars(atexit)["_ncallbacks"](),
            "logging": [
                str(logging.root.handlers),
                logging.root.level,
                logging.root.manager.disable,
            ],
            "warnings": list(map(str, warnings.filters)),
            "event loop": [
                str(getattr(asyncio.events, "_event_loop_policy", None)),
                str(sys.get_asyncgen_hooks()),
            ],
            "collector": [gc.isenabled(), gc.get_threshold(), gc.get_freeze_count()],
            "interpreter": [
                str([sys.excepthook, sys.unraisablehook, sys.displayhook, threading.excepthook]),
                str([sys.stdin, sys.stdout, sys.stderr, sys.gettrace(), sys.getprofile()]),
                sys.getrecursionlimit(),
                sys.getswitchinterval(),
            ],
        }
    )


def descriptors() -> dict[str, bool]:
    """What is open, and whether a child would inherit it."""
    found: dict[str, bool] = {}
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):  # the one of the listing itself
            found[f"{name} {os.readlink(f'/proc/self/fd/{name}')}"] = os.get_inheritable(int(name))
    return found


def children() -> list[str]:
    found: list[str] = []
    for task in os.listdir("/proc/self/task"):
        with suppress(OSError):  # the thread has ended
            found += Path(f"/proc/self/task/{task}/children").read_text().split()
    return sorted(found)


async def use(host_type: Any, plugins: list[str]) -> None:
    look()
    async with host_type(plugins) as host, host.session() as session, session.turn("x") as turn:
        await turn.call_tool("ping0", {})
        look()
    look()


def use_blocking(plugins: list[str]) -> None:
    look()
    with blocking.PluginHost(plugins) as host, host.session() as session, session.turn("x") as turn:
        turn.call_tool("ping0", {})
        look()
    look()


if __name__ == "__main__":
    face, *paths = sys.argv[1:]
    if face == "trio":
        trio.run(use, PluginHost, paths)
    elif face == "aio":
        asyncio.run(use(aio.PluginHost, paths))
    else:
        use_blocking(paths)
    print(json.dumps(looks))
