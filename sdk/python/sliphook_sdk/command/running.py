"""Runs one command in the thread of the caller, and ends it."""

from __future__ import annotations

import atexit
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from sliphook_sdk.ending import at_last
from sliphook_sdk.wire.given import check_input, check_number, row_of, wrong_type

from .kept_output import KeptOutput, last_line
from .process_tree import ProcessTree, running_processes
from .result import CommandResult
from .start_error import start_error

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


TERM_GRACE_S: Final = 0.3
"""How long a command has to end after SIGTERM; then it is killed."""
_KILL_S: Final = 2.0
"""How long the system may take to end a killed process; then it is left alone."""
_START_S: Final = 0.2
"""How long a start that is under way is waited for when the process ends."""
_TICK_S: Final = 0.03
_PROGRESS_S: Final = 0.25
_READ_BYTES: Final = 65536

# Popen takes it since 3.11; in a session of its own the host would not find the command
_OWN_GROUP: Final[dict[str, Any]] = (
    {"process_group": 0} if sys.version_info >= (3, 11) else {"preexec_fn": os.setpgrp}
)

_running: set[ProcessTree] = set()
_starting = threading.Lock()
_over: Final = threading.Event()
"""The process ends: no command is started any more."""


class Command:
    """A command to run, once.

    Args:
        args: the program and its arguments.
        cwd: its folder; None: that of the plugin's process.
        env: variables beside those of the plugin.
        timeout_s: how long it may take.
        max_bytes: how much is kept of its output, and of its errors.
        stdin: what it reads from standard input; None: that is empty.

    Raises:
        TypeError: one of these is of another type.
    """

    def __init__(
        self,
        args: Sequence[str | os.PathLike[str]],
        *,
        cwd: str | os.PathLike[str] | None,
        env: Mapping[str, str] | None,
        timeout_s: float | None,
        max_bytes: int,
        stdin: str | bytes | None = None,
    ) -> None:
        if isinstance(args, str) or not args:
            raise TypeError(
                'run() takes the program and its arguments, as in run(["git", "status"]); '
                f'a shell is run(["sh", "-c", {args or ""!r}])'
            )
        self._args = [
            _path(f"args[{index}]", arg) for index, arg in enumerate(row_of("args", args, "str"))
        ]
        self._cwd = None if cwd is None else _path("cwd", cwd)
        self._env = None if env is None else {**os.environ, **_variables(env)}
        check_number("timeout_s", timeout_s, none=True)
        check_number("max_bytes", max_bytes)
        check_input("stdin", stdin)
        self._timeout_s = timeout_s
        self._max_bytes = int(max_bytes)
        self._given = stdin.encode() if isinstance(stdin, str) else stdin

    def run(
        self, is_cancelled: Callable[[], bool], tell: Callable[[str], object]
    ) -> CommandResult | None:
        """Run it to its end.

        Args:
            is_cancelled: asked every few hundredths of a second.
            tell: is given the last line of what it writes, a few times a second.

        Returns:
            What came of it; None if it was cancelled.

        Raises:
            CommandError: it cannot be started.
        """
        if is_cancelled():
            return None
        while not _starting.acquire(timeout=_TICK_S):
            if is_cancelled():
                return None
        try:
            if _over.is_set():
                return None
            process = self._start()
            tree = ProcessTree(process.pid)
            _running.add(tree)
        finally:
            _starting.release()
        output = _Output(process, self._max_bytes, self._given or b"")
        try:
            cancelled, timed_out = self._watch(output, is_cancelled, tell)
        finally:
            _end(process, tree, output)
            _running.discard(tree)
        if cancelled:
            return None
        stdout, stderr = output.kept()
        status = process.returncode
        return CommandResult(
            status=-signal.SIGKILL if status is None else status,  # the system still holds it
            stdout=stdout.text(),
            stderr=stderr.text(),
            timed_out=timed_out,
            stdout_cut=stdout.is_cut,
            stderr_cut=stderr.is_cut,
        )

    def _start(self) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen[bytes](
                self._args,
                bufsize=0,
                stdin=subprocess.DEVNULL if self._given is None else subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=self._cwd,
                env=self._env,
                **_OWN_GROUP,
            )
        except (OSError, ValueError) as exc:
            path = (self._env or os.environ).get("PATH", os.defpath)
            raise start_error(self._args[0], self._cwd, path, exc) from None

    def _watch(
        self, output: _Output, is_cancelled: Callable[[], bool], tell: Callable[[str], object]
    ) -> tuple[bool, bool]:
        """Read until it has ended; True for each: it was cancelled, its time is up."""
        told = time.monotonic()
        until = None if self._timeout_s is None else told + self._timeout_s
        while True:
            if is_cancelled():
                return True, False
            if output.has_ended():
                return False, False
            now = time.monotonic()
            if until is not None and now >= until:
                return False, True
            output.read(_TICK_S)
            if now - told >= _PROGRESS_S:
                told = now
                if (line := output.new_line()) is not None:
                    tell(line)


