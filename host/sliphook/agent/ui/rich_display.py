"""The display for a person at a terminal: the same words as the plain one, with colour."""

from __future__ import annotations

from typing import Final

from rich.console import Console
from rich.text import Text

from .display import PlainDisplay, cut

_STYLES: Final = {
    "tool": "cyan",
    "progress": "cyan",
    "ok": "green",
    "denied": "bold yellow",
    "warning": "yellow",
    "error": "bold red",
}


class TerminalDisplay(PlainDisplay):
    """Text to stdout as it comes, lines to stderr in colour."""

    def __init__(self, *, whole: bool = False) -> None:
        """Take the process's own streams; see `PlainDisplay` for `whole`."""
        super().__init__(whole=whole)
        self._console = Console(stderr=True, highlight=False)

    def _line(self, mark: str, text: str) -> None:
        self.text_end()
        words = Text.assemble((mark, _STYLES.get(mark, "bold")), (": " + cut(mark, text), "dim"))
        self._console.print(words, soft_wrap=True)
