"""`python forking.py FACE WHERE PLUGIN`: an agent that forks once in code of its own, at WHERE.

Says how the child ended, and what came of the calls. In a child that goes on, a line is said too.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

import trio

from sliphook import PluginHost, aio, blocking
from sliphook.errors import OtherProcess

FACE, WHERE, PLUGIN = sys.argv[1:]
CHILD_S = 60
"""A child that hangs is not left."""

parent = os.getpid()
has_forked = False


def say(*words: object) -> None:
    print(*words, *([] if os.getpid() == parent else ["in the child"]), flush=True)


def fork() -> None:
    global has_forked
    if has_forked:
        return
    has_forked = True
    pid = os.fork()
    if pid == 0:
        signal.alarm(CHILD_S)
        if WHERE == "run that exits":
            sys.exit(3)
        return
    say("child", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


def plain(name: str, gives: Any = None) -> Callable[..., Any]:
    def call(*_: object) -> Any:
        if WHERE.startswith(name):
            fork()
        return gives

    return call


def waiting(name: str, gives: Any) -> Callable[..., Any]:
    async def wait(*_: object) -> Any:
        return plain(name, gives)()

    return plain(name, gives) if FACE == "blocking" else wait


settings: dict[str, Any] = {
    "approver": waiting("approver", True),
    "asker": waiting("asker", "Bonn"),
    "can_ask": plain("can_ask", True),
    "on_log": plain("on_log"),
}
run = waiting("run", "ran")


def block() -> None:
    with (
        blocking.PluginHost([PLUGIN], **settings) as host,
        host.session(on_interrupt=plain("on_interrupt")) as session,
        session.turn("x") as turn,
    ):
        say(turn.call_tool("other", {}, run=run).status)
        say(turn.call_tool("deploy", {}).status)
        session.interrupt()


async def wait(face: Any) -> None:
    async with (
        face([PLUGIN], **settings) as host,
        host.session(on_interrupt=plain("on_interrupt")) as session,
        session.turn("x") as turn,
    ):
        say((await turn.call_tool("other", {}, run=run)).status)
        say((await turn.call_tool("deploy", {})).status)
        session.interrupt()


try:
    if FACE == "blocking":
        block()
    elif FACE == "aio":
        asyncio.run(wait(aio.PluginHost))
    else:
        trio.run(wait, PluginHost)
except OtherProcess:
    say("refused")
    sys.exit(7)
say("end")
