"""A program: a host with the plugins of its arguments, and nothing else.

It prints its memory in KiB.
"""

from __future__ import annotations

import gc
import sys
from pathlib import Path

import trio

from .asking import opened
from .measuring import resident_kib


async def main() -> None:
    """Open, look, end."""
    async with opened([Path(path) for path in sys.argv[1:]]) as host, host.session() as session:
        await session.ready()
        session.notification("info", "wake up")
        await trio.sleep(0.2)
        gc.collect()
        print(resident_kib())
        host.kill()


if __name__ == "__main__":
    trio.run(main)
