"""A real Redis for one test, on a socket in its folder, with what docs and README ask of it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import redis
import trio

from tests.programs import WAIT_S

SERVER = shutil.which("redis-server")
needs_redis = pytest.mark.skipif(SERVER is None, reason="redis-server is not installed")
DURABLE = ("--appendonly", "yes", "--appendfsync", "always")


class Broker:
    """The server; it may be killed and started again over the same files.

    Attributes:
        url: where it is.
        client: a connection of the test's own; its calls block, for under a millisecond.
    """

    def __init__(self, folder: Path, options: tuple[str, ...]) -> None:
        folder.mkdir(exist_ok=True)
        # the path of a socket has at most 107 characters
        self.url = f"unix://{folder}/s"
        self._socket = f"{folder}/s"
        self.client: Any = redis.Redis(unix_socket_path=self._socket)
        self._command = [
            SERVER or "redis-server",
            *("--port", "0", "--unixsocket", f"{folder}/s", "--dir", str(folder), "--save", ""),
            *("--logfile", str(folder / "log"), *DURABLE, *options),
        ]
        self._process: subprocess.Popen[bytes] | None = None

    async def start(self) -> None:
        """Returns when it answers."""
        self._process = subprocess.Popen(  # noqa: ASYNC220 - it takes no time
            self._command, stdin=subprocess.DEVNULL
        )
        with trio.fail_after(WAIT_S):
            while True:
                try:
                    self.client.ping()
                    return
                except redis.AuthenticationError:
                    return
                except (redis.ConnectionError, redis.BusyLoadingError):
                    await trio.sleep(0.01)

    def log_in(self, user: str, password: str) -> None:
        """For a server that asks for it: the connection of the test."""
        self.client.close()
        self.client = redis.Redis(unix_socket_path=self._socket, username=user, password=password)

    def kill(self) -> None:
        """SIGKILL, as a machine that goes away."""
        if self._process is not None:
            os.kill(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None


@contextmanager
def broker_in(folder: Path, *options: str) -> Generator[Broker]:
    """It is killed at the end; not started yet. For tests with `needs_redis`."""
    broker = Broker(folder, options)
    try:
        yield broker
    finally:
        broker.client.close()
        broker.kill()
