"""One plugin of the host, through all its processes: its state, its restarts, and what is asked of it while it is not there.

Everything that goes wrong with a plugin ends here. Nothing in this module raises into the agent: a
fault of our own marks the plugin `failed` and is logged with its traceback.
"""

from __future__ import annotations

import enum
import logging
import random
from collections.abc import Mapping

import msgspec
import trio

from sliphook.process.child import CannotStart, Process, Refused
from sliphook.process.stderr import StderrTail
from sliphook.quoting import quote
from sliphook.transport.call import Call
from sliphook.transport.connection import Connection
from sliphook.transport.transport_recorder import TransportRecorder

from .instance import Instance
from .launch import launch, with_advice
from .lifecycle import Happening, RestartPolicy, State, move
from .manifest import ManifestError, Route
from .overrides import AsksForMore, read_declared, recorded_manifest
from .pending import PendingRequests
from .secrets import secret_values
from .spec import PluginSpec, PluginStatus
from .supervisor import Supervisor

_log = logging.getLogger(__name__)


class _Order(enum.Enum):
    """What the host wants of the plugin."""

    RUN = enum.auto()
    REST = enum.auto()
    CLOSE = enum.auto()


class Plugin:
    """One plugin.

    Args:
        spec: what to start.
        order: its place in the order of installation.
        host: who supervises it.

    Attributes:
        name: its name; a plugin that is only tried says its own when it starts.
        state: where it is.
        why: what led there, or None.
        recorded: the manifest that was approved at installation, or None.
        manifest: the last one that was accepted, before the first the recorded one; it stays when
            the process is gone.
        waiting: requests that wait for it to become ready.
        settled: set while it is known whether the plugin is there.
        has_worked: it has been ready before, in another process.
        gone: set when `run` has returned.
    """

    def __init__(self, spec: PluginSpec, order: int, host: Supervisor) -> None:
        self.spec = spec
        self.order = order
        self.recorded, self._broken_record = recorded_manifest(
            spec, timeout_cap_s=host.timeout_cap_s
        )
        self.name = spec.name or (
            self.recorded.name if self.recorded is not None else quote(spec.path.stem, 64)
        )
        self.state = State.STOPPED
        self.why: str | None = None
        self.since = trio.current_time()
        self.manifest = self.recorded
        self.settled = trio.Event()
        self.gone = trio.Event()
        self._host = host
        self._order = _Order.RUN
        self._start_asked = True
        self._hurry = False
        self._nudge = trio.Event()
        self._policy = RestartPolicy()
        self._instance: Instance | None = None
        self.waiting = PendingRequests()
        self._stderr = StderrTail(host.secrets.data)
        self._recorder = (
            TransportRecorder(host.trace, self.name) if host.trace is not None else None
        )
        self.has_worked = False

    # -- what the host asks of it
    # ----------------------------------------------------------------------------------

    @property
    def ready(self) -> bool:
        """It has declared itself and lives."""
        return self.state is State.READY

    @property
    def connection(self) -> Connection | None:
        """The conversation with the living process, once its manifest has been accepted."""
        return (
            self._instance.connection
            if self.state is State.READY and self._instance is not None
            else None
        )

    @property
    def open_connection(self) -> Connection | None:
        """The conversation with its process, also with one that is being ended: what it owes may have to be withdrawn."""
        return self._instance.connection if self._instance is not None else None

    def routes(self) -> Mapping[str, tuple[Route, ...]]:
        """Its subscriptions that count now; where it is not there its closed ones, which fail: only the user's `disable` lifts them."""
        if self.manifest is None or self._order is _Order.REST or self.state is State.DISABLED:
            return {}
        if self.ready or self.state.waits:
            return self.manifest.routes
        closed = {
            name: tuple(route for route in routes if route.on_failure == "closed")
            for name, routes in self.manifest.routes.items()
        }
        return {name: routes for name, routes in closed.items() if routes}

    def status(self) -> PluginStatus:
        """What there is to know of it now."""
        return PluginStatus(
            name=self.name,
            path=self.spec.path,
            state=self.state.value,
            why=self.why,
            pid=self._instance.pid if self._instance is not None else None,
            restarts=self._policy.restarts,
            since=self.since,
            stderr_tail=self._stderr.lines,
            manifest=self.manifest.wire if self.manifest is not None else None,
        )

    def ask(self, call: Call, params: msgspec.Raw) -> None:
        """Send a request; while the plugin is starting it waits, with its timeout running.

        Settled at once where that is hopeless.
        """
        call.start_clock(self._host.deadlines)
        if self.state.waits:
            self.waiting.add(call, params)
        else:
            self._send(call, params)

    def cancel(self, call: Call) -> None:
        """Withdraw one call, wherever it is."""
        if call.connection is not None:
            call.connection.cancel(call)
        else:
            self.waiting.cancel(call)

    # -- orders; none of them waits
    # ----------------------------------------------------------------------------------

    def start(self) -> None:
        """Start it, or start it anew: by hand, so what it did before is forgotten.

        `settled` is set when the outcome is known.
        """
        self._policy.reset()
        self._start_asked = True
        self._give(_Order.RUN)

    def disable(self) -> None:
        """End it and lift its hooks. `settled` is set when it is gone."""
        self._start_asked = False
        self._give(_Order.REST)

    def stop(self) -> None:
        """End it for good, politely; `run` returns when that is done."""
        self._give(_Order.CLOSE)

    def kill(self) -> None:
        """End it for good, now: the user is in a hurry."""
        self._hurry = True
        if self._instance is not None:
            self._instance.kill()
        self._give(_Order.CLOSE)

    def refuse(self, why: str) -> None:
        """The host will not have it any more: another plugin has its name, or a name of its."""
        if self._instance is not None and self.state is State.READY:
            self._change(Happening.REFUSE, why)
            self._instance.condemn("crashed", why)

    def _give(self, order: _Order) -> None:
        if self._order is not _Order.CLOSE:
            self._order = order
        if self.settled.is_set():  # else somebody waits already, and this order answers them too
            self.settled = trio.Event()
        if self._instance is not None:
            if self.state in (State.READY, State.STARTING):
                self._change(Happening.STOP)
            self._instance.stop()
        self._nudge.set()

    # -- supervision
    # -----------------------------------------------------------------------------------------------

    @trio.lowlevel.enable_ki_protection
    async def run(self) -> None:
        """Obey orders and keep it alive until it is stopped for good.

        Raises nothing but trio's Cancelled.
        """
        try:
            while not (self._order is _Order.CLOSE and not self.state.waits):
                self._nudge = trio.Event()
                try:
                    await self._step()
                except Exception as error:
                    self._have_failed(error)
        finally:
            self.gone.set()
            self.settled.set()
            self.waiting.fail(self._not_there())

    def _have_failed(self, error: Exception) -> None:
        """The host itself is at fault; the plugin alone bears it, until it is started by hand."""
        _log.exception("the supervision of the plugin %s failed", self.name)
        self._start_asked = False
        self.state, self.why = State.FAILED, f"a fault of the host: {error!r}"
        self.waiting.fail(self._not_there())
        self._host.state_changed(self)
        self._host.problem(self, f"{self.name}: supervision failed, a fault of the host: {error!r}")

    async def _step(self) -> None:
        """One thing that is to be done now, or waiting for the next order."""
        if self.state is State.RESTARTING and self._order is not _Order.RUN:
            self._change(Happening.STOP)
        elif self._order is _Order.REST and self.state is not State.DISABLED:
            self._change(Happening.DISABLE)
        elif self._order is _Order.RUN and self._start_asked:
            if self.state is State.DISABLED:
                self._change(Happening.ENABLE)
            self._start_asked = False
            self._change(Happening.RETRY if self.state is State.RESTARTING else Happening.START)
            await self._live()
        else:
            self.settled.set()
            await self._nudge.wait()

    async def _live(self) -> None:
        """One process, and what follows from its end."""
        try:
            process = await self._spawn()
        except CannotStart as error:
            self._fail(
                Happening.REFUSE if isinstance(error, Refused) else Happening.CANNOT_START,
                str(error),
            )
            return
        if self._recorder is not None:
            self._recorder.conceals_config = self.manifest is None
        instance = Instance(
            process,
            self,
            self._host.deadlines,
            self._host.handlers(self),
            self._stderr,
            self._recorder,
        )
        self._instance = instance
        if self._recorder is not None:
            self._recorder.life("spawn", note=f"pid {process.pid}: {self.spec.path}")
        if self._order is not _Order.RUN or self._start_asked:
            self._change(Happening.STOP)
            if self._hurry:
                instance.kill()
            else:
                instance.stop()
        try:
            await instance.run(self._host.initialize_params(self))
        finally:
            self._instance = None
        if self.state is State.STOPPING:
            self._change(Happening.ENDED)
        elif self.state in (State.READY, State.STARTING):
            await self._died(instance)

    async def _spawn(self) -> Process:
        if self._broken_record is not None:
            raise CannotStart(self._broken_record)
        self._host.hide(
            secret_values(self.spec, self.manifest.wire if self.manifest is not None else None)
        )
        return await launch(self.spec, self._host.data_dir(self), self._host.reaper)

    async def _died(self, instance: Instance) -> None:
        why = instance.why or "ended"
        if instance.ready_since is None and not self.has_worked:
            # it has never worked: that is no crash to recover from, and trying again would only
            # hide why
            self._fail(Happening.CANNOT_START, why)
            return
        self._change(Happening.DIED, why)
        now = trio.current_time()
        delay_s = self._policy.died(
            now,
            0.0 if instance.ready_since is None else now - instance.ready_since,
            random.random(),
        )
        if delay_s is None:
            self._fail(Happening.BROKE, f"it died too often, the last time it {why}")
            return
        self._host.problem(
            self,
            f"{self.name} {why}; it is started again{f' in {delay_s:.1f} s' if delay_s else ''}",
        )
        with trio.move_on_after(delay_s):
            await self._nudge.wait()
        self._start_asked = True

    # -- what its process tells (see InstanceOwner)
    # ------------------------------------------------------------------

    def accepts(self, manifest: msgspec.Raw) -> bool:
        """The plugin has declared itself."""
        try:
            read = read_declared(bytes(manifest), self.spec, timeout_cap_s=self._host.timeout_cap_s)
        except AsksForMore as error:
            self._fail(Happening.REFUSE, with_advice(str(error), self.spec))
            return False
        except ManifestError as error:
            self._fail(Happening.CANNOT_START, str(error))
            return False
        self._host.hide(secret_values(self.spec, read.wire))
        if read.wire.disabled:
            why = quote(read.wire.disabled, 300)
            self._change(Happening.DECLINE, why)
            self._host.problem(self, f"{self.name} leaves itself out: {why}")
            return False
        if self.spec.name is None:
            self.name = read.name
            if self._recorder is not None:
                self._recorder.plugin = self.name
        refusal = self._host.admit(self, read)
        if refusal is not None:
            self._fail(Happening.REFUSE, refusal)
            return False
        self.manifest = read
        self._change(Happening.MANIFEST)
        self.has_worked = True
        for call, params in self.waiting.leave():
            self._send(call, params)
        return True

    def file_changed(self, why: str) -> None:
        """What runs may not be what was approved."""
        self.refuse(with_advice(why, self.spec))
        self._host.problem(self, f"{self.name} is left out: {self.why}")

    def log_line(self, level: str, message: str) -> None:
        """A line for the plugin's log."""
        self._host.log_line(self, level, message)

    def _send(self, call: Call, params: msgspec.Raw) -> None:
        connection = self.connection
        if connection is not None:
            connection.call(call, params)
        else:
            call.settle("failed_to_start", self._not_there())

    def _fail(self, happening: Happening, why: str) -> None:
        self._change(happening, why)
        self._host.problem(self, f"{self.name} is left out: {why}")

    def _change(self, happening: Happening, why: str | None = None) -> None:
        self.state = move(self.state, happening)
        self.since = trio.current_time()
        self.why = why
        if self._recorder is not None:
            self._recorder.life("lifecycle", verdict=self.state.value, note=why)
        if not self.state.waits and self.state is not State.STOPPING:
            if not self._start_asked or self.state is State.READY:
                self.settled.set()
            if self.state is not State.READY:
                self.waiting.fail(self._not_there())
        self._host.state_changed(self)

    def _not_there(self) -> str:
        return f"{self.name} is {self.state.value}{f': {self.why}' if self.why else ''}"
