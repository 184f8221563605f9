"""Runs the async part of a command, with Ctrl+C and its kin in good hands."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import click
import trio

from sliphook import HostError, PluginHost
from sliphook.signals import SignalWatch

from .common import EXIT_OK, Failed

__all__ = ["Running", "run_trio"]


class Running:
    """One run of a command.

    Attributes:
        host: The host that the command has opened, for the second Ctrl+C.
    """

    def __init__(self) -> None:
        self.host: PluginHost | None = None
        self._work = trio.CancelScope()

    async def run(self, main: Callable[[Running], Awaitable[int]]) -> int:
        """`main`, cancelled by the first signal."""
        status = EXIT_OK
        async with SignalWatch(self._leave, self._leave_at_once) as signals:
            with self._work:
                try:
                    status = await main(self)
                except HostError as error:
                    raise Failed(str(error)) from None
        return status if signals.exit_status is None else signals.exit_status

    def _leave(self, reason: str) -> None:
        del reason
        click.echo("sliphook: interrupted; once more to leave at once", err=True)
        self._work.cancel()

    def _leave_at_once(self) -> None:
        if self.host is not None:
            self.host.kill()


def run_trio(main: Callable[[Running], Awaitable[int]]) -> int:
    """Run one command's async part.

    The first Ctrl+C, SIGTERM or SIGHUP cancels it, so that it leaves its blocks and the plugins
    end; the next one ends them by force.

    Args:
        main: Gets the `Running`, and tells it the host that it opens.

    Returns:
        What `main` returned, or 128 plus the signal's number.

    Raises:
        Failed: `main` raised a `HostError`.
        click.ClickException: `main` raised it.
    """
    return trio.run(Running().run, main)
