"""One process of a plugin, from its first message to its burial.

The plugin's history outlives it (see `Plugin`).
"""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Callable, Mapping
from typing import Protocol

import msgspec
import trio

from sliphook.process.child import Process, describe_exit
from sliphook.process.diagnosis import advice_for
from sliphook.process.shutdown import NO_PARAMS, drain, reap, terminate
from sliphook.process.stderr import StderrTail
from sliphook.quoting import quote
from sliphook.transport.call import Call, CallStatus
from sliphook.transport.connection import Connection
from sliphook.transport.deadlines import Deadlines
from sliphook.transport.outbox import Item
from sliphook.transport.rate_limit import RateLimit
from sliphook.transport.transport_recorder import TransportRecorder
from sliphook.transport.writer import DYING_S
from sliphook.wire.rpc import Handler
from sliphook_sdk.protocol.limits import INITIALIZE_TIMEOUT_S, MAX_LOG_PER_SECOND

from .hang_watchdog import HANG_S, HangWatchdog

_log = logging.getLogger(__name__)
_looks = trio.CapacityLimiter(8)


class InstanceOwner(Protocol):
    """The plugin whose process it is; none of these may raise."""

    name: str

    def accepts(self, manifest: msgspec.Raw) -> bool:
        """The plugin has declared itself; False where it cannot be worked with: it is ended then."""
        ...

    def file_changed(self, why: str) -> None:
        """The file that was approved is another one since the process was started."""
        ...

    def log_line(self, level: str, message: str) -> None:
        """A line for the plugin's log."""
        ...


