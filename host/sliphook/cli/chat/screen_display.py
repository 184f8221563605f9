"""The display of a chat's screen: the same words as in other displays, with styles."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from prompt_toolkit.utils import get_cwidth

from sliphook.agent.ui.display import LineDisplay, cut
from sliphook.quoting import visible

if TYPE_CHECKING:
    from prompt_toolkit.formatted_text import StyleAndTextTuples

    from sliphook.agent.ui.filling import Question

__all__ = ["PROMPT", "STYLES", "ScreenDisplay", "on_screen", "typed_line", "wrapped"]

PROMPT: Final = "› "

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


def on_screen(text: str) -> str:
    """The text with escapes for what steers a terminal or is not seen; a tab is four spaces."""
    return visible(text).replace("\t", "    ")


def typed_line(question: Question | None, typed: str, note: str) -> StyleAndTextTuples:
    """What was typed, behind what it answers or the prompt, with a note on what becomes of it."""
    prompt = PROMPT if question is None else f"{question.line()} "
    shown = on_screen(typed).replace("\n", "\n  ")
    return [("class:prompt", prompt), ("class:typed", shown), ("class:status", f"{note}\n")]


def wrapped(text: str, columns: int) -> list[str]:
    """One line as the rows that it takes on a terminal of that width."""
    rows: list[str] = []
    begin = width = 0
    for at, char in enumerate(text):
        wide = get_cwidth(char)
        if width + wide > columns:
            rows.append(text[begin:at])
            begin, width = at, 0
        width += wide
    return [*rows, text[begin:]]


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
        self._show_text(on_screen(delta))

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
