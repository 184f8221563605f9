"""How a chat shows what happens: the same words as everywhere, in the styles of the screen."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from prompt_toolkit.utils import get_cwidth

from sliphook.agent.ui.display import NO_CONTROLS, LineDisplay, cut

if TYPE_CHECKING:
    from prompt_toolkit.formatted_text import StyleAndTextTuples

__all__ = ["STYLES", "ScreenDisplay", "without_controls", "wrapped"]

STYLES: Final = {
    "prompt": "bold ansicyan",
    "typed": "bold",
    "status": "ansibrightblack",
    "question": "bold ansiyellow",
    "rest": "ansibrightblack",
    "log": "ansibrightblack",
    "tool": "ansicyan",
    "ok": "ansigreen",
    "denied": "bold ansiyellow",
    "warning": "ansiyellow",
    "error": "bold ansired",
}
"""prompt_toolkit's styles, by the first word of a line where it has one."""


def without_controls(text: str) -> str:
    """Text that does not steer a terminal; lines stay lines, and a tab is four columns."""
    return text.translate(NO_CONTROLS).replace("\t", "    ")


def wrapped(text: str, columns: int) -> list[str]:
    """One line as the rows that it takes on a terminal, cut where the terminal would."""
    rows, width = [""], 0
    for char in text:
        wide = get_cwidth(char)
        if width + wide > columns:
            rows.append("")
            width = 0
        rows[-1] += char
        width += wide
    return rows


class ScreenDisplay(LineDisplay):
    """See `Display`."""

    def __init__(
        self, text: Callable[[str | None], None], above: Callable[[StyleAndTextTuples], None]
    ) -> None:
        """Show on a screen.

        Args:
            text: takes the model's text as it comes, and None at its end.
            above: takes whole lines.
        """
        self._ends_line = True
        self._show_text = text
        self._above = above

    def text(self, delta: str) -> None:
        """See `Display`."""
        self._ends_line = delta.endswith("\n")
        self._show_text(without_controls(delta))

    def text_end(self) -> None:
        """See `Display`."""
        if not self._ends_line:
            self._ends_line = True
            self._show_text(None)

    def _line(self, mark: str, text: str) -> None:
        self.text_end()
        word = mark.rpartition(" ")[2]  # of a child's line, too
        style = word if word in STYLES else "tool"
        self._above([(f"class:{style}", f"  {mark}"), ("class:rest", f": {cut(mark, text)}\n")])
