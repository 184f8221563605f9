"""Runs the async part of a command so that Ctrl+C, SIGTERM and SIGHUP end it in order."""

from __future__ import annotations

import gc
import signal
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

import trio

from sliphook import HostError, PluginHost
from sliphook.dumpable import forbid_dumps
from sliphook.signals import ENDING, SignalWatch

from .common import EXIT_FAILED, LEAVE_S, Failed, complain, leave_within, stay
from .orphans import reap_as_init

__all__ = ["Interruptible", "before_plugins", "run_trio"]


HELD_S: Final = 2.0
"""How long the loop may take to hear of a further signal; a write that no one reads holds it."""


class Interruptible:
    """Work that the first signal asks to end, and that every further one ends by force.

    The loop hears of a signal when its thread comes back from what it does. A write to a pipe that
    no one reads does not come back, but the handler of a signal runs in the midst of it (PEP 475):
    it sets an alarm, which ends the process if the loop does not take it back.

    Attributes:
        host: the host that the work has opened, or None; a further signal kills its plugins.
        status: the exit status, unless a signal ends the work.
    """

    def __init__(self) -> None:
        self.host: PluginHost | None = None
        self.status = EXIT_FAILED
        self._scope = trio.CancelScope()
        self._ending: int | None = None
        self._forced = False

    async def run(self, work: Callable[[], Awaitable[int]]) -> int:
        """Run `work`, which returns an exit status.

        Returns:
            What `work` returned; 128 plus the signal's number, if a signal ended it.
        """
        async with SignalWatch(self._first, self.kill) as signals:
            for number in ENDING:  # around the watch's handler; its end restores what was before
                signal.signal(number, partial(self._heard, signal.getsignal(number)))
            with self._scope:
                self.status = await work()
        return self.status if signals.exit_status is None else signals.exit_status

    def interrupt(self, reason: str) -> bool | None:
        """The first signal: cancel the work, so that its blocks are left and the plugins end.

        Args:
            reason: the signal's `invalidation_reason`, such as `sigint`.

        Returns:
            Whether the work goes on, so that the next signal counts as a first one again.
        """
        del reason
        self._scope.cancel()
        complain("interrupted; once more to leave at once")
        return False

    def kill(self) -> None:
        """A further signal: do not wait for plugins, and not for anything else for long."""
        if not self._forced:  # one more puts nothing off
            self._forced = True
            self._leave_within(LEAVE_S)
        if self.host is not None:
            self.host.kill()
        self._scope.cancel()

    # -- the alarm

    def _heard(self, tell_loop: object, number: int, frame: object) -> None:
        """The handler of a signal: it runs wherever the loop's thread is, and must not write."""
        if self._ending is None:
            self._ending = number
            # Ctrl+C asks, and the reader may read on; other signals come once
            if number != signal.SIGINT:
                self._leave_within(LEAVE_S)
        elif not self._forced:
            self._leave_within(HELD_S)
        assert callable(tell_loop)
        tell_loop(number, frame)

    def _first(self, reason: str) -> bool | None:
        goes_on = self.interrupt(reason)
        if goes_on:
            self._ending = None
            stay()
        elif reason != ENDING[signal.SIGINT]:
            # until the loop ends; then it is the alarm of what comes after
            trio.lowlevel.spawn_system_task(self._put_off)
        return goes_on

    async def _put_off(self) -> None:
        """Put the alarm off as long as the loop turns: the plugins have their time to end."""
        while not self._forced:
            self._leave_within(LEAVE_S)
            await trio.sleep(LEAVE_S / 4)

    def _leave_within(self, seconds: float) -> None:
        leave_within(seconds, 128 + (self._ending or signal.SIGINT))


def before_plugins() -> None:
    """What each command does before it starts plugins; it holds until the process ends.

    From here on they cannot read this process, whose environment has the model's key. As the first
    process of a container it waits for what they leave behind. The garbage collector does not look
    at what the imports have made: that held the loop for 0.3 to 0.5 ms for each 1,000 objects.
    """
    forbid_dumps()
    reap_as_init()
    gc.freeze()


def run_trio(main: Callable[[Interruptible], Awaitable[int]]) -> int:
    """Run one command's async part.

    Args:
        main: gets the `Interruptible` that runs it, and sets its `host`.

    Returns:
        What `main` returned, or 128 plus the signal's number.

    Raises:
        Failed: `main` raised a `HostError`.
        click.ClickException: `main` raised it.
    """
    running = Interruptible()
    before_plugins()
    try:
        return trio.run(running.run, partial(main, running))
    except HostError as error:
        raise Failed(str(error)) from None
