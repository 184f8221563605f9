"""What the fast path costs: function calls, garbage, and one core for both sides."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path
from types import FrameType

import pytest
import trio

import sliphook
import sliphook.testing
from sliphook import Outcome, PluginHost
from sliphook.dispatch.fast_path import SingleFire
from sliphook.testing import FakePlugin
from sliphook.transport.call import Call

from .one_plugin import ask, asking, how_callers_wait

__all__ = ["how_callers_wait"]


async def test_a_hook_leaves_nothing_for_the_garbage_collector() -> None:
    plugin = FakePlugin("guard", hears=["pre_tool_call"])
    async with asking(plugin) as turn:
        gc.collect()
        gc.disable()
        try:
            await ask(turn)
            await ask(turn)
            before = living()
            for _ in range(20):
                await ask(turn)
            after = living()
        finally:
            gc.enable()
        assert (
            after - before < 5
        )  # of twenty; who is in the middle of something may hold its last one


def living() -> int:
    return sum(isinstance(one, (Call, SingleFire, Outcome)) for one in gc.get_objects())


HOST = str(Path(sliphook.__file__).parent)
FAKES = str(Path(sliphook.testing.__file__).parent)


@pytest.mark.parametrize("how_callers_wait", ["asleep"], indirect=True)
async def test_the_work_of_one_hook_in_function_calls() -> None:
    """The host's function calls for one hook are counted, as time differs by machine.

    They were 63. Of several hooks the least counts: where the machine is busy, timers of the host
    run in between.
    """
    plugin = FakePlugin("guard", hears=["pre_tool_call"])
    counted = 0
    calls: list[int] = []

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal counted
        path = frame.f_code.co_filename
        counted += event == "call" and path.startswith(HOST) and not path.startswith(FAKES)

    async with asking(plugin) as turn:
        await ask(turn)
        sys.setprofile(count)
        try:
            for _ in range(30):
                counted = 0
                await ask(turn)
                calls.append(counted)
        finally:
            sys.setprofile(None)
    assert 40 < min(calls) < 70, calls


GUARD = f"""#!{sys.executable}
from sliphook_sdk import Plugin, deny

plugin = Plugin("guard")

@plugin.hook("pre_tool_call")
def guard(call):
    return deny("no") if call.arguments["note"] else None

plugin.run()
"""


@pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity"), reason="this system gives no say in which core runs what"
)
async def test_on_one_core(tmp_path: Path) -> None:
    """The plugin runs only while the host waits, and the other way round."""
    program = tmp_path / "guard"
    program.write_text(GUARD)
    program.chmod(0o755)
    cores = os.sched_getaffinity(0)
    one = {min(cores)}
    decisions: list[str | None] = []
    try:
        with trio.fail_after(120):
            async with (
                PluginHost([program]) as host,
                host.session() as session,
                session.turn("x") as turn,
            ):
                (plugin,) = host.plugins
                assert plugin.pid is not None, plugin.why
                for thread in (0, *map(int, os.listdir(f"/proc/{plugin.pid}/task"))):
                    os.sched_setaffinity(thread, one)
                for index in range(50):
                    decisions.append((await ask(turn, "x" * (index % 2))).decision)
    finally:
        os.sched_setaffinity(0, cores)
    assert decisions == [None, "deny"] * 25
