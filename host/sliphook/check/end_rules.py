"""Checks of the plugin's end: after `shutdown`, after `exit`, after its input, after SIGTERM."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import trio

from sliphook.plugin.route import Route
from sliphook.process.child import describe_exit
from sliphook_sdk.protocol.limits import EXIT_GRACE_S, SHUTDOWN_TIMEOUT_S, TERM_GRACE_S

from .child import Child
from .finding import CheckFailed, Lapse
from .samples import message, sample_for
from .session import Bench

AFTER_S: Final = 1.0
"""How long a plugin is watched after its answer to `shutdown`."""

LATE_S: Final = 0.05
"""What came before this may have been written before the answer, through another pipe."""


async def shutdown(bench: Bench) -> str:
    """The plugin answers `shutdown`, and ends at `exit` and the end of its input."""
    async with bench.initialized() as child:
        await child.ask("shutdown", {}, SHUTDOWN_TIMEOUT_S)
        await child.tell("exit", {})
        await child.close_input()
        return await _ends(
            child, EXIT_GRACE_S, "shutdown, exit and the end of its input", "end on exit"
        )


async def shutdown_after_events(bench: Bench, *, events: Sequence[Route]) -> str:
    """The plugin answers `shutdown` when the handlers of the events before it are done.

    A handler shows from outside only by what it sends or writes to stderr.
    """
    late = await _late_words(bench, events)
    # without the events too: what comes at every end is no handler's
    if late is None or await _late_words(bench, ()) is not None:
        return "no handler was seen to go on after the answer"
    told = ", ".join(dict.fromkeys(f"event/{route.entry.name}" for route in events))
    raise Lapse(
        f"{told}, and shutdown behind",
        f"it answered shutdown, and after that a handler went on: {late}",
        "answer shutdown when the handlers of all events before it are done, or 1.5 s are over",
    )


async def _late_words(bench: Bench, events: Sequence[Route]) -> str | None:
    """What the plugin said later than `LATE_S` after its answer to `shutdown`."""
    async with bench.initialized() as child:
        for route in events:
            await child.tell(f"event/{route.entry.name}", sample_for(route))
        id = child.next_id()
        await child.write(message("shutdown", {}, id))
        try:
            await child.reply(id, SHUTDOWN_TIMEOUT_S, sent="shutdown")
        except CheckFailed as fault:
            if not events or await child.ended(0) is not None:
                raise
            advice = "let no handler of an event take longer: exit follows all the same"
            raise Lapse(f"events, and {fault.sent}", fault.came, advice) from None
        answered_s = trio.current_time()
        await child.ended(AFTER_S)
        return next((text for at, text in child.spoke if at > answered_s + LATE_S), None)


async def half_a_message(bench: Bench) -> str:
    """The plugin ends at the end of its input inside of a message, too."""
    async with bench.initialized() as child:
        data = message("ping", {"of_tomorrow": "x" * 100})
        await child.write(data[: len(data) // 2])
        await child.close_input()
        sent = "half a message, and the end of its input"
        status = await _status(child, EXIT_GRACE_S, sent, "end when your input ends, wherever")
        return describe_exit(status)


async def exit_alone(bench: Bench) -> str:
    """The plugin ends at `exit` without `shutdown`, while its input is still open."""
    async with bench.initialized() as child:
        await child.tell("exit", {})
        return await _ends(
            child,
            EXIT_GRACE_S,
            "exit, without shutdown",
            "end on exit at once, whether or not shutdown came before",
        )


async def end_of_input(bench: Bench) -> str:
    """The plugin ends at the end of its input: its agent may have been killed."""
    async with bench.initialized() as child:
        await child.close_input()
        return await _ends(
            child,
            EXIT_GRACE_S,
            "the end of its input",
            "end when your input ends: the agent is gone",
        )


async def sigterm(bench: Bench) -> str:
    """The plugin ends at SIGTERM."""
    async with bench.initialized() as child:
        child.terminate()
        return describe_exit(
            # Not `_ends`: SIGTERM may kill a plugin without a handler, and that is no lapse.
            await _status(child, TERM_GRACE_S, "SIGTERM", "do not ignore SIGTERM: SIGKILL follows")
        )


async def _ends(child: Child, within_s: float, sent: str, advice: str) -> str:
    status = await _status(child, within_s, sent, advice)
    if status != 0:
        raise Lapse(
            sent,
            child.how_it_ended(status),
            "end with status 0 when you are told to end; another status looks like a failure",
        )
    return describe_exit(status)


async def _status(child: Child, within_s: float, sent: str, advice: str) -> int:
    status = await child.ended(within_s)
    if status is None:
        raise CheckFailed(sent, f"it lives on after {within_s:g} s", advice)
    return status
