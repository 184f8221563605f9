"""Ends a process in steps, and reaps it.

The caller shields both from cancellation; the longest way takes less than six seconds.
"""

from __future__ import annotations

import signal
from collections.abc import Awaitable, Callable

import msgspec
import trio

from sliphook.agent_log import agent_log
from sliphook.transport import descriptors
from sliphook.transport.call import Call
from sliphook.transport.connection import Connection
from sliphook.transport.deadlines import Deadlines
from sliphook.transport.pace import Pace
from sliphook.transport.reader import LAST_READS
from sliphook.wire import envelope
from sliphook_sdk.protocol import Empty
from sliphook_sdk.protocol.limits import EXIT_GRACE_S, SHUTDOWN_TIMEOUT_S, TERM_GRACE_S

from .child import Process
from .streams import read_step

_log = agent_log(__name__)
NO_PARAMS = msgspec.Raw(envelope.encode(Empty()))
KILL_GRACE_S = 2.0
"""How long a killed process may take to end before the host gives up on it, with a log line."""


async def terminate(
    process: Process,
    connection: Connection,
    deadlines: Deadlines,
    hurry: trio.Event,
    *,
    polite: bool,
    say: Callable[[str], None],
) -> None:
    """End a process: `shutdown`, `exit` and EOF, SIGTERM, SIGKILL, until one of these has worked.

    The process may still live after SIGKILL; `reap` waits for it.

    Args:
        process: the process to end.
        connection: the connection to it.
        deadlines: the host's deadlines.
        hurry: if this is set, also meanwhile, the group is killed at once.
        polite: send `shutdown` before `exit`: the plugin has answered `initialize`.
        say: takes a line for the plugin's log.
    """
    if polite and not hurry.is_set():
        # a plugin that ends or is killed meanwhile never answers
        await _until_first(hurry.wait, process.exited, lambda: _shutdown(connection, deadlines))
    # both, as protocol.md says: a plugin may wait for the message or for the end of its input
    connection.notify("exit", NO_PARAMS)
    connection.close_stdin()
    # each pair: how long to wait for the end, and the signal if it does not come
    for grace_s, number in ((EXIT_GRACE_S, signal.SIGTERM), (TERM_GRACE_S, signal.SIGKILL)):
        if not hurry.is_set():
            with trio.move_on_after(grace_s) as waiting:
                await _until_first(hurry.wait, process.exited)
            if not waiting.cancelled_caught and not hurry.is_set():
                return
            if waiting.cancelled_caught:
                say(f"it did not end within {grace_s:g} s; its process group gets {number.name}")
        process.signal_group(signal.SIGKILL if hurry.is_set() else number)


async def _shutdown(connection: Connection, deadlines: Deadlines) -> None:
    answered = trio.Event()
    call = Call("shutdown", SHUTDOWN_TIMEOUT_S, lambda _: answered.set())
    call.start_clock(deadlines)
    connection.call(call, NO_PARAMS)
    await answered.wait()


async def _until_first(*waits: Callable[[], Awaitable[object]]) -> None:
    """Return when the first of `waits` does, and cancel the others."""

    # Ctrl+C is for the agent's code: raised in here, it would leave the plugin half ended
    @trio.lowlevel.enable_ki_protection
    async def one(wait: Callable[[], Awaitable[object]], scope: trio.CancelScope) -> None:
        await wait()
        scope.cancel()

    async with trio.open_nursery() as nursery:
        for wait in waits:
            nursery.start_soon(one, wait, nursery.cancel_scope)


async def reap(process: Process, name: str, pace: Pace, *, grace_s: float) -> int | None:
    """Kill what is left of the group and reap its leader; the pipes keep what was written.

    Args:
        process: the process, which has ended or has to end.
        name: the plugin's name, for the log.
        pace: many processes may have ended at once.
        grace_s: how long it may still take to end by itself.

    Returns:
        The exit status as `subprocess` gives it, or None if the process cannot be killed.
    """
    with trio.move_on_after(grace_s):
        await process.exited()
    await pace.step()
    if process.reap() is None:
        process.signal_group(signal.SIGKILL)
        with trio.move_on_after(KILL_GRACE_S):
            await process.exited()
        await pace.step()
    returncode = process.reap()
    if returncode is None:
        _log.error(
            "the process %d of the plugin %s cannot be killed and is left behind", process.pid, name
        )
    return returncode


async def drain(descriptor: int, read_piece: Callable[[int], int | None], pace: Pace) -> None:
    """Read what a dead process left in a pipe, without waiting for more, and close the pipe."""
    # bounded: a process that has left the group may hold the pipe and go on writing
    for _ in range(LAST_READS):
        # many may have ended at once
        if not await pace.read(lambda: read_step(descriptor, read_piece)):
            break
    descriptors.close(descriptor)
