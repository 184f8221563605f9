"""Ctrl+C, SIGTERM and SIGHUP, for programs that want them handled; `sliphook`, the command, does.

The rest of the library installs no signal handlers.

The first signal asks (interrupt the turn, or leave in order); every further one forces (leave at
once).
"""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Final

import trio

__all__ = ["SignalWatch"]

from sliphook.agent_log import agent_log

_log = agent_log(__name__)

ENDING: Final = {signal.SIGINT: "sigint", signal.SIGTERM: "sigterm", signal.SIGHUP: "sighup"}
"""What is caught, and what plugins are told as `invalidation_reason`."""


class SignalWatch:
    """Catches the signals that end a program while its block is open.

    Not reentrant: a program has one such block.

    Args:
        first: called in the loop for the first signal, with the signal's `invalidation_reason`;
            must not wait. If it returns True, the program goes on (the signal ended a turn, for
            example), and the next signal counts as a first one.
        again: called for every further signal; must not wait. `PluginHost.kill` is meant for it.

    Attributes:
        caught: the signal that ends the program, or None.
    """

    def __init__(self, first: Callable[[str], bool | None], again: Callable[[], None]) -> None:
        self.caught: signal.Signals | None = None
        self._first = first
        self._again = again
        self._receiver: AbstractContextManager[AsyncIterator[int]] | None = None
        self._watching = trio.CancelScope()

    @property
    def exit_status(self) -> int | None:
        """The usual exit status of a program that the signal ended: 128 and the signal's number."""
        return 128 + self.caught if self.caught is not None else None

    async def __aenter__(self) -> SignalWatch:
        self._receiver = trio.open_signal_receiver(*ENDING)
        signals = self._receiver.__enter__()
        # a system task: a nursery would wrap what the block raises in a group
        trio.lowlevel.spawn_system_task(self._watch, signals)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._watching.cancel()
        assert self._receiver is not None
        self._receiver.__exit__(None, None, None)

    async def _watch(self, signals: AsyncIterator[int]) -> None:
        with self._watching:
            await trio.lowlevel.checkpoint()  # the block may be over already
            async for number in signals:
                try:
                    if self.caught is None:
                        # first: if the call fails, the next signal still counts as a further one
                        self.caught = signal.Signals(number)
                        if self._first(ENDING[self.caught]):
                            self.caught = None
                    else:
                        self._again()
                # in a system task it would crash trio, and no signal would end the program any more
                except Exception:
                    _log.exception("what a signal should have done failed")
