"""A command for `async def`: it runs in a thread, and the task waits."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from contextlib import suppress
from typing import TYPE_CHECKING, Final, cast

from sliphook_sdk.wire.waiting import settled

from .result import CommandResult

if TYPE_CHECKING:
    from collections.abc import Callable

    from .running import Command

THREAD: Final = "ctx.run"
"""The name of the threads that wait for commands."""


async def run_in_thread(command: Command, tell: Callable[[str], object]) -> CommandResult:
    """Run a command; a cancel of the task ends it, and comes back when it is gone.

    Args:
        command: the command.
        tell: see `Command.run`; called in the thread.

    Raises:
        CommandError: it cannot be started.
    """
    stop = threading.Event()
    ended: Future[CommandResult | None] = Future()

    def work() -> None:
        try:
            ended.set_result(command.run(stop.is_set, tell))
        except BaseException as exc:
            ended.set_exception(exc)

    threading.Thread(target=work, name=THREAD, daemon=True).start()
    try:
        await settled(ended)
    finally:
        stop.set()
        while not ended.done():
            with suppress(asyncio.CancelledError):
                await settled(ended)
    return cast("CommandResult", ended.result())  # None only after `stop`
