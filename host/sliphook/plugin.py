"""One supervised plugin: its process, its connection, its state, and what is asked of it while it is not there.

Everything that goes wrong with a plugin ends here. Nothing in this module raises into the agent: a fault of our own marks the
plugin `failed` and is logged with its traceback.
"""

from __future__ import annotations

import logging
import os
import random
import signal
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Protocol

import msgspec
import trio
from sliphook_sdk.protocol.limits import INITIALIZE_TIMEOUT_S

from .call import Call, CallStatus
from .connection import Connection
from .deadlines import Deadlines
from .ending import bury, drain, stop_ladder
from .lifecycle import Happening, RestartPolicy, State, move
from .manifest import ManifestError, ReadManifest, Route, read_manifest
from .outbox import Item
from .process import CannotStart, ChildProcess, describe_exit, plugin_environment, spawn
from .quoting import quote
from .rpc import Handler
from .spec import PluginSpec, PluginStatus
from .stderr import StderrTail
from .trace.record import Kind, TraceSink
from .witness import Witness
from .writer import DYING_S

_log = logging.getLogger("sliphook.plugin")


class Supervisor(Protocol):
    """What a plugin needs of the host; none of these may raise."""

    deadlines: Deadlines
    trace: TraceSink | None

    def initialize_params(self, plugin: Plugin) -> msgspec.Raw:
        """The params of `initialize`."""
        ...

    def handlers(self, plugin: Plugin) -> Mapping[str, Handler]:
        """What the plugin may call."""
        ...

    def admit(self, plugin: Plugin, manifest: ReadManifest) -> str | None:
        """The manifest is good in itself; returns why the host refuses it all the same, or None: its hooks count from now on."""
        ...

    def data_dir(self, plugin: Plugin) -> Path:
        """A folder that is the plugin's own."""
        ...

    def state_changed(self, plugin: Plugin) -> None:
        """`plugin.state` is another."""
        ...

    def problem(self, plugin: Plugin, message: str) -> None:
        """Something that the user should read, one line."""
        ...

    def log_line(self, plugin: Plugin, level: str, message: str) -> None:
        """A line for the plugin's log."""
        ...


