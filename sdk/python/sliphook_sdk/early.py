"""Protect the standard streams before `plugin.run()`: import this first in the plugin's file.

    #!/usr/bin/env python3
    import sliphook_sdk.early  # first: the imports below print
    import talkative

`plugin.run()` protects the streams too, but only from then on. The host writes earlier output into
the plugin's log, up to 64 KiB in a row. So this module is for plugins whose imports print more than
that, print what looks like a message, or start programs that read standard input.

It does nothing unless the importing file is the program that the host has started: standard input
and output are pipes or sockets, there are no arguments, and the file is `__main__`. A test that
imports the plugin keeps its streams.
"""

from __future__ import annotations

import os
import stat
import sys
from typing import TYPE_CHECKING

from .process.streams import take_over

if TYPE_CHECKING:
    from types import FrameType


def _is_for_a_host() -> bool:
    if sys.argv[1:]:
        return False
    try:
        modes = [os.fstat(fd).st_mode for fd in (0, 1)]
    except OSError:
        return False
    return all(stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) for mode in modes)


def _importer() -> str | None:
    """The module that imports this one: the first frame outside of the import system."""
    frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None and (
        frame.f_globals.get("__name__") == __name__ or "importlib" in frame.f_code.co_filename
    ):
        frame = frame.f_back
    return None if frame is None else frame.f_globals.get("__name__")


if _importer() == "__main__" and _is_for_a_host():
    take_over()
