"""The display of a chat's screen: the same words as in other displays, with styles."""

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
"""Styles of prompt_toolkit, by the mark of a line or the part of the screen."""


def without_controls(text: str) -> str:
    """The text without control characters except line breaks; a tab becomes four spaces."""
    return text.translate(NO_CONTROLS).replace("\t", "    ")


def wrapped(text: str, columns: int) -> list[str]:
    """One line as the rows that it takes on a terminal of that width."""
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
    """A `Display` on a chat's screen."""

    def __init__(
        self, text: Callable[[str | None], None], above: Callable[[StyleAndTextTuples], None]
    ) -> None:
        """Show on a screen.

        Args:
            text: shows the model's text as it comes; None ends it.
            above: shows whole lines above the prompt.
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
        word = mark.rpartition(" ")[2]  # for a child's line too
        style = word if word in STYLES else "tool"
        self._above([(f"class:{style}", f"  {mark}"), ("class:rest", f": {cut(mark, text)}\n")])
