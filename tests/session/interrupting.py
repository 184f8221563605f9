"""A conversation with plugins, and a turn of it that is interrupted."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import trio

from sliphook import PluginHost, Session, Turn
from tests.programs import EVERYTHING, WAIT_S, Program, case_of, until

AT_ONCE_S = 2.0
"""Far more than the bookkeeping takes on a busy machine, and less than any timeout of a plugin.

Torture measures its CPU.
"""

ALL = [{"event": event, "subagents": True} for event in EVERYTHING]


@asynccontextmanager
async def conversation(*programs: Program) -> AsyncGenerator[tuple[PluginHost, Session]]:
    """A host with these plugins and one session."""
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([program.path for program in programs]) as host,
            host.session() as session,
        ):
            yield host, session


async def interrupted_turn(
    session: Session, body: Callable[[Turn], Any], when: Callable[[], bool]
) -> Turn:
    """Run a turn in a new task, interrupt it when `when` is true.

    Return it after its block is left.
    """
    turn = session.turn("hello")
    left = trio.Event()

    async def run() -> None:
        async with turn:
            await body(turn)
        left.set()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(run)
        await until(lambda: session.open_turn is turn and when())
        began = time.perf_counter()
        assert session.interrupt("user_stop", "stop_command") is True
        assert time.perf_counter() - began < AT_ONCE_S
        assert turn.outcome == "interrupted"
        assert session.open_turn is None
        await left.wait()
    return turn


def after(program: Program, method: str) -> list[str]:
    """The methods that came behind the last message of that method."""
    methods = program.methods()
    return methods[len(methods) - methods[::-1].index(method) :]


def hang_in(method: str) -> str:
    return case_of(method, "return NOTHING") + "\nreturn {}"
