"""Colours on stdout: where it is a terminal, and `NO_COLOR` is not set."""

from __future__ import annotations

import os
import sys

import click

__all__ = ["coloured"]


def coloured(text: str, colour: str | None, *, bold: bool = False) -> str:
    """The text in that colour, if stdout shows colours.

    Args:
        text: printable already.
        colour: a name of click's; None leaves it as it is.
        bold: make it bold, too.
    """
    if colour is None or os.environ.get("NO_COLOR") or not sys.stdout.isatty():
        return text
    return click.style(text, fg=colour, bold=bold or None)