def _variables(env: Mapping[str, str]) -> dict[str, str]:
    if not isinstance(env, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise wrong_type("env", "a dict", env, none=True)
    return {
        _path("a name in env", name): _path(f"env[{name!r}]", value) for name, value in env.items()
    }


def _path(what: str, given: Any) -> str:
    try:
        return os.fsdecode(given)
    except TypeError:
        raise wrong_type(what, "a str or a path", given) from None


class _Output:
    """What a process writes, what it is given to read, and when it ends."""

    def __init__(self, process: subprocess.Popen[bytes], max_bytes: int, given: bytes) -> None:
        self._process = process
        self._given = memoryview(given)
        self._poll = select.poll()
        self._kept: dict[int, KeptOutput] = {}
        self._open = 0
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                self._poll.register(stream, select.POLLIN)
                self._kept[stream.fileno()] = KeptOutput(max_bytes)
                self._open += 1
        if process.stdin is not None:
            os.set_blocking(process.stdin.fileno(), False)
            self._poll.register(process.stdin, select.POLLOUT)
        self._latest = b""
        self._end: int | None = None
        with suppress(AttributeError, OSError):  # not Linux, or an old one
            self._end = os.pidfd_open(process.pid)
            self._poll.register(self._end, select.POLLIN)
        self._has_ended = False

    def has_ended(self) -> bool:
        """True if the process has; what it has started may go on."""
        return self._has_ended if self._end is not None else self._process.poll() is not None

    def read(self, seconds: float) -> bool:
        """Wait so long for something to read, or for the end; True if something was read."""
        ready = self._poll.poll(seconds * 1000)
        read = False
        for fd, _ in ready:
            if fd == self._end:
                self._has_ended = True
                self._poll.unregister(fd)
                continue
            if fd not in self._kept:
                self._give(fd)
                continue
            data = os.read(fd, _READ_BYTES)
            if data:
                self._kept[fd].add(data)
                self._latest = data
                read = True
            else:
                self._poll.unregister(fd)
                self._open -= 1
        return read

    def _give(self, fd: int) -> None:
        """Write what it takes now; close its input when it has all, or reads no more."""
        try:
            self._given = self._given[os.write(fd, self._given[:_READ_BYTES]) :]
        except BlockingIOError:
            return
        except OSError:  # it has closed its input, or has ended
            self._given = self._given[:0]
        if not self._given and self._process.stdin is not None:
            self._poll.unregister(fd)
            self._process.stdin.close()

    def new_line(self) -> str | None:
        """The last line of what was written since the last call; None if there is none."""
        latest, self._latest = self._latest, b""
        return last_line(latest)

    def close(self) -> None:
        """Read what is there, but do not wait for those who hold the pipes and are out of reach."""
        until = time.monotonic() + TERM_GRACE_S
        while self._open and self.read(_TICK_S) and time.monotonic() < until:
            pass
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()
        if self._end is not None:
            os.close(self._end)

    def kept(self) -> list[KeptOutput]:
        """Standard output and standard error."""
        return list(self._kept.values())


def _end(process: subprocess.Popen[bytes], tree: ProcessTree, output: _Output) -> None:
    """End what is left of a command: SIGTERM for all, and SIGKILL for those that stay."""
    kill_at = time.monotonic() + TERM_GRACE_S
    left, number = True, int(signal.SIGTERM)
    if output.has_ended():
        process.wait()
        left = not tree.is_empty()
    while left and time.monotonic() < kill_at + _KILL_S:
        left = tree.signal(number)
        output.read(_TICK_S)
        output.has_ended()  # without a descriptor for it, this waits for the root
        number = signal.SIGKILL if time.monotonic() >= kill_at else 0
    output.close()
    with suppress(subprocess.TimeoutExpired):
        process.wait(0 if left else _KILL_S)


@atexit.register
def _end_all() -> None:
    """The plugin ends, and its commands with it."""
    _start_no_more()
    kill_at = time.monotonic() + TERM_GRACE_S
    left = [tree for tree in tuple(_running) if tree.signal(signal.SIGTERM)]
    while left and time.monotonic() < kill_at:
        time.sleep(_TICK_S)
        left = [tree for tree in left if tree.signal(0)]
    _kill_all()


def _kill_all() -> None:
    """Kill what is left, also if `_end_all` had no time for it."""
    _start_no_more()
    # one look for all, as each takes milliseconds
    running = running_processes() if _running else None
    for tree in tuple(_running):
        tree.signal_among(running, signal.SIGKILL)


def _start_no_more() -> None:
    """From now on no command is started; one that just is, is among those that run."""
    _over.set()
    if _starting.acquire(timeout=_START_S):  # a start that takes so long hangs
        _starting.release()


at_last(_kill_all)


def _forked() -> None:
    """A child has no thread that would release the lock."""
    global _starting  # noqa: PLW0603 - a lock cannot be made anew
    _starting = threading.Lock()


os.register_at_fork(after_in_child=_forked)
