"""Runs the async part of a command so that Ctrl+C, SIGTERM and SIGHUP end it in order."""

from __future__ import annotations

import atexit
import os
import signal
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

import trio

from sliphook import HostError, PluginHost
from sliphook.dumpable import forbid_dumps
from sliphook.signals import SignalWatch

from .common import EXIT_FAILED, EXIT_INTERRUPTED, Failed, complain
from .orphans import reap_as_init

__all__ = ["Interruptible", "before_plugins", "run_trio"]


LEAVE_S: Final = 5.0
"""How long the way out may take after a further signal."""


class Interruptible:
    """Work that the first signal asks to end, and that every further one ends by force.

    Attributes:
        host: the host that the work has opened, or None; a further signal kills its plugins.
        status: the exit status, unless a signal ends the work.
    """

    def __init__(self) -> None:
        self.host: PluginHost | None = None
        self.status = EXIT_FAILED
        self._scope = trio.CancelScope()

    async def run(self, work: Callable[[], Awaitable[int]]) -> int:
        """Run `work`, which returns an exit status.

        Returns:
            What `work` returned; 128 plus the signal's number, if a signal ended it.
        """
        async with SignalWatch(self.interrupt, self.kill) as signals:
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
        complain("interrupted; once more to leave at once")
        self._scope.cancel()
        return False

    def kill(self) -> None:
        """A further signal: do not wait for plugins, and not for anything else for long."""
        _leave_within(LEAVE_S)
        if self.host is not None:
            self.host.kill()
        self._scope.cancel()


def _leave_within(seconds: float) -> None:
    """End the process if it is still there then, whatever holds it: no thread is needed."""

    def leave(number: int, frame: object) -> None:
        os.write(2, b"sliphook: something did not end; left without it\n")
        os._exit(EXIT_INTERRUPTED)

    signal.signal(signal.SIGALRM, leave)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    # at its end Python puts the default handlers back: the alarm would kill it, with another code
    atexit.register(signal.setitimer, signal.ITIMER_REAL, 0)


def before_plugins() -> None:
    """What each command does before it starts plugins; it holds until the process ends.

    From here on they cannot read this process, whose environment has the model's key. As the first
    process of a container it waits for what they leave behind.
    """
    forbid_dumps()
    reap_as_init()


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
