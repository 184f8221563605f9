"""One plugin across all its processes: its state, its restarts, and the requests that wait for it.

Every failure of a plugin ends in this module, and nothing in it raises into the agent. A bug of the
host marks the plugin `failed` and is logged with its traceback.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Literal

import msgspec
import trio

from sliphook.agent_log import agent_log
from sliphook.process.child import Process
from sliphook.process.spawn import CannotStart, Refused
from sliphook.process.stderr import StderrTail
from sliphook.quoting import quote
from sliphook.transport.call import Call, Params
from sliphook.transport.connection import Connection
from sliphook.transport.transport_recorder import TransportRecorder

from .checks import ManifestError
from .host_services import Supervisor
from .instance import Instance
from .launch import launch, with_advice
from .lifecycle import RestartPolicy, State, Target, Trigger, move
from .overrides import AsksForMore, as_set_by_the_user, read_declared, read_record
from .pending import PendingRequests
from .route import Route
from .secrets import secret_values
from .spec import PluginSpec, PluginStatus, name_before_it_is_said

_log = agent_log(__name__)


class Plugin:
    """One plugin.

    Args:
        spec: the program and its settings.
        order: the plugin's place in the order of installation.
        host: the host, as its plugins see it.

    Attributes:
        name: the spec's name, or else the manifest's.
        state: the present state.
        why: the reason for the state, or None.
        since: `trio.current_time()` of the last change of state.
        recorded: the manifest that was approved at installation, or None.
        manifest: the one that was accepted last, at first the recorded one; it outlives a process.
        pending: the requests that wait for the plugin to become ready.
        settled: set while it is known whether the plugin can be used; replaced with the target.
        has_worked: the plugin has been ready before, perhaps in another process.
        gone: set when `run` has returned.
    """

    def __init__(self, spec: PluginSpec, order: int, host: Supervisor[Plugin]) -> None:
        services = host.services
        self.spec = spec
        self.order = order
        self._approved, self._broken_record = read_record(spec)
        self.recorded = as_set_by_the_user(self._approved, spec, services.timeout_cap_s)
        recorded_name = self.recorded.name if self.recorded is not None else None
        self.name = spec.name or recorded_name or name_before_it_is_said(spec)
        self.state = State.STOPPED
        self.why: str | None = None
        self.since = trio.current_time()
        self.manifest = self.recorded
        self.settled, self.gone = trio.Event(), trio.Event()
        self._host, self._services = host, services
        self._target = Target.RUNNING
        self._start_asked = True
        self._kill_asked = False
        self._wake = trio.Event()
        self._policy = RestartPolicy()
        self._instance: Instance | None = None
        self.pending = PendingRequests()
        self._stderr = StderrTail(services.redactor.data)
        trace = services.trace
        self._recorder = TransportRecorder(trace, self.name) if trace is not None else None
        self.has_worked = False

    # -- what the host asks of it

    @property
    def ready(self) -> bool:
        """Its process runs and its manifest was accepted."""
        return self.state is State.READY

    @property
    def connection(self) -> Connection | None:
        """The connection to its process, or None while it is not ready."""
        return self.open_connection if self.state is State.READY else None

    @property
    def open_connection(self) -> Connection | None:
        """The connection to its process, also while that starts or ends: calls may be withdrawn."""
        return self._instance.connection if self._instance is not None else None

    def routes(self) -> Mapping[str, tuple[Route, ...]]:
        """The subscriptions that count now, by the entry's name; closed ones until `disable`."""
        if self.manifest is None or self._target is Target.DISABLED or self.state is State.DISABLED:
            return {}
        if self.ready or self.state.waits:
            return self.manifest.routes
        return self.manifest.closed_routes()  # protocol.md: an absent guard still guards

    def status(self) -> PluginStatus:
        """A snapshot for people and programs."""
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
            log="" if self.spec.start is not None else self._host.data_dir(self).name,
        )

    def ask(self, call: Call, params: Params) -> None:
        """Send a request; while the plugin starts, the request waits and its timeout runs."""
        call.start_clock(self._services.deadlines)
        if self.state.waits:
            self.pending.add(call, params)
        else:
            self._send(call, params)

    def cancel(self, call: Call) -> None:
        """Withdraw one call, whether it was sent or still waits."""
        if call.connection is not None:
            call.connection.cancel(call)
        else:
            self.pending.cancel(call)

    # -- what the host asks of it; no method waits

    def start(self) -> None:
        """Start or restart the plugin by hand, so earlier deaths do not count; see `settled`."""
        self._policy.reset()
        self._start_asked = True
        self._aim_at(Target.RUNNING)

    def disable(self) -> None:
        """End the plugin and lift its hooks; `settled` is set when its process has ended."""
        self._start_asked = False
        self._aim_at(Target.DISABLED)

    def stop(self) -> None:
        """End the plugin in order and for good; `run` returns when that is done."""
        self._aim_at(Target.CLOSED)

    def kill(self) -> None:
        """Kill the plugin now and for good."""
        self._kill_asked = True
        if self._instance is not None:
            self._instance.kill()
        self._aim_at(Target.CLOSED)

    def refuse(self, why: str) -> None:
        """Refuse a ready plugin; another one has its name, or its file has changed."""
        if self._instance is not None and self.state is State.READY:
            self._change(Trigger.REFUSE, why)
            self._instance.condemn("crashed", why)

    def _aim_at(self, target: Target) -> None:
        """Set the target, end the present process, and wake `run`."""
        if self._target is not Target.CLOSED:  # closing is final
            self._target = target
        if self.settled.is_set():  # else the tasks that wait already wait for this target too
            self.settled = trio.Event()
        if self._instance is not None and self.state in (State.READY, State.STARTING):
            self._change(Trigger.STOP)
        else:
            self._host.state_changed(self)  # its hooks count by the target, too
        if self._instance is not None:
            self._instance.stop()
        self._wake.set()

    # -- supervision

    # Ctrl+C is left to the agent's code: raised in here, it would end the supervision
    @trio.lowlevel.enable_ki_protection
    async def run(self) -> None:
        """Keep the plugin at its target until that is CLOSED; raises only `trio.Cancelled`."""
        try:
            while not (self._target is Target.CLOSED and not self.state.waits):
                self._wake = trio.Event()  # before the step: a target set in it is not missed
                try:
                    await self._step()
                except Exception as error:
                    self._fail_by_bug(error)
        finally:
            self.gone.set()
            self.settled.set()
            self.pending.fail(self._why_unusable())

    def _fail_by_bug(self, error: Exception) -> None:
        """Mark the plugin failed by a bug in the host, until it is started by hand."""
        # not by the table of moves: the bug may have left any state
        _log.exception("the supervision of the plugin %s failed", self.name)
        self._start_asked = False
        self.state, self.why = State.FAILED, f"a fault of the host: {error!r}"
        self.pending.fail(self._why_unusable())
        self._host.state_changed(self)
        self._host.problem(self, f"{self.name}: supervision failed, a fault of the host: {error!r}")

    async def _step(self) -> None:
        """Make one move towards the target, or wait for another target if it is reached."""
        if self.state is State.RESTARTING and self._target is not Target.RUNNING:
            self._change(Trigger.STOP)
        elif self._target is Target.DISABLED and self.state is not State.DISABLED:
            self._change(Trigger.DISABLE)
        elif self._target is Target.RUNNING and self._start_asked:
            if self.state is State.DISABLED:
                self._change(Trigger.ENABLE)
            self._start_asked = False
            self._change(Trigger.RETRY if self.state is State.RESTARTING else Trigger.START)
            await self._live()
        else:
            self.settled.set()
            await self._wake.wait()

    async def _live(self) -> None:
        """Run one process until it has ended, and decide what its end means."""
        try:
            process = await self._spawn()
        except (CannotStart, ManifestError) as error:
            no = Trigger.REFUSE if isinstance(error, Refused) else Trigger.CANNOT_START
            self._fail(no, str(error))
            return
        host = self._services.deadlines, self._services.pace, self._host.handlers(self)
        instance = Instance(process, self, *host, self._stderr, self._recorder, self.spec.limits)
        self._instance = instance
        if self._recorder is not None:
            # only a manifest tells which settings are secret
            self._recorder.conceals_config = self.manifest is None
            self._recorder.life("spawn", note=f"pid {process.pid}: {self.spec.path}")
        # the target may have changed while the process was being started
        if self._target is not Target.RUNNING or self._start_asked:
            self._change(Trigger.STOP)
            (instance.kill if self._kill_asked else instance.stop)()
        try:
            await instance.run(self._host.initialize_params(self))
        finally:
            self._instance = None
        if self.state is State.STOPPING:
            self._change(Trigger.ENDED)
        elif self.state in (State.READY, State.STARTING):
            await self._died(instance)

    async def _spawn(self) -> Process:
        if self._broken_record is not None:
            raise CannotStart(self._broken_record)
        self._host.hide(secret_values(self.spec, self.manifest.wire if self.manifest else None))
        await self._services.pace.step()
        return await launch(self.spec, self._host.data_dir(self), self._services.reaper)

    async def _died(self, instance: Instance) -> None:
        why = instance.why or "ended"
        if instance.ready_since is None and not self.has_worked:
            # it has never worked: a restart would fail in the same way and hide the reason
            self._fail(Trigger.CANNOT_START, why)
            return
        self._change(Trigger.DIED, why)
        now = trio.current_time()
        ready_for_s = 0.0 if instance.ready_since is None else now - instance.ready_since
        delay_s = self._policy.died(now, ready_for_s, random.random())
        if delay_s is None:
            self._fail(Trigger.BROKE, f"it died too often, the last time it {why}")
            return
        when = f" in {delay_s:.1f} s" if delay_s else ""
        self.tell_user(f"{why}; it is started again{when}")
        with trio.move_on_after(delay_s):
            await self._wake.wait()  # a new target ends the wait
        self._start_asked = True  # `_step` turns this into RETRY

    # -- what its process reports (see InstanceOwner)

    def accepts(self, manifest: msgspec.Raw) -> bool:
        """Check the manifest; False if the plugin cannot be used, so that its process must end."""
        try:
            read = read_declared(manifest, self.spec, self._approved, self._services.timeout_cap_s)
            self._host.hide(secret_values(self.spec, read.wire))
        except AsksForMore as error:
            return self._fail(Trigger.REFUSE, with_advice(str(error), self.spec))
        except ManifestError as error:
            return self._fail(Trigger.CANNOT_START, str(error))
        if read.wire.disabled:
            self._change(Trigger.DECLINE, why := quote(read.wire.disabled, 300))
            self.tell_user(f"leaves itself out: {why}")
            return False
        if (refusal := self._host.admit(self, read)) is not None:
            return self._fail(Trigger.REFUSE, refusal)
        if self._recorder is not None:
            self._recorder.plugin = self.name
        self.manifest = read
        self._change(Trigger.MANIFEST)
        self.has_worked = True
        for call, params in self.pending.leave():
            self._send(call, params)
        return True

    def file_changed(self, why: str) -> None:
        """Refuse the plugin: the running program may not be the approved one."""
        self.refuse(with_advice(why, self.spec))
        self.tell_user(f"is left out: {self.why}")

    def tell_user(self, words: str) -> None:
        """Report to the user, in words that follow the plugin's name."""
        self._host.problem(self, f"{self.name} {words}")

    def log_line(self, level: str, message: str) -> None:
        """Write a line of stderr, or what the host says of the plugin, to its log."""
        self._host.log_line(self, level, message, by_host=level != "stderr")

    def _send(self, call: Call, params: Params) -> None:
        if (connection := self.connection) is not None:
            connection.call(call, params)
        else:
            call.settle("failed_to_start", self._why_unusable())

    def _fail(self, trigger: Trigger, why: str) -> Literal[False]:
        """Report that the plugin cannot be used; returns False for `accepts`."""
        self._change(trigger, why)
        self.tell_user(f"is left out: {why}")
        return False

    def _change(self, trigger: Trigger, why: str | None = None) -> None:
        """Move to the next state, and settle what depends on it."""
        self.state = move(self.state, trigger)
        self.since = trio.current_time()
        self.why = why
        if self._recorder is not None:
            self._recorder.life("lifecycle", verdict=self.state.value, note=why)
        if not self.state.waits and self.state is not State.STOPPING:
            # a start that is asked for goes on from this state: nothing is known yet
            if not self._start_asked or self.state is State.READY:
                self.settled.set()
            if self.state is not State.READY:
                self.pending.fail(self._why_unusable())
        self._host.state_changed(self)

    def _why_unusable(self) -> str:
        return f"{self.name} is {self.state.value}{f': {self.why}' if self.why else ''}"
