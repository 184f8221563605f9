"""One process that serves one model: its start, its health, its last words, its end."""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import subprocess
import sys
from contextlib import suppress
from typing import IO

STEP_S = 0.01
GRACE_S = 1.0
"""How long a server has to end after SIGTERM; then it is killed."""
KILL_S = 10.0
"""How long the system may take to end a killed server: it gives back the memory of the GPU."""
ANSWER_S = 2.0
READ_BYTES = 4096
MOST_READS = 32
"""More than a pipe holds; a server may write faster than it is read."""
TAIL_BYTES = 400
"""An alert for the user has one line, of 600 characters."""


LINUX = sys.platform == "linux"
PR_SET_PDEATHSIG = 1
libc = ctypes.CDLL(None)


class NotServed(Exception):
    """Why a model is not served, for the user.

    Attributes:
        details: how its server ended, and the end of what that wrote; "" if there is none.
    """

    def __init__(self, why: str, details: str = "") -> None:
        super().__init__(why)
        self.details = details


class ModelServer:
    """A server's process, from its start until it is gone.

    It stays in the plugin's process group, which the host ends with the plugin, also after
    `kill -9`; on Linux the system does so too.

    Args:
        name: the model.
        command: what serves it.
        lock: a file with a lock, which the process holds from now on until it is gone.

    Raises:
        NotServed: it cannot be started.
    """

    def __init__(self, name: str, command: list[str], lock: IO[str]) -> None:
        self.name = name
        self.was_healthy = False
        self._told_to_end = False
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=[lock.fileno()],
                preexec_fn=_end_with_the_plugin if LINUX else None,  # noqa: PLW1509 - one system call
            )
        except (OSError, ValueError) as exc:
            raise NotServed(f"the server of {name} cannot be started: {exc}") from None
        self._output = _Output(self._process.stdout)

    @property
    def pid(self) -> int:
        return self._process.pid

    def is_of_use(self) -> bool:
        """It runs, and was not told to end."""
        return not self._told_to_end and self._process.poll() is None

    def last_words(self) -> str:
        """How it ended if it has, and the end of what it wrote."""
        status = self._process.poll()
        how = "" if status is None else f"it ended with status {status}; "
        tail = self._output.tail()
        return how + (f"its log ends: {tail}" if tail else "it has written nothing")

    def kill(self) -> None:
        """End it at once, without waiting."""
        self._told_to_end = True
        self._process.kill()

    async def stop(self, grace_s: float = GRACE_S) -> None:
        """End it, and come back when it is gone."""
        self._told_to_end = True
        try:
            if self._process.poll() is None:
                self._process.terminate()
            if not await self._is_gone(grace_s):
                self._process.kill()
                if not await self._is_gone(KILL_S):
                    raise NotServed(f"the server of {self.name}, process {self.pid}, does not end")
        except asyncio.CancelledError:  # an interrupt does not save it
            self._process.kill()
            raise

    async def _is_gone(self, seconds: float) -> bool:
        for _ in range(int(seconds / STEP_S)):
            if self._process.poll() is not None:
                return True
            await asyncio.sleep(STEP_S)
        return False


def _end_with_the_plugin() -> None:
    """For the new process: the system kills it when this thread ends, the main one."""
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


async def is_healthy(port: int) -> bool | None:
    """What `/health` says: False while a model is loaded, None if nothing answers."""
    with suppress(OSError, ValueError, asyncio.TimeoutError):
        return await asyncio.wait_for(_ask_health(port), ANSWER_S)
    return None


async def _ask_health(port: int) -> bool:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        return b" 200 " in await reader.readline()
    finally:
        writer.close()


class _Output:
    """Passes on what a server writes to the plugin's log, and keeps the end of it."""

    def __init__(self, pipe: IO[bytes] | None) -> None:
        assert pipe is not None
        self._pipe = pipe
        self._kept = b""
        os.set_blocking(pipe.fileno(), False)
        asyncio.get_running_loop().add_reader(pipe.fileno(), self._read)

    def tail(self) -> str:
        """Its last lines, in one."""
        for _ in range(MOST_READS):
            if not self._read():
                break
        return " | ".join(self._kept.decode("utf-8", "replace").split("\n")).strip(" |")

    def _read(self) -> bool:
        """Read once; False if there was nothing."""
        if self._pipe.closed:
            return False
        try:
            data = os.read(self._pipe.fileno(), READ_BYTES)
        except BlockingIOError:
            return False
        if not data:
            asyncio.get_running_loop().remove_reader(self._pipe.fileno())
            self._pipe.close()
            return False
        self._kept = (self._kept + data)[-TAIL_BYTES:]
        sys.stderr.write(data.decode("utf-8", "replace"))
        return True
