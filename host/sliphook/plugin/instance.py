"""One process of a plugin, from its first message until it is reaped.

What outlives the process, such as state and restarts, is in `Plugin`.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Protocol

import msgspec
import trio

from sliphook.agent_log import agent_log
from sliphook.process.child import Process, describe_exit
from sliphook.process.diagnosis import advice_for, last_words
from sliphook.process.limits import NO_LIMITS, Limits, said_of_end
from sliphook.process.own_threads import OwnThreads
from sliphook.process.shutdown import NO_PARAMS, drain, reap, terminate
from sliphook.process.stderr import StderrTail
from sliphook.process.streams import read_by_turns
from sliphook.quoting import quote
from sliphook.transport.call import Call, CallStatus
from sliphook.transport.connection import Connection
from sliphook.transport.deadlines import Deadlines
from sliphook.transport.outbox import Item
from sliphook.transport.pace import Pace
from sliphook.transport.rate_limit import RateLimit
from sliphook.transport.transport_recorder import TransportRecorder
from sliphook.transport.writer import DYING_S
from sliphook.wire.envelope import InvalidMessage, Message
from sliphook.wire.rpc import Handlers
from sliphook_sdk.protocol.limits import INITIALIZE_TIMEOUT_S, MAX_LOG_PER_SECOND

from .hang_watchdog import HANG_S, HangWatchdog

_log = agent_log(__name__)
_looks = OwnThreads("looks at files", 8)

_STDERR_PIECE = 4 * 1024  # bytes that are taken, and searched for secrets, in one step


class InstanceOwner(Protocol):
    """What an instance needs of its plugin; none of the methods may raise."""

    name: str

    def accepts(self, manifest: msgspec.Raw) -> bool:
        """Take the plugin's manifest; False if the plugin cannot be used: its process is ended."""
        ...

    def file_changed(self, why: str) -> None:
        """The approved file has changed while the process was being started."""
        ...

    def log_line(self, level: str, message: str) -> None:
        """Write a line of stderr, or what the host says of the plugin, to its log."""
        ...

    def tell_user(self, words: str) -> None:
        """Report to the user, in words that follow the plugin's name."""
        ...


