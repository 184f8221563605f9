"""Runs the async part of a command, with Ctrl+C and SIGTERM in good hands."""

from __future__ import annotations

import signal
from collections.abc import Awaitable, Callable

import click
import trio

from sliphook import HostError, PluginHost

from .common import EXIT_OK, Failed

__all__ = ["Running", "run_trio"]


class Running:
    """One run of a command.

    Attributes:
        host: The host that the command has opened, for the second Ctrl+C.
        caught: The signal that came first, or None.
    """

    def __init__(self) -> None:
        self.host: PluginHost | None = None
        self.caught: int | None = None

    async def run(self, main: Callable[[Running], Awaitable[int]]) -> int:
        """`main`, cancelled by the first signal."""
        status = EXIT_OK
        failure: click.ClickException | None = None
        async with trio.open_nursery() as nursery:
            work = trio.CancelScope()
            watching: trio.CancelScope = await nursery.start(self._watch, work)
            with work:
                try:
                    status = await main(self)
                except HostError as error:
                    failure = Failed(str(error))
                except click.ClickException as error:  # kept, for the nursery would wrap it in a group
                    failure = error
            watching.cancel()
        if failure is not None:
            raise failure
        return status if self.caught is None else 128 + self.caught

    async def _watch(self, work: trio.CancelScope, *, task_status: trio.TaskStatus[trio.CancelScope]) -> None:
        with trio.CancelScope() as watching, trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            task_status.started(watching)
            async for number in signals:
                if self.caught is None:
                    self.caught = number
                    click.echo("sliphook: interrupted; once more to leave at once", err=True)
                    work.cancel()
                elif self.host is not None:
                    self.host.kill()


def run_trio(main: Callable[[Running], Awaitable[int]]) -> int:
    """Run one command's async part.

    The first Ctrl+C or SIGTERM cancels it, so that it leaves its blocks and the plugins end; the next one ends them by force.

    Args:
        main: Gets the `Running`, and tells it the host that it opens.

    Returns:
        What `main` returned, or 128 plus the signal's number.

    Raises:
        Failed: `main` raised a `HostError`.
        click.ClickException: `main` raised it.
    """
    return trio.run(Running().run, main)
