"""The display for a person at a terminal: the same words as the plain one, with colour."""

from __future__ import annotations

import sys
from typing import Final

from rich.console import Console
from rich.text import Text

from .display import PlainDisplay, cut

_STYLES: Final = {"tool": "cyan", "ok": "green", "denied": "bold yellow", "warning": "yellow", "error": "bold red"}

NO_CONTROLS: Final = {code: None for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\n\t"}


class TerminalDisplay(PlainDisplay):
    """Text to stdout as it comes, lines to stderr. Control characters of models and plugins never reach the terminal."""

    def __init__(self, *, whole: bool = False) -> None:
        """Take the process's own streams; see `PlainDisplay` for `whole`."""
        super().__init__(whole=whole)
        self._console = Console(stderr=True, highlight=False)
        self._on_terminal = sys.stdout.isatty()

    def text(self, delta: str) -> None:
        """See `Display`."""
        super().text(delta.translate(NO_CONTROLS) if self._on_terminal else delta)

    def _line(self, mark: str, text: str) -> None:
        self.text_end()
        words = Text.assemble((mark, _STYLES.get(mark, "bold")), (": " + cut(mark, text), "dim"))
        self._console.print(words, soft_wrap=True)
