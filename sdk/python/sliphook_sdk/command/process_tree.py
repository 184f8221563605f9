"""A command and all that it has started: found and signalled."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

_PROC: Final = Path("/proc")


class _Process(NamedTuple):
    """One line of `/proc/PID/stat`."""

    pid: int
    parent: int
    group: int
    started: str
    is_alive: bool


class ProcessTree:
    """A process that leads a group of its own, and its descendants.

    On Linux those in other groups are found too, and go on being found when their parent has ended.
    Elsewhere the tree is the group.

    Args:
        root: the id of the process.
    """

    def __init__(self, root: int) -> None:
        self._root = root
        self._seen: dict[int, str] = {}  # when they were started: an id may be given again

    def is_empty(self) -> bool:
        """True if nothing is left of the group. Only after the root has been waited for."""
        return not self._signal_group(0)

    def signal(self, number: int) -> bool:
        """Send a signal to all that live; 0 only looks.

        Returns:
            True if there was one.
        """
        return self.signal_among(running_processes(), number)

    def signal_among(self, running: list[_Process] | None, number: int) -> bool:
        """The same with a look at the system that was taken before: of `running_processes`."""
        if running is None:
            return self._signal_group(number)
        members = self._members(running)
        for pid in members if number else ():
            with suppress(OSError):  # it has just ended, or has become another user's
                os.kill(pid, number)
        return bool(members)

    def _signal_group(self, number: int) -> bool:
        try:
            os.killpg(self._root, number)
        except OSError:
            return False
        return True

    def _members(self, running: list[_Process]) -> list[int]:
        tree = {
            one.pid
            for one in running
            if self._root in (one.pid, one.group) or self._seen.get(one.pid) == one.started
        }
        children: dict[int, list[int]] = {}
        for one in running:
            children.setdefault(one.parent, []).append(one.pid)
        waiting = list(tree)
        while waiting:
            new = [pid for pid in children.get(waiting.pop(), ()) if pid not in tree]
            tree.update(new)
            waiting += new
        alive = [one for one in running if one.pid in tree and one.is_alive]
        self._seen.update((one.pid, one.started) for one in alive)
        return [one.pid for one in alive]


def running_processes() -> list[_Process] | None:
    """All that run; None where there is no `/proc`."""
    if not (_PROC / "self" / "stat").exists():
        return None
    found: list[_Process] = []
    for name in os.listdir(_PROC):
        if not name.isdecimal():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                line = file.read()
        except OSError:  # it has just ended
            continue
        # the name before it may have blanks and brackets of its own
        fields = line[line.rfind(b")") + 2 :].split()
        found.append(
            _Process(
                pid=int(name),
                parent=int(fields[1]),
                group=int(fields[2]),
                started=fields[19].decode(),
                is_alive=fields[0] not in b"ZX",
            )
        )
    return found
