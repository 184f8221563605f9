"""`hermes chat` in a terminal of its own, with a person's keys."""

# pyright: basic
# mypy: ignore-errors

from __future__ import annotations

import fcntl
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from contextlib import suppress
from pathlib import Path

from tests.bridges.hermes.real.world import WAIT_S, World


class Terminal:
    """Attributes: shown is all that Hermes has written."""

    def __init__(self, world: World) -> None:
        self.shown = b""
        self._fd, inner = pty.openpty()
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self.process = subprocess.Popen(
            [str(Path(sys.executable).parent / "hermes"), "chat"],
            cwd=world.home,
            env={**os.environ, "TERM": "xterm-256color"},
            stdin=inner,
            stdout=inner,
            stderr=inner,
            start_new_session=True,
        )
        os.close(inner)
        threading.Thread(target=self._read, daemon=True).start()
        self.see("❯")
        time.sleep(2)

    def _read(self) -> None:
        with suppress(OSError):
            while data := os.read(self._fd, 65536):
                self.shown += data
                if b"\x1b[6n" in data:  # where is the cursor?
                    os.write(self._fd, b"\x1b[1;1R")

    def see(self, text: str, since: int = 0) -> None:
        give_up = time.monotonic() + WAIT_S
        while text.encode() not in self.shown[since:]:
            assert time.monotonic() < give_up, self.shown[since:][-2000:]
            assert self.process.poll() is None, self.shown[-2000:]
            time.sleep(0.05)

    def press(self, keys: str) -> float:
        os.write(self._fd, keys.encode())
        return time.time()

    def say(self, text: str) -> float:
        self.press(text)
        time.sleep(0.4)  # what comes with it would be pasted text
        return self.press("\r")

    def close(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self._fd)
