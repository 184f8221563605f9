"""Checks of the plugin's end: after `shutdown`, after `exit`, after its input, after SIGTERM."""

from __future__ import annotations

from sliphook.process.child import describe_exit
from sliphook_sdk.protocol.limits import EXIT_GRACE_S, SHUTDOWN_TIMEOUT_S, TERM_GRACE_S

from .child import Child
from .finding import CheckFailed, Lapse
from .session import Bench


async def shutdown(bench: Bench) -> str:
    """The plugin answers `shutdown`, and ends at `exit` and the end of its input."""
    async with bench.initialized() as child:
        await child.ask("shutdown", {}, SHUTDOWN_TIMEOUT_S)
        await child.tell("exit", {})
        await child.close_input()
        return await _ends(
            child, EXIT_GRACE_S, "shutdown, exit and the end of its input", "end on exit"
        )


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
