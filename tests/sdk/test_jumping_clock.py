"""A slow tool under test: cancelled in the middle, late, with progress, on a clock that jumps."""

from __future__ import annotations

import asyncio
import re
import sys
import threading
import time

import pytest

from sliphook_sdk import AsyncContext, Context, Plugin
from sliphook_sdk.protocol.answers import StopAnswer
from sliphook_sdk.protocol.payloads import Stop
from sliphook_sdk.registration.answers import continue_with
from sliphook_sdk.testing import CallCancelled, Harness, PluginError

HOUR_S = 3600.0
steps: list[str] = []
plugin = Plugin("slow")


@plugin.tool(timeout_s=600)
def deploy(hours: int, *, ctx: Context) -> str:
    steps.clear()
    for hour in range(hours):
        ctx.progress(f"hour {hour}", hour / hours)
        if ctx.wait(HOUR_S):
            steps.append(f"stopped in hour {hour}")
            ctx.raise_if_cancelled()
        steps.append(f"hour {hour}")
    return "deployed"


@plugin.tool(timeout_s=600)
async def poll(hours: int, *, ctx: AsyncContext) -> str:
    steps.clear()
    for at in range(hours):
        ctx.progress(f"poll {at}")
        await asyncio.sleep(HOUR_S)
        steps.append(f"poll {at}")
    return "there"


@plugin.tool
def stubborn(*, ctx: Context) -> str:
    time.sleep(HOUR_S)
    return "done all the same"


@plugin.tool
def left(*, ctx: Context) -> str:
    assert ctx.deadline is not None
    before = ctx.deadline - time.monotonic()
    ctx.wait(5)
    return f"{before} {ctx.deadline - time.monotonic()}"


@plugin.tool
async def command(*, ctx: AsyncContext) -> str:
    ran = await ctx.run([sys.executable, "-c", "print('ran')"], timeout_s=100)
    return ran.stdout.strip()


@plugin.tool
async def beside() -> str:
    def work() -> str:
        threading.Event().wait(0.05)
        return "worked"

    return await asyncio.wait_for(asyncio.to_thread(work), HOUR_S)


@plugin.tool
async def forever() -> None:
    await asyncio.Event().wait()


@plugin.hook("stop", timeout_s=600)
async def gate(stop: Stop, *, ctx: AsyncContext) -> StopAnswer | None:
    await asyncio.sleep(HOUR_S)
    return continue_with("go on")


@plugin.command
def wait(text: str, *, ctx: Context) -> str:
    return f"cancelled {ctx.wait(float(text))}"


@pytest.fixture
def harness() -> Harness:
    return Harness(plugin, jumps=True, cwd=".")


def test_hours_pass_at_once(harness: Harness) -> None:
    begun = time.monotonic()
    assert harness.call_tool("deploy", hours=3).content == "deployed"
    assert harness.call_tool("poll", hours=3).content == "there"
    assert harness.call_tool("stubborn").content == "done all the same"
    assert harness.run_command("wait", "86400") == "cancelled False"
    answer = harness.fire("stop")
    assert answer is not None
    assert answer.continue_with == "go on"
    assert time.monotonic() - begun < 120


def test_progress_is_kept(harness: Harness) -> None:
    harness.call_tool("deploy", hours=2)
    assert [(one.message, one.fraction) for one in harness.progress] == [
        ("hour 0", 0.0),
        ("hour 1", 0.5),
    ]


@pytest.mark.parametrize(("tool", "done"), [("deploy", "hour"), ("poll", "poll")])
def test_a_cancel_in_the_middle(harness: Harness, tool: str, done: str) -> None:
    with pytest.raises(CallCancelled, match=f"^{tool} was cancelled$"):
        harness.call_tool(tool, cancel_after=1.5 * HOUR_S, hours=9)
    stopped = ["stopped in hour 1"] if tool == "deploy" else []
    assert steps == [f"{done} 0", *stopped]
    # at a step of the work rather than at a time
    with pytest.raises(CallCancelled, match=f"^{tool} was cancelled$"):
        harness.call_tool(
            tool, cancel_when=lambda progress: progress.message == f"{done} 2", hours=9
        )
    assert steps[:2] == [f"{done} 0", f"{done} 1"]
    assert f"{done} 2" not in steps


def test_the_deadline(harness: Harness) -> None:
    before, after = map(float, harness.call_tool("left", timeout_s=60.0).content.split())
    # some real time passes too
    assert 30 < before <= 60
    assert 5 <= before - after < 35
    with pytest.raises(CallCancelled, match=r"^deploy was cancelled, since its 5400 s were over$"):
        harness.call_tool("deploy", hours=9, timeout_s=1.5 * HOUR_S)
    assert steps == ["hour 0", "stopped in hour 1"]
    with pytest.raises(CallCancelled, match=r"^gate was cancelled, since its 60 s were over$"):
        harness.fire("stop", timeout_s=60.0)
    with pytest.raises(CallCancelled, match=r"^wait was cancelled, and answered all the same$"):
        harness.run_command("wait", "100", timeout_s=60.0)


def test_what_waits_for_ever_is_cancelled_at_once(harness: Harness) -> None:
    with pytest.raises(CallCancelled):
        harness.call_tool("forever", timeout_s=HOUR_S)


def test_who_does_not_look_is_told(harness: Harness) -> None:
    with pytest.raises(CallCancelled, match="stubborn was cancelled, and answered all the same"):
        harness.call_tool("stubborn", cancel_after=600)
    (line,) = harness.logs
    # some real time passes too
    assert re.fullmatch(
        r"tool stubborn went on for 300\d\.\d s after it was cancelled; look at ctx\.cancelled",
        line.message,
    )


def test_commands_and_threads_take_their_time(harness: Harness) -> None:
    assert harness.call_tool("command", timeout_s=100.0).content == "ran"
    assert harness.call_tool("beside", timeout_s=100.0).content == "worked"


def test_the_clock_is_only_that_of_the_call(harness: Harness) -> None:
    real = time.monotonic, time.sleep
    harness.call_tool("deploy", hours=1)
    with pytest.raises(PluginError):
        Harness(failing, jumps=True).run_command("fails")
    assert (time.monotonic, time.sleep) == real


failing = Plugin("failing")


@failing.command
def fails(text: str) -> str:
    raise LookupError(text)


def test_without_it_time_is_real() -> None:
    with pytest.raises(CallCancelled):
        Harness(plugin).call_tool("deploy", hours=1, cancel_after=0.01)
    with pytest.raises(CallCancelled, match=r"its 0\.05 s were over"):
        Harness(plugin).call_tool("poll", hours=1, timeout_s=0.05)


def test_background_tasks_do_not_drive_it() -> None:
    ticking = Plugin("ticking")
    ticks: list[float] = []

    async def tick() -> None:
        while True:
            await asyncio.sleep(HOUR_S)
            ticks.append(time.monotonic())

    tasks: list[asyncio.Task[None]] = []

    @ticking.on_start
    async def begin() -> None:
        tasks.append(asyncio.get_running_loop().create_task(tick()))

    @ticking.tool
    async def day() -> None:
        await asyncio.sleep(24.5 * HOUR_S)

    with Harness(ticking, jumps=True) as harness:
        harness.call_tool("day")
        assert len(ticks) == 24
