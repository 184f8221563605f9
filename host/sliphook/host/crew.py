"""The plugins of an open host, and the tasks that run them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import trio

from sliphook.errors import HostError
from sliphook.plugin.lifecycle import State
from sliphook.plugin.spec import PluginSpec
from sliphook.plugin.supervision import Plugin
from sliphook.quoting import quote
from sliphook.session.arguments.plain import row_of, type_of
from sliphook_sdk.protocol import RESERVED_PLUGINS, why_no_plugin_name

from .state import HostState


def specs_of(plugins: Iterable[PluginSpec | str | os.PathLike[str]]) -> list[PluginSpec]:
    """Specs; of a path, the spec of a plugin that is only tried.

    Raises:
        TypeError: it is no row of these.
        ValueError: a spec gives a plugin a name that is reserved.
    """
    plugins = row_of("plugins", plugins, "paths or PluginSpec")
    for index, one in enumerate(plugins):
        if not isinstance(cast(object, one), (PluginSpec, str, os.PathLike)):
            raise TypeError(f"plugins[{index}] must be a path or a PluginSpec, not {type_of(one)}")
    specs = [spec if isinstance(spec, PluginSpec) else PluginSpec(Path(spec)) for spec in plugins]
    for spec in specs:
        if spec.name in RESERVED_PLUGINS:
            raise ValueError(f"{spec.name!r} {why_no_plugin_name(spec.name)}")
    return specs


class Crew:
    """Runs the plugins of one host: starts, exchanges and ends them.

    Args:
        state: the host's.
        specs: the plugins to start with.
        wait_s: how long `open` waits for plugins that start.

    Attributes:
        plugins: those that the user wants, in the order of installation.
    """

    def __init__(self, state: HostState, specs: list[PluginSpec], wait_s: float) -> None:
        self.plugins: list[Plugin] = []
        self.specs = specs
        self._wait_s = wait_s
        self._state = state
        self._leaving: list[Plugin] = []  # not wanted any more, and not gone yet
        self._has_reaper = False
        # The outer nursery belongs to the agent's task. Its only task is `_supervise`, whose own
        # nursery runs everything else behind a shield.
        self._open_nursery: Any = None
        self._outer: trio.Nursery | None = None
        self._tasks: trio.Nursery | None = None
        self._supervised = trio.Event()
        self._supervision = trio.CancelScope(shield=True)

    async def open(self) -> None:
        """Start all plugins side by side; wait until each is ready or has failed, or time is up."""
        # first: what is raised here finds nothing to end
        self.plugins = [Plugin(spec, order, self._state) for order, spec in enumerate(self.specs)]
        self._state.expect(self.plugins)
        self._open_nursery = trio.open_nursery()
        outer: trio.Nursery = await self._open_nursery.__aenter__()
        self._outer = outer
        try:
            outer.start_soon(self._supervise)
            await self._supervised.wait()
            with trio.move_on_after(self._wait_s):
                for plugin in self.plugins:
                    await plugin.settled.wait()
        except BaseException:
            # `__aexit__` is not called if entering raises
            await self.close()
            raise

    async def close(self) -> None:
        """End the sessions, then all plugins at the same time.

        Shielded: it takes as long as the slowest plugin, which is under six seconds.
        """
        impatience: KeyboardInterrupt | None = None
        try:
            with trio.CancelScope(shield=True):
                impatience = await self._end_all()
                await self._state.reports.finish()
        # whatever was raised: the supervision, once cancelled, kills and reaps what is left
        finally:
            # the nursery is not told of any exception: it would wrap it in a group
            assert self._outer is not None
            self._outer.cancel_scope.shield = True
            self._supervision.cancel()
            try:
                await self._open_nursery.__aexit__(None, None, None)
            finally:
                # not before: it must outlive every process that it watches
                self._state.services.reaper.close()
                self._state.reports.logs.close()
        if impatience is not None:
            raise impatience

    async def _end_all(self) -> KeyboardInterrupt | None:
        """End the sessions, then the plugins; returns the Ctrl+C that has hurried it, or None."""
        impatience: KeyboardInterrupt | None = None
        # before the plugins end: they still read `session_end`. A copy: each removes itself
        for session in list(self._state.sessions.values()):
            session.close("shutdown")
        for plugin in self.plugins:
            plugin.stop()
        for plugin in [*self.plugins, *self._leaving]:
            while not plugin.gone.is_set():
                try:
                    await plugin.gone.wait()
                # trio raises Ctrl+C in its main task even behind a shield; it only hurries
                except KeyboardInterrupt as error:
                    impatience = error
                    self.kill()
        return impatience

    def kill(self) -> None:
        """End every plugin now, without asking; `close` is quick afterwards."""
        for plugin in [*self.plugins, *self._leaving]:
            plugin.kill()

    async def exchange(self, specs: list[PluginSpec]) -> None:
        """Run the plugins of these specs instead (see `PluginHost.update`).

        Raises:
            HostError: the host is not open.
        """
        if self._tasks is None or self._supervision.cancel_called:
            raise HostError("the host is not open")
        going, plan, coming = list(self.plugins), list[Plugin](), list[Plugin]()
        for order, spec in enumerate(specs):
            plugin = next((one for one in going if one.spec == spec), None)
            if plugin is None:
                plugin = Plugin(spec, order, self._state)
                coming.append(plugin)
            else:
                going.remove(plugin)
                plugin.order = order
                if plugin.state in (State.FAILED, State.REFUSED, State.SELF_DISABLED):
                    plugin.start()
            plan.append(plugin)
        self.plugins, self._leaving = plan, [*self._leaving, *going]
        # first: `expect` gives a new plugin only names that are free
        self._state.part_with(going)
        self._state.expect(coming)
        for plugin in going:
            plugin.stop()
        # those of earlier calls too: a new process may get the folder of any of them
        self._tasks.start_soon(self._change_over, list(self._leaving), coming)
        for plugin in plan:
            await plugin.settled.wait()

    def find(self, name: str) -> Plugin:
        """The plugin of that name.

        Raises:
            HostError: there is no such plugin.
        """
        plugin = next((plugin for plugin in self.plugins if plugin.name == name), None)
        if plugin is None:
            raise HostError(f"there is no plugin named {quote(name, 64)}")
        return plugin

    @trio.lowlevel.enable_ki_protection
    async def _supervise(self) -> None:
        """Run all tasks of the host.

        A cancellation of the agent does not reach them: the plugins are first told of the end.
        """
        try:
            with self._supervision:
                async with trio.open_nursery() as nursery:
                    self._tasks = self._state.tasks = nursery
                    nursery.start_soon(self._state.deadlines.run)
                    # before the first process, which it has to know
                    await self._start_reaper()
                    for plugin in self.plugins:
                        nursery.start_soon(plugin.run)
                    # after two passes each has begun to start, and calls wait for it; before that
                    # it would count as one that does not run
                    for _ in range(2):
                        await trio.lowlevel.checkpoint()
                    self._supervised.set()
        finally:
            # a fault may have come before they ran, and `close` waits for each
            for plugin in [*self.plugins, *self._leaving]:
                plugin.gone.set()

    @trio.lowlevel.enable_ki_protection
    async def _change_over(self, going: list[Plugin], coming: list[Plugin]) -> None:
        """End the old plugins, then start the new ones: two processes would share one folder."""
        assert self._tasks is not None
        for plugin in going:
            await plugin.gone.wait()
        self._leaving = [plugin for plugin in self._leaving if not plugin.gone.is_set()]
        await self._start_reaper()
        for plugin in coming:
            self._tasks.start_soon(plugin.run)

    async def _start_reaper(self) -> None:
        # plugins in memory have no process that could be left behind
        if not self._has_reaper and any(plugin.spec.start is None for plugin in self.plugins):
            # before the wait: two changes at the same time must not start two
            self._has_reaper = True
            # "can't start new thread": no plugin can be started then either, and each says so
            with suppress(RuntimeError, MemoryError):
                await self._state.services.reaper.begin()
                assert self._tasks is not None
                self._tasks.start_soon(self._state.services.reaper.watch)
