"""Keep what is printed before `plugin.run()` away from the host: import this module first, in the plugin's own file.

    #!/usr/bin/env python3
    import sliphook_sdk.early  # first: the imports below print
    import talkative

`plugin.run()` protects the standard streams too, but only from then on. The host puts what came
before into the plugin's log, up to 64 KiB in a row, so this is for plugins whose imports print more
than that, print what looks like a message, or start programs that read standard input.

It does something only where the file that imports it is the program that the host has started:
standard input and output are pipes or sockets, there are no arguments, and that file is `__main__`.
A test that imports the plugin keeps its streams.
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
    """The name of the module that holds the import statement: the first frame that is not the import system's own."""
    frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None and (
        frame.f_globals.get("__name__") == __name__ or "importlib" in frame.f_code.co_filename
    ):
        frame = frame.f_back
    return None if frame is None else frame.f_globals.get("__name__")


if _importer() == "__main__" and _is_for_a_host():
    take_over()
