"""Starts a plugin by way of `starter_main`, where what it would inherit must not be its own.

That sets its limits and its signals and then becomes the plugin: so there is no moment in which the
plugin runs without them, and whatever it starts inherits them. It costs some 15 ms, so a plugin
that needs none of it is started directly.
"""

from __future__ import annotations

import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Final

SCRIPT: Final = Path(__file__).with_name("starter_main.py")
_SIGNALS: Final = (signal.SIGCHLD, signal.SIGTERM)
"""What a plugin has to get: a program that ignores SIGCHLD does not learn how its children ended,
and takes a failed one for a good one."""


def prepared(command: Sequence[str], words: Sequence[str], python: str) -> list[str]:
    """The command that does what the words say and then runs `command`, which it is without words.

    Args:
        command: an absolute path and its arguments.
        words: what to prepare, see `starter_main`.
        python: a Python interpreter.
    """
    # -I: Python imports nothing from the plugin's folder; -S: it starts faster
    return [python, "-I", "-S", str(SCRIPT), *words, "--", *command] if words else list(command)


def signal_words() -> list[str]:
    """The words that a program needs if this thread starts it: signals are inherited."""
    ignored = any(signal.getsignal(number) == signal.SIG_IGN for number in _SIGNALS)
    return ["signals"] if ignored or signal.pthread_sigmask(signal.SIG_BLOCK, []) else []
