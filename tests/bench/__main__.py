"""`make bench`: how long one hook takes, beside the floor, the least that two processes can do.

The floor is trio, msgspec and a child that sends every line back. Both are measured in turns, so that a busy machine slows both.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from time import perf_counter_ns

import msgspec
import trio

from sliphook import PluginHost
from sliphook_sdk.protocol.describe import example_of
from sliphook_sdk.protocol.payloads import PreToolCall

GUARD = Path(__file__).resolve().parents[2] / "examples" / "guard.py"
ECHO = "import sys\nfor line in sys.stdin.buffer:\n    sys.stdout.buffer.write(line)\n    sys.stdout.buffer.flush()\n"


async def timed_us(once: Callable[[], Awaitable[object]], count: int) -> list[float]:
    """How long each of `count` calls took, in microseconds."""
    took: list[float] = []
    for _ in range(count):
        start = perf_counter_ns()
        await once()
        took.append((perf_counter_ns() - start) / 1000)
    return took


async def measure(rounds: int, count: int) -> tuple[list[float], list[float]]:
    """The floor and the hook, `rounds` times `count` calls each, in turns."""
    payload = msgspec.convert({**example_of(PreToolCall), "arguments": {"command": "ls", "note": "x" * 250}}, PreToolCall)
    floor: list[float] = []
    hook: list[float] = []
    echo = await trio.lowlevel.open_process([sys.executable, "-c", ECHO], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert echo.stdin is not None
    assert echo.stdout is not None
    stdin, stdout = echo.stdin, echo.stdout

    async def bounce() -> None:
        await stdin.send_all(msgspec.json.encode(payload) + b"\n")
        line = bytearray()
        while not line.endswith(b"\n"):
            line += await stdout.receive_some()
        msgspec.json.decode(line, type=PreToolCall)

    async with stdin, stdout, PluginHost([GUARD]) as host:

        async def fire() -> None:
            outcome = await host.fire("pre_tool_call", payload)
            assert [part.status for part in outcome.parts] == ["answered"], outcome.parts

        await timed_us(bounce, count)
        await timed_us(fire, count)
        for _ in range(rounds):
            floor += await timed_us(bounce, count)
            hook += await timed_us(fire, count)
    await echo.wait()
    return floor, hook


def main() -> None:
    """Measure, and print both and their ratio."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--count", type=int, default=300, help="calls of each in a round")
    options = parser.parse_args()
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    floor, hook = trio.run(measure, options.rounds, options.count)
    for name, took in (("floor", floor), ("pre_tool_call", hook)):
        cuts = statistics.quantiles(took, n=100)
        print(f"{name:<14} p50 {cuts[49]:8.1f} us   p99 {cuts[98]:8.1f} us")
    print(f"a hook takes {statistics.median(hook) / statistics.median(floor):.1f} times the floor (p50 of {len(hook)})")


if __name__ == "__main__":
    main()
