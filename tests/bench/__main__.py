"""`make bench`: what a hook costs beside the least that two processes can do, and beside others.

All are measured in turns, on this machine, now.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

import trio
from rich.console import Console

from .attached_hooks import attached_hooks
from .footprint import command_line, memory, starts
from .interrupts import interrupts
from .many_at_once import at_once, long_session, told_to_many
from .markdown import as_markdown
from .mcp_bridge import mcp
from .measuring import FULL, QUICK, Contestant, Scale
from .one_hook import one_hook
from .served_calls import served
from .table import Row, Skipped, as_data, show
from .workshop import Workshop

PARTS: dict[str, Callable[[Workshop, Scale], Awaitable[list[Row | Skipped]]]] = {
    "at-once": at_once,
    "told": told_to_many,
    "interrupts": interrupts,
    "memory": memory,
    "starts": starts,
    "help": command_line,
    "attached": attached_hooks,
    "long": long_session,
    "mcp": mcp,
    "served": served,
}


async def measure(
    scale: Scale, parts: list[str], say: Callable[[str], None]
) -> tuple[list[Row | Skipped], list[Contestant]]:
    """Measure what is asked for, one part after the other; each is a contest of its own.

    Args:
        scale: how much.
        parts: `hook`, or names of `PARTS`.
        say: told what is measured now.
    """
    rows: list[Row | Skipped] = []
    contestants: list[Contestant] = []
    for part in parts:
        say(part)
        with tempfile.TemporaryDirectory(
            prefix="sliphook-bench-", ignore_cleanup_errors=True
        ) as folder:
            shop = Workshop(Path(folder))
            if part == "hook":
                more, contestants = await one_hook(shop, scale)
            else:
                more = await PARTS[part](shop, scale)
        rows += more
    return rows, contestants


def main() -> None:
    """Measure, and print the table."""
    names = ["hook", *PARTS]
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="under a minute, and rougher")
    parser.add_argument("--json", action="store_true", help="for programs, with every round")
    parser.add_argument(
        "--only",
        nargs="+",
        choices=names,
        default=names,
        metavar="PART",
        help=f"some of it: {', '.join(names)}",
    )
    parser.add_argument(
        "--markdown",
        nargs="+",
        type=Path,
        metavar="JSON",
        help="measure nothing: print what --json gave",
    )
    options = parser.parse_args()
    if options.markdown:
        print(as_markdown([json.loads(path.read_text()) for path in options.markdown]))
        return
    progress = Console(stderr=True)
    with progress.status("") as status:

        def say(part: str) -> None:
            status.update(f"measuring: {part}")

        scale = QUICK if options.quick else FULL
        rows, contestants = trio.run(measure, scale, options.only, say)
    if options.json:
        print(json.dumps(as_data(rows, contestants), indent=1))
    else:
        # a pipe or a file has no width of its own
        show(rows, contestants, Console() if sys.stdout.isatty() else Console(width=132))


if __name__ == "__main__":
    main()
