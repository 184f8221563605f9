"""What a chat's screen has still to show above the prompt: whole lines, and a begun one."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Final

from .screen_display import wrapped

if TYPE_CHECKING:
    from prompt_toolkit.formatted_text import StyleAndTextTuples

__all__ = ["PendingLines"]

MAX_WAITING: Final = 10_000
"""Pieces that wait for a terminal that does not take them; further ones are lost and counted."""


class PendingLines:
    """A bounded queue of pieces of text. Any thread may put and take."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._whole: deque[StyleAndTextTuples] = deque()
        self._lost = 0
        self._begun = ""
        self._ended = 0  # lines of the model's text so far

    @property
    def begun(self) -> str:
        """The line of the model's text that has no end yet."""
        return self._begun

    def put(self, text: StyleAndTextTuples) -> None:
        """Queue whole lines."""
        with self._lock:
            self._put(text)

    def put_delta(self, delta: str) -> None:
        """Queue more of the model's text; lines that are whole now go with the others."""
        with self._lock:
            whole, newline, self._begun = (self._begun + delta).rpartition("\n")
            if newline:
                self._ended += 1
                self._put([("", whole + "\n")])

    def take(self, columns: int, max_begun_rows: int) -> list[StyleAndTextTuples]:
        """Take the whole lines, with a warning behind them if some were lost.

        If the begun line takes more than `max_begun_rows` on a terminal with `columns`, all rows of
        it but the last are taken as whole lines, so that the prompt stays on the screen.
        """
        with self._lock:
            lines = list(self._whole)
            self._whole.clear()
            begun, ended = self._begun, self._ended
            if self._lost:
                said = f"{self._lost} lines were not shown: the terminal is too slow\n"
                lost: StyleAndTextTuples = [("class:warning", said)]
                self._lost = 0
            else:
                lost = []
        # not under the lock, which the agent's loop would wait for: a megabyte takes 0.3 s
        rows = wrapped(begun, columns)
        if len(rows) > max_begun_rows:
            with self._lock:
                # else it has ended meanwhile, and goes as a whole line
                if self._ended == ended:
                    lines.append([("", "\n".join(rows[:-1]) + "\n")])
                    self._begun = rows[-1] + self._begun[len(begun) :]
        return [*lines, lost] if lost else lines

    def take_text(self) -> str:
        """Take everything, the begun line as a whole one, without styles."""
        with self._lock:
            text = "".join(piece[1] for line in self._whole for piece in line)
            text += f"{self._begun}\n" if self._begun else ""
            self._whole.clear()
            self._begun = ""
            self._ended += 1
        return text

    def _put(self, text: StyleAndTextTuples) -> None:
        if len(self._whole) < MAX_WAITING:
            self._whole.append(text)
        else:
            self._lost += 1
