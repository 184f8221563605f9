"""The three standard streams of a plugin's process.

On Linux, standard input and output are pairs of Unix sockets: a pipe can be opened once more by way
of `/proc/PID/fd/1`, by every process of the user, which could then answer in a plugin's name. A
socket cannot. Node starts all its children this way. What it costs a plugin: it cannot open
`/dev/stdin` or `/dev/stdout` by path. Standard error is a pipe everywhere, as shell scripts do open
`/dev/stderr`.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from time import thread_time
from typing import IO, Final, cast

import trio

from sliphook.transport.pace import Pace

STEP_PIECES: Final = 16
STEP_S: Final = 0.001
"""So much is read in one step, and a piece more. Most is quick, and beside busy plugins a step may
take a pass of the loop."""

Start = Callable[[int, int], "subprocess.Popen[bytes]"]
"""Starts the process with these as its stdin and stdout, and a pipe as its stderr."""


def start_with_streams(start: Start) -> subprocess.Popen[bytes]:
    """Start a process; its `stdin`, `stdout` and `stderr` are our ends of its streams.

    Args:
        start: gets two descriptors, or `subprocess.PIPE` twice.

    Raises:
        OSError: no descriptors are left; and whatever `start` raises.
    """
    if sys.platform != "linux":
        return start(subprocess.PIPE, subprocess.PIPE)
    our_stdin, stdin = socket.socketpair()
    with our_stdin, stdin:
        our_stdout, stdout = socket.socketpair()
        with our_stdout, stdout:
            # each goes one way, as a pipe does: what a plugin writes to its standard input would
            # never be read, and turn the end of the stream into an error (ECONNRESET)
            our_stdin.shutdown(socket.SHUT_RD)
            our_stdout.shutdown(socket.SHUT_WR)
            # a default timeout for sockets, which the agent may have set, makes them non-blocking;
            # few programs can use such a stream
            os.set_blocking(stdin.fileno(), True)
            os.set_blocking(stdout.fileno(), True)
            # a byte that is sent out of band is read like any other
            our_stdout.setsockopt(socket.SOL_SOCKET, socket.SO_OOBINLINE, 1)
            popen = start(stdin.fileno(), stdout.fileno())
            popen.stdin = _file(our_stdin, "wb")
            popen.stdout = _file(our_stdout, "rb")
            return popen


def _file(ours: socket.socket, mode: str) -> IO[bytes]:
    return cast("IO[bytes]", open(ours.detach(), mode, buffering=0))


async def read_by_turns(
    descriptor: int, read_piece: Callable[[int], int | None], pace: Pace
) -> None:
    """Call `read_piece` whenever something can be read, until it returns 0.

    Few of the tasks that share a `pace` do so in one pass of the loop, in the time for readers.
    """
    while True:
        await trio.lowlevel.wait_readable(descriptor)
        # in between: those that were written to at once wake in one pass
        if await pace.read(lambda: read_step(descriptor, read_piece)) == 0:
            return


def read_step(descriptor: int, read_piece: Callable[[int], int | None]) -> int | None:
    """Read pieces; returns 0 at the end of the stream, None if nothing is there, else how many."""
    until_s = thread_time() + STEP_S
    for number in range(STEP_PIECES):
        count = read_piece(descriptor)
        if not count:
            return (number or None) if count is None else 0
        if thread_time() >= until_s:
            return number + 1
    return STEP_PIECES
