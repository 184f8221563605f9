"""Where client and daemon meet: the socket of one agent session, and who may listen there.

The client finds it by the agent and its session's id. A folder of the user's alone keeps others
out; a lock that the daemon holds for its life tells a stale socket from one in use.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import socket
import stat
import subprocess
import time
from pathlib import Path
from typing import Final

_SHELLS: Final = frozenset({"sh", "bash", "dash", "zsh", "fish", "ksh", "mksh", "ash", "busybox"})
_MOST_ANCESTORS: Final = 16
_BACKLOG: Final = 128
RESET_S: Final = 10.0
"""How long a session that was cleared waits for the next one of the same agent."""


class Claim:
    """The right to listen at a path; held until the process ends.

    Attributes:
        path: of the socket.
        listener: bound, listening.
    """

    def __init__(self, path: Path, listener: socket.socket, lock: int) -> None:
        self.path = path
        self.listener = listener
        self._names = [path]
        self._locks = {path: lock}

    def widen(self, agent: str) -> bool:
        """Listen for all sessions of the agent.

        False: another daemon does, and clients are led to it. Those that wait here come again.
        """
        shared = self.path.with_name(f"{agent}.sock")
        lock = _lock(shared)
        if lock is None:
            self.listener.close()
            _lead(self.path, shared)
            self._names.clear()
            self.drop()
            return False
        with contextlib.suppress(FileNotFoundError):
            shared.unlink()
        os.link(self.path, shared)
        self._names.append(shared)
        self._locks[shared] = lock
        self.path = shared
        return True

    def hide(self) -> None:
        """No client finds the socket any more."""
        for name in self._names:
            _remove(name)

    def drop(self) -> None:
        """The same, and another process may claim it. Done once; blocks, by what the folder has."""
        self.hide()
        folder = self.path.parent
        links = (*folder.glob("*.sock"), *folder.glob("*.now")) if self._names else ()
        for link in links:
            with contextlib.suppress(OSError):
                if link.is_symlink() and os.readlink(link) in map(str, self._names):
                    _remove(link)
        self._names.clear()
        while self._locks:  # last: the next daemon's socket has the same name
            _release(*self._locks.popitem())


def claim(path: Path) -> Claim | None:
    """Listen at `path`; None if another daemon does.

    Raises:
        OSError: the folder is not this user's alone, or the socket cannot be made.
    """
    info = os.lstat(path.parent)
    if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.geteuid() or info.st_mode & 0o077:
        raise PermissionError(errno.EPERM, "others could listen in this folder", str(path.parent))
    lock = _lock(path)
    if lock is None:
        return None
    # no daemon holds the lock, so what is there is left over from a daemon that was killed
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    umask = os.umask(0o177)
    try:
        listener.bind(str(path))
    finally:
        os.umask(umask)
    listener.listen(_BACKLOG)
    return Claim(path, listener, lock)


def join_wide(path: Path, agent: str) -> bool:
    """Lead `path` to the daemon that listens for all sessions of the agent; False: there is none.

    It costs less than to read the settings, which that daemon has followed.
    """
    shared = path.with_name(f"{agent}.sock")
    if not shared.exists():
        return False
    lock = _lock(shared)
    if lock is not None:  # left over from a daemon that was killed
        _release(shared, lock)
        return False
    _lead(path, shared)
    return True


def _lock(path: Path) -> int | None:
    """The lock of who listens at `path`; None if a daemon holds it."""
    name = f"{path}.owner"
    while True:
        lock = os.open(name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            return None
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(lock), os.lstat(name)):
                return lock
        os.close(lock)  # its holder has removed it meanwhile: another one counts


def _release(path: Path, lock: int) -> None:
    """Give back a lock, and remove its file: as long as the lock is held, no one else may."""
    with contextlib.suppress(OSError):
        os.unlink(f"{path}.owner")
    os.close(lock)


def _remove(path: Path) -> None:
    """Remove a socket, or the way to one, and the lock of clients that start its daemon.

    They may hold that: then two daemons are started at worst, and the second ends, as it gets no
    `_lock`.
    """
    for name in (str(path), f"{path}.lock"):
        with contextlib.suppress(OSError):
            os.unlink(name)


def _lead(path: Path, target: Path) -> None:
    """Clients that look for `path` find `target`."""
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
    os.symlink(target, path)


# -- one agent, a new session after `/clear`


def offer_next(path: Path, agent: str, pid: int) -> None:
    """Take over the next session of this agent's process, for `RESET_S`."""
    note = _note(path.parent, agent, pid)
    with contextlib.suppress(OSError):
        note.unlink(missing_ok=True)
        os.symlink(path, note)


def withdraw_offer(path: Path, agent: str, pid: int) -> None:
    """The next session gets a daemon of its own."""
    with contextlib.suppress(OSError):
        _note(path.parent, agent, pid).unlink()


def join_offered(path: Path, agent: str, pid: int) -> bool:
    """Lead `path` to the daemon that waits for this agent's next session; False: there is none."""
    note = _note(path.parent, agent, pid)
    try:
        target = os.readlink(note)
        if time.time() - os.lstat(note).st_mtime > RESET_S or target == str(path):
            return False
        note.unlink()
        _lead(path, Path(target))
    except OSError:
        return False
    return True


def _note(folder: Path, agent: str, pid: int) -> Path:
    return folder / f"{agent}-{pid}.next"


# -- the session of an agent's process, for those that do not know the session's id


def announce(path: Path, agent: str, pid: int) -> None:
    """Say that this agent's process has a session at the daemon of `path`; the first one counts."""
    note = _session(path.parent, agent, pid)
    with contextlib.suppress(OSError):
        if not note.exists():  # or it leads nowhere
            note.unlink(missing_ok=True)
        os.symlink(path, note)


def retract(path: Path, agent: str, pid: int) -> None:
    """It has none there any more."""
    note = _session(path.parent, agent, pid)
    with contextlib.suppress(OSError):
        if os.readlink(note) == str(path):
            note.unlink()


def session_of_agent(folder: Path, agent: str, pid: int) -> Path | None:
    """The socket of the daemon that has a session of this agent's process; None: there is none."""
    note = _session(folder, agent, pid)
    try:
        return Path(os.readlink(note)) if note.exists() else None
    except OSError:
        return None


def _session(folder: Path, agent: str, pid: int) -> Path:
    return folder / f"{agent}-{pid}.now"


# -- the agent's process


def agent_of(pid: int) -> int | None:
    """The nearest of `pid` and its ancestors that is no shell; None if it is not known."""
    for _ in range(_MOST_ANCESTORS):
        found = _parent_and_name(pid)
        if pid <= 1 or found is None:
            return None
        if found[1].lstrip("-") not in _SHELLS:
            return pid
        pid = found[0]
    return None


def _parent_and_name(pid: int) -> tuple[int, str] | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return _asked_ps(pid)
    name, _, rest = text.partition("(")[2].rpartition(")")
    return int(rest.split()[1]), name


def _asked_ps(pid: int) -> tuple[int, str] | None:
    if os.path.exists("/proc/self/stat"):
        return None
    try:
        said = subprocess.run(
            ["ps", "-o", "ppid=,comm=", "-p", str(pid)],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        ).stdout.split(None, 1)
        return int(said[0]), os.path.basename(said[1].strip())
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return None