class Instance:
    """One living process.

    `run` returns when it is dead and buried; then `why` says of what it died.

    Attributes:
        ready_since: `trio.current_time()` when its manifest was accepted, or None.
        stopped: it was asked to end, so its end is no death.
        why: in words that follow the plugin's name; None while it lives.
    """

    def __init__(
        self,
        process: Process,
        owner: InstanceOwner,
        deadlines: Deadlines,
        handlers: Mapping[str, Handler],
        stderr: StderrTail,
        recorder: TransportRecorder | None,
    ) -> None:
        self.pid = process.pid
        self.ready_since: float | None = None
        self.stopped = False
        self.why: str | None = None
        self.connection = Connection(
            process.stdin, process.stdout, handlers, deadlines, self, recorder
        )
        self._process = process
        self._owner = owner
        self._deadlines = deadlines
        self._stderr = stderr
        self._recorder = recorder
        self._hang = HangWatchdog(
            deadlines, lambda: self.connection.is_owed, self._ping, self._hangs
        )
        self._over = trio.Event()
        self._hurry = trio.Event()
        self._accepted = trio.Event()
        self._status: CallStatus = "crashed"
        self._last_words: str | None = None
        self._warnings = RateLimit(MAX_LOG_PER_SECOND, 1.0)

    # -- its end

    def stop(self) -> None:
        """Begin to end it politely."""
        self.stopped = True
        self._over.set()

    def kill(self) -> None:
        """End it now, without asking."""
        self._hurry.set()
        self.stop()
        self._process.signal_group(signal.SIGKILL)

    def condemn(self, status: CallStatus, why: str) -> None:
        """It cannot be worked with: it will be killed, and what it owes fails with `status`."""
        if self.why is None and not self.stopped:
            self._status, self.why = status, why
        self._over.set()

    # -- its life

    async def run(self, initialize: msgspec.Raw) -> None:
        """Shake hands, then live until something ends it.

        Args:
            initialize: the params of the first message.
        """
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._read)
                nursery.start_soon(self.connection.write)
                nursery.start_soon(self._drain_stderr)
                nursery.start_soon(self._watch)
                if self._process.why_changed is not None:
                    nursery.start_soon(self._look_again, self._process.why_changed)
                call = Call("initialize", INITIALIZE_TIMEOUT_S, self._initialized)
                call.start_clock(self._deadlines)
                self.connection.call(call, initialize)
                await self._over.wait()
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
            with trio.CancelScope(shield=True):
                await self._clean_up()

    def _initialized(self, call: Call) -> None:
        if self.stopped or self.why is not None:
            return  # nobody wants it any more; of one that has just died by itself the manifest counts
        if call.status == "error" and call.error is not None:
            self.condemn("failed_to_start", f"refused to start: {quote(call.error.message, 300)}")
        elif call.status == "timed_out":
            self.condemn(
                "failed_to_start", f"did not answer initialize within {INITIALIZE_TIMEOUT_S:g} s"
            )
        elif call.status != "answered" or call.result is None:
            self.condemn("failed_to_start", call.why or "did not answer initialize")
        elif self._owner.accepts(call.result):
            self.ready_since = trio.current_time()
            self._accepted.set()
        else:
            self.condemn("failed_to_start", "was not accepted")

    @trio.lowlevel.enable_ki_protection
    async def _read(self) -> None:
        await self.connection.read()
        # the end of the stream is not the end of the process; leave it the time to end
        await trio.sleep(DYING_S)
        if not self.is_dead():
            self.condemn("crashed", "closed its standard output and lived on")

    @trio.lowlevel.enable_ki_protection
    async def _watch(self) -> None:
        await self._process.exited()
        self._over.set()

    @trio.lowlevel.enable_ki_protection
    async def _look_again(self, why_changed: Callable[[], str | None]) -> None:
        """A script's interpreter has read its file by the time that the plugin answers: is it still the one that was approved?"""
        await self._accepted.wait()
        why = await trio.to_thread.run_sync(why_changed, abandon_on_cancel=True, limiter=_looks)
        if why is not None:
            self._owner.file_changed(why)

    @trio.lowlevel.enable_ki_protection
    async def _drain_stderr(self) -> None:
        while self._read_stderr(self._process.stderr) != 0:
            await trio.lowlevel.wait_readable(self._process.stderr)

    def _read_stderr(self, descriptor: int) -> int | None:
        """Read one piece; returns its size, 0 at the end of the stream, None where there is nothing now."""
        try:
            data = os.read(descriptor, 64 * 1024)
        except BlockingIOError:
            return None
        except OSError:
            return 0
        now_s = trio.current_time()
        lines = self._stderr.feed(data, now_s) if data else self._stderr.close(now_s)
        if data or lines:
            self._last_words = next(reversed(self._stderr.lines), None)
        for level, line in lines:
            self._owner.log_line(level, line)
            if self._recorder is not None and level == "stderr":
                self._recorder.life("stderr", body=line.encode())
        return len(data)

    async def _clean_up(self) -> None:
        """It has ended or has to: its group is killed, it is reaped, and what it left in the pipes is read."""
        by_itself = self.why is None and not self.stopped
        returncode = await reap(
            self._process, self._owner.name, grace_s=DYING_S if by_itself else 0.0
        )
        self.connection.read_rest()
        drain(self._process.stderr, self._read_stderr)
        self._hang.stop()
        if self.why is None and self.stopped:
            self.why = "was stopped"
        elif by_itself and self.why is None:
            ending = describe_exit(returncode) if returncode is not None else "could not be killed"
            self.why = f"{ending}{'' if self.ready_since is not None else ' before it answered initialize'}"
            cut_short = self.connection.cut_short
            if cut_short is not None:
                self.why += f"; {cut_short}"
                self._status = (
                    "crashed" if returncode is None or returncode < 0 else "protocol_error"
                )
        if self._last_words is not None and not self.stopped:
            advice = advice_for(self._last_words)
            self.why = f"{self.why}; its last line on stderr: {self._last_words}{f' ({advice})' if advice is not None else ''}"
        if self._recorder is not None:
            self._recorder.life("exit", note=self.why)
        self.connection.close(self._status, f"{self._owner.name} {self.why}")

    def _ping(self) -> None:
        call = Call("ping", HANG_S, _ignore)
        call.start_clock(self._deadlines)
        self.connection.call(call, NO_PARAMS)

    def _hangs(self) -> None:
        self.condemn(
            "crashed", f"hangs: it owes an answer and has given no sign of life for {HANG_S:g} s"
        )

    def _say_warning(self, message: str) -> None:
        if self._warnings.allows(trio.current_time()):
            left_out = self._warnings.take_left_out("warnings")
            if left_out is not None:
                self._owner.log_line("warning", left_out)
            self._owner.log_line("warning", message)

    # -- what its connection tells (see ConnectionOwner)

    def heard(self) -> None:
        """A message came."""
        self._hang.heard()

    def unanswered(self) -> None:
        """A request that it had read was given up."""
        self._hang.unanswered()

    def is_dead(self) -> bool:
        """The process has ended, noticed or not: a busy loop may see the end of its pipes long before."""
        if self._process.reap() is None:
            return False
        self._over.set()
        return True

    def connection_broken(self, status: CallStatus, why: str) -> None:
        """The connection has ended itself: the process has to go too."""
        self.condemn(status, why)

    def stray_output(self, why: str) -> None:
        """Something on stdout was no message, or broke a rule."""
        self._say_warning(why)

    def dropped(self, item: Item) -> None:
        """An event was lost because the queue is full."""
        self._say_warning(f"{item.method} was lost: the plugin does not read what it is sent")

    def agent_blocked(self, late_s: float) -> None:
        """The agent held the loop."""
        _log.warning(
            "the agent blocked its own loop for %.2f s; a timeout of the plugin %s was noticed late",
            late_s,
            self._owner.name,
        )


def _ignore(_: Call) -> None:
    """A ping needs no answer: any message is a sign of life."""