class Plugin:
    """One plugin of the host, through all its processes.

    Args:
        spec: what to start.
        order: its place in the order of installation.
        host: who is told.
    """

    def __init__(self, spec: PluginSpec, order: int, host: Supervisor) -> None:
        self.spec = spec
        self.order = order
        self.name = spec.name or quote(spec.path.stem, 64)
        self.state = State.STOPPED
        self.why: str | None = None
        self.since = trio.current_time()
        self.manifest: ReadManifest | None = None
        self.settled = trio.Event()
        self.gone = trio.Event()
        self._host = host
        self._policy = RestartPolicy()
        self._process: ChildProcess | None = None
        self._connection: Connection | None = None
        self._waiting: list[tuple[Call, msgspec.Raw]] = []
        self._stderr = StderrTail()
        self._witness = Witness(host.trace, self.name) if host.trace is not None else None
        self._ended = trio.Event()
        self._end_status: CallStatus = "crashed"
        self._end_why: str | None = None
        self._stop = trio.Event()
        self._hurry = trio.Event()

    # -- what the host asks of it ----------------------------------------------------------------------------------

    @property
    def ready(self) -> bool:
        """It has declared itself and lives."""
        return self.state is State.READY

    @property
    def connection(self) -> Connection | None:
        """The conversation with the living process, once its manifest has been read."""
        return self._connection if self.ready else None

    @property
    def has_restarted(self) -> bool:
        """This is not its first process."""
        return self._policy.restarts > 0

    def routes(self) -> Mapping[str, tuple[Route, ...]]:
        """Its subscriptions that count now. One that is not there and cannot be waited for keeps its closed hooks: they fail."""
        if self.manifest is None or self.state in (State.STOPPED, State.STOPPING, State.DISABLED):
            return {}
        if self.ready or self.state.waits:
            return self.manifest.routes
        closed = {name: tuple(route for route in routes if route.on_failure == "closed") for name, routes in self.manifest.routes.items()}
        return {name: routes for name, routes in closed.items() if routes}

    def status(self) -> PluginStatus:
        """What there is to know of it now."""
        return PluginStatus(
            name=self.name,
            path=self.spec.path,
            state=self.state.value,
            why=self.why,
            pid=self._process.pid if self._process is not None else None,
            restarts=self._policy.restarts,
            since=self.since,
            stderr_tail=self._stderr.lines,
            manifest=self.manifest.wire if self.manifest is not None else None,
        )

    def ask(self, call: Call, params: msgspec.Raw) -> None:
        """Send a request; while the plugin is starting it waits, with its timeout running. Settled at once where that is hopeless."""
        call.start_clock(self._host.deadlines)
        if self.ready and self._connection is not None:
            self._connection.call(call, params)
        elif self.state.waits:
            self._waiting.append((call, params))
        else:
            call.settle("failed_to_start", self._not_there())

    def tell(self, method: str, params: msgspec.Raw, *, session_id: str | None = None, droppable: bool = False, urgent: bool = False) -> bool:
        """Send a notification, if there is anyone to hear it."""
        if not self.ready or self._connection is None:
            return False
        self._connection.notify(method, params, session_id=session_id, droppable=droppable, urgent=urgent)
        return True

    def withdraw_waiting(self, turn_ids: set[str]) -> None:
        """Settle the calls of these turns that still wait for the plugin to become ready."""
        gone = [call for call, _ in self._waiting if call.turn_id in turn_ids]
        self._waiting = [(call, params) for call, params in self._waiting if call.turn_id not in turn_ids]
        for call in gone:
            call.settle("cancelled", "cancelled before it was sent")

    def cancel(self, call: Call) -> None:
        """Withdraw one call, wherever it is."""
        if call.connection is not None:
            call.connection.cancel(call)
        else:
            self._waiting = [(waiting, params) for waiting, params in self._waiting if waiting is not call]
            call.settle("cancelled", "cancelled before it was sent")

    def stop(self) -> None:
        """Begin to end it: queue, `shutdown`, `exit`, signals. `run` returns when that is done."""
        self._stop.set()
        self._ended.set()

    def kill(self) -> None:
        """End it now, without asking: the user is in a hurry."""
        self._hurry.set()
        self.stop()
        if self._process is not None:
            self._process.signal_group(signal.SIGKILL)

    def refuse(self, why: str) -> None:
        """The host will not have it: another has its name, or a name of its."""
        self._end_why = why
        self._change(Happening.REFUSE, why)
        self._ended.set()

    # -- supervision -----------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Start it and keep it alive until `stop`. Raises nothing but trio's Cancelled."""
        try:
            await self._keep_alive()
        except Exception as error:
            _log.exception("the supervision of the plugin %s failed", self.name)
            self.state, self.why = State.FAILED, f"a fault of the host: {error!r}"
            self._host.problem(self, f"{self.name}: supervision failed, a fault of the host: {error!r}")
        finally:
            self.settled.set()
            self.gone.set()
            self._drop_waiting()

    async def _keep_alive(self) -> None:
        self._change(Happening.START)
        while True:
            started = trio.current_time()
            try:
                process = await spawn(self.spec.path, cwd=self._host.data_dir(self), env=plugin_environment(os.environ, self.spec.env))
            except CannotStart as error:
                self._fail(Happening.CANNOT_START, str(error))
                return
            await self._live(process)
            if self._stop.is_set() or not (self.state is State.READY or self.state is State.STARTING):
                if self.state is State.STOPPING:
                    self._change(Happening.ENDED)
                return
            was_ready = self.state is State.READY
            why = self._end_why or "it ended"
            if not was_ready and self.manifest is None:
                # it has never worked: that is no crash to recover from, and trying again would only hide why
                self._fail(Happening.CANNOT_START, why)
                return
            self._change(Happening.DIED, why)
            now = trio.current_time()
            delay_s = self._policy.died(now, now - started if was_ready else 0.0, random.random())
            if delay_s is None:
                self._fail(Happening.BROKE, f"it died too often, the last time because {why}")
                return
            self._host.problem(self, f"{self.name} {why}; it is started again{f' in {delay_s:.1f} s' if delay_s else ''}")
            with trio.move_on_after(delay_s):
                await self._stop.wait()
            if self._stop.is_set():
                self._change(Happening.STOP)
                return
            self._change(Happening.RETRY)

    async def _live(self, process: ChildProcess) -> None:
        """One process from spawn to reaping."""
        self._process = process
        self._ended = trio.Event()
        if self._stop.is_set():
            self._ended.set()
        self._end_status, self._end_why = "crashed", None
        connection = Connection(process.stdin, process.stdout, self._host.handlers(self), self._host.deadlines, self, self._witness)
        self._connection = connection
        self._witnessed("spawn", note=f"pid {process.pid}: {self.spec.path}")
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._read, connection)
                nursery.start_soon(connection.write)
                nursery.start_soon(self._drain_stderr, process.stderr)
                nursery.start_soon(self._watch, process)
                self._handshake(connection)
                await self._ended.wait()
                if self._stop.is_set():
                    await self._end_politely(process, connection)
                nursery.cancel_scope.cancel()
        finally:
            with trio.CancelScope(shield=True):
                await self._bury(process, connection)

    async def _end_politely(self, process: ChildProcess, connection: Connection) -> None:
        polite = self.state is State.READY
        if self.state in (State.READY, State.STARTING):
            self._change(Happening.STOP)
        say = partial(self._host.log_line, self, "warning")
        await stop_ladder(process, connection, self._host.deadlines, self._hurry, polite=polite, say=say)

    def _handshake(self, connection: Connection) -> None:
        call = Call("initialize", INITIALIZE_TIMEOUT_S, self._initialized)
        call.start_clock(self._host.deadlines)
        connection.call(call, self._host.initialize_params(self))

    def _initialized(self, call: Call) -> None:
        if self._ended.is_set() or self.state is not State.STARTING:
            return
        if call.status == "error" and call.error is not None:
            self._refused_start(f"it refused to start: {quote(call.error.message, 300)}")
        elif call.status == "timed_out":
            self._refused_start(f"it did not answer initialize within {INITIALIZE_TIMEOUT_S:g} s")
        elif call.status != "answered" or call.result is None:
            self._refused_start(call.why or "it did not answer initialize")
        else:
            self._accept(call.result)

    def _accept(self, raw: msgspec.Raw) -> None:
        try:
            manifest = read_manifest(bytes(raw))
        except ManifestError as error:
            self._refused_start(str(error))
            return
        if manifest.wire.disabled:
            self.why = quote(manifest.wire.disabled, 300)
            self._end_why = self.why
            self._change(Happening.DECLINE, self.why)
            self._host.problem(self, f"{self.name} leaves itself out: {self.why}")
            self._ended.set()
            return
        if self.spec.name is None:
            self.name = manifest.name
            if self._witness is not None:
                self._witness.plugin = self.name
        refusal = self._host.admit(self, manifest)
        if refusal is not None:
            self._end_why = refusal
            self._change(Happening.REFUSE, refusal)
            self._host.problem(self, f"{self.name} is left out: {refusal}")
            self._ended.set()
            return
        self.manifest = manifest
        self._change(Happening.MANIFEST)
        self.settled.set()
        waiting, self._waiting = self._waiting, []
        for call, params in waiting:
            if call.status is None and self._connection is not None:
                self._connection.call(call, params)

    def _refused_start(self, why: str) -> None:
        self._end_why = why
        self._ended.set()

    async def _read(self, connection: Connection) -> None:
        await connection.read()
        # the end of the stream is not the end of the process; leave it the time to end
        await trio.sleep(DYING_S)
        if not self._ended.is_set():
            self._end_why = self._end_why or "closed its standard output and lived on"
            self._ended.set()

    async def _watch(self, process: ChildProcess) -> None:
        await process.exited()
        self._ended.set()

    async def _drain_stderr(self, descriptor: int) -> None:
        while True:
            await trio.lowlevel.wait_readable(descriptor)
            if self._read_stderr(descriptor) == 0:
                return

    def _read_stderr(self, descriptor: int) -> int | None:
        """Read one piece; returns its size, 0 at the end of the stream, None where there is nothing now."""
        try:
            data = os.read(descriptor, 64 * 1024)
        except BlockingIOError:
            return None
        except OSError:
            return 0
        now_s = trio.current_time()
        for line in self._stderr.feed(data, now_s) if data else self._stderr.close(now_s):
            self._host.log_line(self, "stderr", line)
            self._witnessed("stderr", body=line.encode())
        return len(data)

    async def _bury(self, process: ChildProcess, connection: Connection) -> None:
        own_end = self._end_why is None and not self._stop.is_set()
        returncode = await bury(process, self.name, grace_s=DYING_S if own_end else 0.0)
        connection.read_rest()
        drain(process.stderr, self._read_stderr)
        if own_end and self._end_why is None and returncode is not None:
            before = " before it answered initialize" if self.state is State.STARTING else ""
            self._end_why = describe_exit(returncode) + before + self._last_words()
        why = self._end_why or "was stopped"
        self._witnessed("exit", note=why)
        connection.close(self._end_status, f"{self.name} {why}")
        self._process = self._connection = None

    def _last_words(self) -> str:
        lines = self._stderr.lines
        return f"; its last line on stderr: {lines[-1]}" if lines else ""

    def _fail(self, happening: Happening, why: str) -> None:
        self._change(happening, why)
        self._host.problem(self, f"{self.name} is left out: {why}")

    def _change(self, happening: Happening, why: str | None = None) -> None:
        self.state = move(self.state, happening)
        self.since = trio.current_time()
        self.why = why
        self._witnessed("lifecycle", verdict=self.state.value, note=why)
        if not self.state.waits and self.state is not State.READY:
            self.settled.set()
            self._drop_waiting()
        self._host.state_changed(self)

    def _drop_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        for call, _ in waiting:
            call.settle("failed_to_start", self._not_there())

    def _not_there(self) -> str:
        return f"{self.name} is {self.state.value}{f': {self.why}' if self.why else ''}"

    def _witnessed(self, kind: Kind, *, verdict: str | None = None, note: str | None = None, body: bytes | None = None) -> None:
        if self._witness is not None:
            self._witness.life(kind, verdict=verdict, note=note, body=body)

    # -- what its connection tells (see ConnectionOwner) -----------------------------------------------------------

    def heard(self) -> None:
        """A message came."""

    def connection_broken(self, status: CallStatus, why: str) -> None:
        """The connection has ended itself: the process has to go too."""
        self._end_status, self._end_why = status, why
        self._ended.set()

    def stray_output(self, data: bytes, why: str) -> None:
        """Something on stdout was no message."""
        del data
        self._host.log_line(self, "warning", why)

    def dropped(self, item: Item) -> None:
        """An event was lost because the queue is full."""
        self._host.log_line(self, "warning", f"{item.method} was lost: the plugin does not read what it is sent")

    def agent_blocked(self, late_s: float) -> None:
        """The agent held the loop."""
        _log.warning("the agent blocked its own loop for %.2f s; a timeout of the plugin %s was noticed late", late_s, self.name)
