"""An agent with a screen, in tmux."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from tests.adapters.attached.fake_agent import wait_for
from tests.programs import WAIT_S

_COLUMNS: Final = "160"
_LINES: Final = "50"
_BETWEEN_KEYS_S: Final = 0.3
_AGAIN_S: Final = 3.0


class Screen:
    """One terminal with a program in it.

    Args:
        words: the program.
        environment: all of its variables.
        folder: where it runs.
        socket: of a tmux server of its own.
    """

    def __init__(
        self, words: Sequence[str], environment: dict[str, str], folder: Path, socket: Path
    ) -> None:
        self._tmux = ["tmux", "-S", str(socket), "-f", "/dev/null"]
        self._environment = environment
        self._do(
            *("new-session", "-d", "-x", _COLUMNS, "-y", _LINES, "-c", str(folder), "--"), *words
        )

    @property
    def text(self) -> str:
        """What it shows; empty if it has ended."""
        return self._do("capture-pane", "-p", may_fail=True)

    @property
    def pid(self) -> int:
        """The program's process."""
        return int(self._do("display-message", "-p", "#{pane_pid}"))

    @property
    def is_open(self) -> bool:
        """Whether the program runs."""
        return bool(self._do("list-sessions", may_fail=True))

    def shows(self, text: str) -> None:
        """Wait until it shows this."""
        wait_for(lambda: text in self.text)

    def write(self, text: str) -> None:
        """Type a text."""
        self._do("send-keys", "-l", "--", text)

    def insists(self, *keys: str, until: Callable[[], bool]) -> None:
        """Press keys one after the other, by tmux's names; again if nothing comes of it.

        A program may lose a key: it takes those that come together for a pasted text.
        """
        next_s = 0.0

        def done() -> bool:
            nonlocal next_s
            if time.monotonic() >= next_s:
                for key in keys:
                    self._do("send-keys", key)
                    time.sleep(_BETWEEN_KEYS_S)
                next_s = time.monotonic() + _AGAIN_S
            return until()

        wait_for(done)

    def close(self) -> None:
        """End the program, if it runs."""
        self._do("kill-server", may_fail=True)

    def _do(self, *words: str, may_fail: bool = False) -> str:
        done = subprocess.run(
            [*self._tmux, *words],
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=WAIT_S,
            check=False,
        )
        assert may_fail or done.returncode == 0, done.stderr
        return done.stdout if done.returncode == 0 else ""
