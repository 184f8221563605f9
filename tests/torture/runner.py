"""Plays many cases side by side in one loop, and looks for what they left behind together."""

from __future__ import annotations

import gc
import logging
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import trio

from tests.heartbeat import Heartbeat, heartbeat
from tests.torture.case import Case, Verdict
from tests.torture.inside import comes, descriptors, tasks
from tests.torture.stage import play

SIDE_BY_SIDE = 14
SLACK = 10.0
"""The exact limits are for `make torture` on a quiet machine."""
SETTLE_S = 120.0
"""The threads that write logs and close files may need a moment more."""


def run(
    cases: Sequence[Case],
    folder: Path,
    *,
    limit: int = SIDE_BY_SIDE,
    done: Callable[[Verdict], None] = lambda _: None,
    busy: bool = False,
) -> list[Verdict]:
    """Play all of them in a loop of its own; blocks.

    A case that held the loop for too long is played again, alone: a thread of another case, or a
    collection of garbage, may have been in its way. On a busy machine so is one that was not kept,
    since a promise has a time: twice, as a fault that comes now and then shall not pass.

    Args:
        cases: what to play.
        folder: each case gets a folder in it.
        limit: so many at the same time.
        done: told of each verdict as it comes.
        busy: other work runs beside, so a case may hold the loop for `SLACK` times the limit.

    Returns:
        The verdicts in the order of the cases; what the run left behind is a fault of the last.
    """
    slack = SLACK if busy else 1.0
    verdicts, left = _play_all(cases, folder, limit, done)
    for number, verdict in enumerate(verdicts):
        times = (2 if busy else 0) if verdict.faults else bool(verdict.held.beyond(slack))
        for turn in range(times):
            place = folder / f"{number:03}-again-{turn}"
            (again,), more = _play_all([verdict.case], place, 1, done)
            again.faults += again.held.beyond(slack)
            verdicts[number] = again
            left += more
            if again.faults:
                break
    verdicts[-1].faults += left
    return verdicts


def _play_all(
    cases: Sequence[Case], folder: Path, limit: int, done: Callable[[Verdict], None]
) -> tuple[list[Verdict], list[str]]:
    """The verdicts, and what was left behind by all of them together."""
    folder.mkdir(exist_ok=True)
    gc.collect()  # what the tests themselves have made is not the host's to look through
    gc.freeze()
    verdicts, left = trio.run(_run, cases, folder, limit, done)
    return verdicts, left + _zombies()


async def _run(
    cases: Sequence[Case], folder: Path, limit: int, done: Callable[[Verdict], None]
) -> tuple[list[Verdict], list[str]]:
    verdicts: dict[str, Verdict] = {}
    places = trio.CapacityLimiter(limit)

    async def one(number: int, case: Case, beat: Heartbeat) -> None:
        async with places:
            place = folder / f"{number:03}"
            place.mkdir()
            verdict = verdicts[case.title] = await play(case, place, beat)
        done(verdict)

    await trio.to_thread.run_sync(
        lambda: None
    )  # the loop's own thread and descriptors are there from now on
    files, running = descriptors(), tasks()
    async with heartbeat() as beat, trio.open_nursery() as nursery:
        for number, case in enumerate(cases):
            nursery.start_soon(one, number, case, beat)
    await comes(lambda: not _more(files) and tasks() <= running, SETTLE_S)
    left = [
        f"the descriptor {number} is left open: {what} (play the cases one by one to see whose)"
        for number, what in _more(files).items()
    ]
    if tasks() > running:
        left.append(f"{tasks() - running} tasks are left")
    return [verdicts[case.title] for case in cases], left


def _more(before: dict[int, str]) -> dict[int, str]:
    return {number: what for number, what in descriptors().items() if number not in before}


def _zombies() -> list[str]:
    """No child is left, living or dead."""
    left: list[str] = []
    while True:
        try:
            found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return left
        if found is None:
            return [*left, "a child of the host is left and lives"]
        left.append(f"a zombie is left: {found.si_pid}")
        os.waitpid(found.si_pid, 0)


class Silence:
    """The host's own log is not for the terminal meanwhile."""

    def __enter__(self) -> None:
        self._handler = logging.NullHandler()
        logging.getLogger("sliphook").addHandler(self._handler)
        self._propagate, logging.getLogger("sliphook").propagate = (
            logging.getLogger("sliphook").propagate,
            False,
        )

    def __exit__(self, *_: object) -> None:
        logging.getLogger("sliphook").removeHandler(self._handler)
        logging.getLogger("sliphook").propagate = self._propagate


def in_a_folder_of_its_own(
    cases: Sequence[Case], *, limit: int, done: Callable[[Verdict], None]
) -> tuple[list[Verdict], float]:
    """The verdicts, and how long all of it took."""
    began = time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix="torture-", ignore_cleanup_errors=True) as name,
        Silence(),
    ):
        verdicts = run(cases, Path(name), limit=limit, done=done)
    return verdicts, time.monotonic() - began