class Instance:
    """One process of a plugin.

    `run` returns when the process is reaped and its calls are settled; then `why` is set.

    Args:
        process: the process, just started.
        owner: the plugin.
        deadlines: the host's deadlines.
        pace: the host's, so that not many begin, write or end in one pass of the loop.
        handlers: what the plugin may call, by method.
        stderr: takes the process's stderr.
        recorder: records the messages, or None.
        limits: how much of the machine the process may use; a report of its end names them.

    Attributes:
        pid: the id of the process and of its group.
        connection: the connection to it.
        ready_since: `trio.current_time()` when its manifest was accepted, or None.
        stopped: the host has asked it to end, so its end is no failure.
        why: why it ends or how it ended, in words that follow the plugin's name; None before that.
    """

    def __init__(
        self,
        process: Process,
        owner: InstanceOwner,
        deadlines: Deadlines,
        pace: Pace,
        handlers: Handlers,
        stderr: StderrTail,
        recorder: TransportRecorder | None,
        limits: Limits = NO_LIMITS,
    ) -> None:
        self.pid = process.pid
        self.ready_since: float | None = None
        self.stopped = False
        self.why: str | None = None
        self.connection = Connection(
            process.stdin, process.stdout, handlers, deadlines, pace, self, recorder
        )
        self._process = process
        self._owner = owner
        self._deadlines = deadlines
        self._stderr = stderr
        self._recorder = recorder
        self._pace = pace
        self._limits = limits
        self._hang = HangWatchdog(
            deadlines, self.connection, self._ping, lambda why: self.condemn("crashed", why)
        )
        self._over = trio.Event()
        self._hurry = trio.Event()
        self._accepted = trio.Event()
        self._status: CallStatus = "crashed"
        self._taken_before = stderr.taken
        self._last_lines: tuple[str, ...] = ()
        self._warnings = RateLimit(MAX_LOG_PER_SECOND, 1.0)

    # -- how it is ended

    def stop(self) -> None:
        """Begin to end the process in order: `shutdown`, `exit`, then signals."""
        self.stopped = True
        self._over.set()

    def kill(self) -> None:
        """Kill the process now; a `stop` that is under way is cut short."""
        self._hurry.set()
        self.stop()
        self._process.signal_group(signal.SIGKILL)

    def condemn(self, status: CallStatus, why: str) -> None:
        """Kill the process because it cannot be used; its open calls end with `status`."""
        if self.why is None and not self.stopped:  # the first reason counts
            self._status, self.why = status, why
        # `run` now leaves its nursery, and `_clean_up` kills the process
        self._over.set()

    # -- its tasks

    async def run(self, initialize: msgspec.Raw, within_s: float | None = None) -> None:
        """Send `initialize` (its params), then run until the process ends or is ended; clean up.

        Its answer may take `within_s`, by default what the protocol says.
        """
        try:
            async with trio.open_nursery() as nursery:
                await self._pace.step()
                nursery.start_soon(self._read)
                nursery.start_soon(self.connection.write)
                nursery.start_soon(self._drain_stderr)
                nursery.start_soon(self._watch)
                if self._process.why_changed is not None:
                    nursery.start_soon(self._check_file, self._process.why_changed)
                call = Call("initialize", within_s or INITIALIZE_TIMEOUT_S, self._initialized)
                call.start_clock(self._deadlines)
                self.connection.call(call, initialize)
                await self._over.wait()
                await self._pace.step()
                # the tasks above still read its output, so that no full pipe holds it up
                if self.stopped:
                    await terminate(
                        self._process,
                        self.connection,
                        self._deadlines,
                        self._hurry,
                        polite=self.ready_since is not None,
                        say=self._say_warning,
                    )
                nursery.cancel_scope.cancel()
        finally:
            # shielded: in any case the process must be reaped, and every call settled
            with trio.CancelScope(shield=True):
                await self._clean_up()

    def _initialized(self, call: Call) -> None:
        if self.stopped or self.why is not None:
            return  # it is being ended; if it has just died by itself, its manifest still counts
        if call.status == "error" and call.error is not None:
            self.condemn("failed_to_start", f"refused to start: {quote(call.error.message, 300)}")
        elif call.status == "timed_out":
            self.condemn(
                "failed_to_start", f"did not answer initialize within {call.timeout_s:g} s"
            )
        elif call.status != "answered" or call.result is None:
            self.condemn("failed_to_start", call.why or "did not answer initialize")
        elif self._owner.accepts(call.result):
            self.ready_since = trio.current_time()
            self._accepted.set()
        else:
            self.condemn("failed_to_start", "was not accepted")

    # in all tasks, Ctrl+C is left to the agent's code: raised in here, it would end the plugin
    @trio.lowlevel.enable_ki_protection
    async def _read(self) -> None:
        await self.connection.read()
        # a process that ends closes its pipes first: it is at fault only if it lives on
        await trio.sleep(DYING_S)
        if not self.is_dead():
            self.condemn("crashed", "closed its standard output and lived on")

    @trio.lowlevel.enable_ki_protection
    async def _watch(self) -> None:
        await self._process.exited()
        self._over.set()

    @trio.lowlevel.enable_ki_protection
    async def _check_file(self, why_changed: Callable[[], str | None]) -> None:
        """Check after `initialize` that the file is still the approved one.

        The interpreter of a script opens the file itself, some time between the spawn and the
        plugin's first answer.
        """
        await self._accepted.wait()
        why = await _looks.run(why_changed, abandon_on_cancel=True)
        if why is not None:
            self._owner.file_changed(why)

    @trio.lowlevel.enable_ki_protection
    async def _drain_stderr(self) -> None:
        await read_by_turns(self._process.stderr, self._read_stderr, self._pace)

    def _read_stderr(self, descriptor: int) -> int | None:
        """Read one piece; returns its size, 0 at the end of the stream, None if none is there."""
        try:
            data = os.read(descriptor, _STDERR_PIECE)
        except BlockingIOError:
            return None
        except OSError:
            return 0
        now_s = trio.current_time()
        self._take_stderr(self._stderr.feed(data, now_s) if data else self._stderr.close(now_s))
        return len(data)

    def _take_stderr(self, lines: list[tuple[str, str]]) -> None:
        # the tail keeps the lines of the plugin's earlier processes too
        if (ours := self._stderr.taken - self._taken_before) > 0:
            self._last_lines = self._stderr.lines[-ours:]
        for level, line in lines:
            self._owner.log_line(level, line)
            if self._recorder is not None and level == "stderr":
                self._recorder.life("stderr", body=line.encode())

    async def _clean_up(self) -> None:
        """Kill the rest of the group, reap the process, read the pipes to their end, close.

        The order matters: after the kill nothing more is written, answers still in the pipes count,
        and the last line on stderr is a part of `why`, with which `close` settles the open calls.
        """
        by_itself = self.why is None and not self.stopped
        returncode = await reap(
            self._process, self._owner.name, self._pace, grace_s=DYING_S if by_itself else 0.0
        )
        await self._process.end_session()
        await self.connection.read_rest()
        await drain(self._process.stderr, self._read_stderr, self._pace)
        # also if another process holds the pipe: half a line is not the next process's
        self._take_stderr(self._stderr.close(trio.current_time()))
        self._hang.stop()
        if self.why is None and self.stopped:
            self.why = "was stopped"
        elif by_itself and self.why is None:
            ending = describe_exit(returncode) if returncode is not None else "could not be killed"
            early = "" if self.ready_since is not None else " before it answered initialize"
            self.why = f"{ending}{early}"
            if (cut_short := self.connection.cut_short) is not None:
                # half a message is the plugin's fault, unless a signal ended it in the middle
                self.why += f"; {cut_short}"
                self._status = (
                    "crashed" if returncode is None or returncode < 0 else "protocol_error"
                )
        words = last_words(self._last_lines) if self._last_lines else None
        if words is not None and not self.stopped:
            advice = advice_for(words)
            self.why = f"{self.why}; its last line on stderr: {words}"
            if advice is not None:
                self.why += f" ({advice})"
        if not self.stopped:
            of_limits = said_of_end(self._limits, returncode, words)
            self.why = f"{self.why}; {of_limits}" if of_limits is not None else self.why
        if self._recorder is not None:
            self._recorder.life("exit", note=self.why)
        self.connection.close(self._status, f"{self._owner.name} {self.why}")

    def _ping(self) -> None:
        call = Call("ping", HANG_S, _ignore)
        call.start_clock(self._deadlines)
        self.connection.call(call, NO_PARAMS)

    def _say_warning(self, message: str) -> None:
        if self._warnings.allows(trio.current_time()):
            if (left_out := self._warnings.take_left_out("warnings")) is not None:
                self._owner.log_line("warning", left_out)
            self._owner.log_line("warning", message)

    # -- what the connection reports (see ConnectionOwner)

    def heard(self, message: Message | InvalidMessage) -> None:
        """A message came: the plugin does not hang."""
        self._hang.heard(message)

    def unanswered(self, call: Call) -> None:
        """A request that had been sent was given up: the plugin may hang."""
        self._hang.unanswered(call)

    def is_dead(self) -> bool:
        """True if the process has ended; it is reaped then.

        In a busy loop, the end of a pipe may be read long before `_watch` runs.
        """
        if self._process.reap() is None:
            return False
        self._over.set()
        return True

    def connection_broken(self, status: CallStatus, why: str) -> None:
        """The connection has closed itself: kill the process too."""
        self.condemn(status, why)

    def stray_output(self, why: str) -> None:
        """Something on stdout was no message, or broke a rule: log it."""
        self._say_warning(why)

    def dropped(self, item: Item) -> None:
        """An event was dropped because the queue is full: log it."""
        self._say_warning(f"{item.method} was lost: the plugin does not read what it is sent")

    def goes_on(self, words: str) -> None:
        """Work that was to stop goes on, or has ended: tell the user."""
        self._owner.tell_user(words)

    def agent_blocked(self, late_s: float) -> None:
        """The agent's code has blocked the loop, so a timeout was noticed late: log it."""
        _log.warning(
            "the agent blocked its own loop for %.2f s;"
            " a timeout of the plugin %s was noticed late",
            late_s,
            self._owner.name,
        )


def _ignore(_: Call) -> None:
    """Do nothing with the answer to a ping: any message is a sign of life (see `heard`)."""
