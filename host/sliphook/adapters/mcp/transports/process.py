"""The server's process: it is in the plugin's process group, so it ends with the plugin."""

from __future__ import annotations

import asyncio
import math
import os
import re
import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import Final

_ASSIGNMENT: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_CLOSED_S: Final = 1.0
"""What a server may take to end when its input is closed; then it gets SIGTERM."""
_TERM_S: Final = 0.2
_LOOK_S: Final = 0.01
_WATCH_S: Final = 0.5


class ServerProcess:
    """One server that speaks on its standard input and output, and its restarts.

    It is started at once: what the plugin imports meanwhile takes longer.

    Args:
        words: the command and its arguments, with `NAME=VALUE` for variables in front.
        environ: the plugin's environment.

    Attributes:
        error: why it cannot be started, or None.
        end_by: when it has to be ended at the latest, on `time.monotonic()`.
    """

    def __init__(self, words: Sequence[str], environ: Mapping[str, str]) -> None:
        self._environ = dict(environ)
        at = 0
        while at < len(words) and (found := _ASSIGNMENT.fullmatch(words[at])):
            self._environ[found[1]] = found[2]
            at += 1
        self._command = list(words[at:])
        self.error: str | None = None
        self.end_by = math.inf
        self._popen: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        """Start it, for the first time or again."""
        self.error = None
        try:
            self._popen = subprocess.Popen(
                self._command,
                env=self._environ,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                bufsize=0,
            )
        except (OSError, ValueError, IndexError) as error:
            self.error = f"it cannot be started: {error}"

    @property
    def has_ended(self) -> bool:
        """Whether it has ended, or was never there."""
        return self._popen is None or self._popen.poll() is not None

    async def connect(self, reader: asyncio.Protocol) -> asyncio.StreamWriter:
        """Have a protocol read its output, in this loop; gives its input."""
        assert self._popen is not None
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: reader, self._popen.stdout)
        transport, protocol = await loop.connect_write_pipe(
            asyncio.streams.FlowControlMixin, self._popen.stdin
        )
        return asyncio.StreamWriter(transport, protocol, None, loop)

    async def end(self, writer: asyncio.StreamWriter) -> None:
        """Close its input; if it does not end then, send SIGTERM and SIGKILL."""
        writer.close()
        left_s = self.end_by - time.monotonic() - 2 * _TERM_S
        if not await self._ends_within(min(_CLOSED_S, left_s)):
            await self.stop()

    async def stop(self) -> None:
        """Send SIGTERM, and SIGKILL if that is not enough."""
        if self._popen is None:
            return
        self._popen.terminate()
        if not await self._ends_within(_TERM_S):
            self._popen.kill()
            await self._ends_within(_TERM_S)

    def kill(self) -> None:
        """End it at once."""
        if self._popen is not None and not self.has_ended:
            self._popen.kill()
            self._popen.wait(_CLOSED_S)

    async def fails(self) -> bool:
        """Wait until it has ended; whether that was by a fault, and not as a launcher ends."""
        await self._ends_within(math.inf, _WATCH_S)
        return self._popen is not None and self._popen.returncode != 0

    async def last_status(self) -> str:
        """How it ended, for a line; its output is closed."""
        if not await self._ends_within(_CLOSED_S) or self._popen is None:
            return "it closed its output"
        status = self._popen.returncode
        if status < 0:
            return f"it was ended by signal {-status}"
        return f"it ended with status {status}"

    async def _ends_within(self, seconds: float, look_s: float = _LOOK_S) -> bool:
        gives_up = time.monotonic() + seconds
        while not self.has_ended:
            if time.monotonic() >= gives_up:
                return False
            await asyncio.sleep(look_s)
        return True


def server_of(words: Sequence[str]) -> ServerProcess | None:
    """The server of a command, started; None for the address of one elsewhere."""
    return None if is_address(words[0]) else ServerProcess(words, os.environ)


def is_address(word: str) -> bool:
    """Whether it is the address of a server elsewhere, and no command."""
    return word.startswith(("https://", "http://"))
