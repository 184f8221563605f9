"""How a plugin's process ends: soon, whatever its threads do."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from contextlib import suppress
from typing import Final, NoReturn

from sliphook_sdk.ending import do_last

from .streams import flush

LINGER_S: Final = 0.5
"""How long running handlers may still take if the host has gone without `shutdown`."""

_CLEANUP_S: Final = 0.5


def end_process(code: int = 0) -> NoReturn:
    """End the process now, from any thread; run the functions of `atexit` and flush the streams.

    Other threads are not waited for.

    Args:
        code: the exit status.
    """
    # in its own thread, since a stuck handler may hold a lock that flushing needs
    cleanup = threading.Thread(target=_clean_up, daemon=True)
    try:
        with suppress(RuntimeError):  # the system gives no more threads: end without cleaning up
            cleanup.start()
            cleanup.join(_CLEANUP_S)
        do_last()
    finally:
        # `sys.exit` would end this thread only, and then wait for others that may never end
        os._exit(code)


def _clean_up() -> None:
    atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage]
    flush(sys.stdout)
    flush(sys.stderr)
