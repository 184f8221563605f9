"""The one place that looks inside the host: what waits, what is kept, which processes there are."""
# pyright: reportPrivateUsage=false

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import trio

from sliphook import PluginHost
from sliphook.process.stderr import LINE_CHARS, TAIL_LINES
from sliphook.trace.record import TraceRecord
from sliphook.transport.reader import READ_BYTES
from sliphook_sdk.protocol.limits import (
    MAX_HEADER_BYTES,
    MAX_MESSAGE_BYTES,
    QUEUE_BYTES,
    QUEUE_MESSAGES,
)

MOST: dict[str, int] = {
    "messages in a queue": QUEUE_MESSAGES,
    "bytes in a queue": QUEUE_BYTES,
    "bytes read and not handled": MAX_MESSAGE_BYTES + MAX_HEADER_BYTES + READ_BYTES,
    "requests that wait for a start": QUEUE_MESSAGES,
    "lines of stderr": TAIL_LINES,
    "bytes of a line of stderr": 4 * LINE_CHARS + READ_BYTES,
    "requests under way at a plugin": 2_000,
    "requests of a plugin in flight": QUEUE_MESSAGES + 100,
}
"""What may wait for one plugin at any moment, whatever it does."""


class Bounds:
    """The largest that was seen of everything in `MOST`."""

    def __init__(self) -> None:
        self.seen = dict.fromkeys(MOST, 0)

    def look(self, host: PluginHost) -> None:
        """Measure all plugins now."""
        for plugin in host._crew.plugins:
            self._note("requests that wait for a start", len(plugin.pending))
            self._note("lines of stderr", len(plugin._stderr._kept))
            self._note("bytes of a line of stderr", len(plugin._stderr._rest))
            if plugin._instance is not None:
                connection = plugin._instance.connection
                self._note("messages in a queue", len(connection._writer.outbox))
                self._note("bytes in a queue", connection._writer.outbox.size)
                self._note("bytes read and not handled", len(connection._reader._frames._buffer))
                self._note("requests under way at a plugin", len(connection.under_way))
                self._note("requests of a plugin in flight", len(connection._rpc._in_flight))

    def _note(self, what: str, size: int) -> None:
        self.seen[what] = max(self.seen[what], size)

    def beyond(self) -> list[str]:
        """What was larger than it may be."""
        return [
            f"{size:,} {what}, {MOST[what]:,} may be"
            for what, size in self.seen.items()
            if size > MOST[what]
        ]


@dataclass
class Sightings:
    """A trace that keeps what a case needs: every process that was started, and what was lost."""

    pids: list[int] = field(default_factory=list[int])
    dropped: int = 0
    late: int = 0

    def record(self, record: TraceRecord) -> None:
        """Take one record (see `TraceSink`)."""
        if record.kind == "spawn" and record.note is not None:
            self.pids.append(int(record.note.split()[1].rstrip(":")))
        self.dropped += record.kind == "drop"
        self.late += record.kind == "late"

    def hide(self, secrets: Iterable[str]) -> None:
        """Nothing of it is shown."""


async def comes(done: Callable[[], object], within_s: float) -> bool:
    """Wait for something that happens in another process or task.

    False if it does not come in time.
    """
    with trio.move_on_after(within_s):
        while not done():  # noqa: ASYNC110
            await trio.sleep(0.01)
        return True
    return False


def has_ended(pid: int) -> bool:
    """Whether a child of this process has ended; it is not reaped."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def owes_a_reply(host: PluginHost, name: str) -> bool:
    """A request of the host's waits for the plugin's reply."""
    plugin = next(plugin for plugin in host._crew.plugins if plugin.name == name)
    return plugin.connection is not None and plugin.connection.is_owed


def keeper_pid(host: PluginHost) -> int | None:
    """The process that outlives a host that is killed; None while there is none."""
    process = host._state.services.reaper._process
    return process.pid if process is not None else None


def log_files_lost(host: PluginHost) -> int:
    """Lines that did not come into the log files."""
    return host._state.reports.logs.lost


def descriptors() -> dict[int, str]:
    """Every open descriptor and what it is, but for those of the loop itself."""
    found: dict[int, str] = {}
    for name in os.listdir("/dev/fd"):
        number = int(name)
        try:
            kind = stat.S_IFMT(os.fstat(number).st_mode)
            found[number] = (
                os.readlink(f"/proc/self/fd/{name}")
                if os.path.exists("/proc/self/fd")
                else oct(kind)
            )
        except OSError:
            continue  # the listing's own
    return found


def memory_mib() -> float:
    """What this process has of the machine's memory; Linux only."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def tasks() -> int:
    """How many tasks there are in the loop, system tasks included."""
    root = trio.lowlevel.current_root_task()
    assert root is not None
    count, todo = 0, [root]
    while todo:
        task = todo.pop()
        count += 1
        todo.extend(child for nursery in task.child_nurseries for child in nursery.child_tasks)
    return count


def living(groups: Collection[int]) -> list[str]:
    """Who is left in these process groups: all that live, and zombies that are ours to reap."""
    if not os.path.exists("/proc/self/stat"):
        return [f"a process in the group {group}" for group in groups if _has_members(group)]
    found: list[str] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                head, _, rest = (entry / "stat").read_text().rpartition(") ")
            except OSError:
                continue
            state, parent, group = rest.split()[:3]
            if int(group) in groups and (state not in "ZX" or int(parent) == os.getpid()):
                found.append(f"{head}) {state}")
    return found


def _has_members(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
