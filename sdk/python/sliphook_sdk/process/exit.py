"""How a plugin's process ends: soon, whatever its threads do."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from contextlib import suppress
from typing import Final, NoReturn

from .streams import flush

LINGER_S: Final = 0.5
"""How long work that is under way may still take when the host has gone without a word."""

_LAST_WORDS_S: Final = 0.5


def end_process(code: int = 0) -> NoReturn:
    """End the process now, from any thread: functions of `atexit` run, logs are flushed, no thread is waited for.

    Args:
        code: the exit status.
    """
    # in a thread of its own, since a handler that is stuck may hold a lock that flushing needs
    last_words = threading.Thread(target=_last_words, daemon=True)
    with suppress(RuntimeError):  # the system gives no more threads; ending goes before words
        last_words.start()
        last_words.join(_LAST_WORDS_S)
    os._exit(code)


def _last_words() -> None:
    atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage]
    flush(sys.stdout)
    flush(sys.stderr)
