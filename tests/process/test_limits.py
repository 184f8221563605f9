"""How much of the machine a plugin may use, and what is said if that was too little."""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import trio

from sliphook import PluginHost, ToolOutcome
from sliphook.plugin.spec import PluginSpec
from sliphook.process.limits import (
    NO_LIMITS,
    Limits,
    limit_words,
    over,
    prepared,
    said_of_end,
    why_out_of_range,
)
from tests.programs import WAIT_S, Workshop, case_of

READ = "import resource as r; print(r.getrlimit(r.{}))"
MIB = 1024 * 1024


def limits_inside(limits: Limits, name: str) -> tuple[int, int]:
    """The soft and the hard limit that a program sees."""
    program = [sys.executable, "-S", "-c", READ.format(name)]
    command = prepared(program, limit_words(limits), sys.executable)
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=WAIT_S)
    soft, hard = done.stdout.strip("()\n").split(", ")
    return int(soft), int(hard)


def test_the_program_begins_with_its_limits() -> None:
    assert limits_inside(Limits(memory_mib=64), "RLIMIT_DATA") == (64 * MIB, 64 * MIB)
    assert limits_inside(Limits(open_files=40), "RLIMIT_NOFILE") == (40, 40)
    # the hard limit is what ends a program that handles SIGXCPU
    assert limits_inside(Limits(cpu_s=5), "RLIMIT_CPU") == (5, 7)
    assert limits_inside(Limits(cpu_s=5), "RLIMIT_NOFILE") == resource.getrlimit(
        resource.RLIMIT_NOFILE
    )


@pytest.mark.skipif(sys.platform != "linux", reason="the threads of the user are in /proc")
def test_processes_are_counted_from_those_that_are_there() -> None:
    few = limits_inside(Limits(processes=1), "RLIMIT_NPROC")[0]
    more = limits_inside(Limits(processes=10_001), "RLIMIT_NPROC")[0]
    assert few >= 2
    assert more > 10_000


def test_no_limit_is_raised() -> None:
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    assert limits_inside(Limits(open_files=most + 1), "RLIMIT_NOFILE") == (most, most)


def test_a_program_that_cannot_be_executed() -> None:
    command = prepared(["/none"], ["cpu_s=5"], sys.executable)
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=WAIT_S)
    assert (done.returncode, done.stderr) == (127, "/none: No such file or directory\n")


def test_without_limits_the_program_is_started_as_it_is() -> None:
    assert prepared(["/opt/guard"], limit_words(NO_LIMITS), "python") == ["/opt/guard"]


def test_the_upper_limits_replace_the_lower_key_by_key() -> None:
    below, above = Limits(memory_mib=64, cpu_s=5), Limits(memory_mib=128, open_files=32)
    assert over(below, above) == Limits(memory_mib=128, cpu_s=5, open_files=32)


@pytest.mark.parametrize(
    ("limits", "wrong"),
    [
        (NO_LIMITS, None),
        (Limits(memory_mib=16, cpu_s=1, processes=1, open_files=16), None),
        (
            Limits(memory_mib=15),
            ("memory_mib", "15 is out of range: give 16 to 1,073,741,824"),
        ),
        (Limits(cpu_s=0), ("cpu_s", "0 is out of range: give 1 to 1,073,741,824")),
    ],
)
def test_the_range(limits: Limits, wrong: tuple[str, str] | None) -> None:
    assert why_out_of_range(limits) == wrong


@pytest.mark.parametrize(
    ("limits", "returncode", "last_words", "said"),
    [
        (NO_LIMITS, -signal.SIGXCPU, "MemoryError", None),
        (
            Limits(cpu_s=5),
            -signal.SIGXCPU,
            None,
            "it has used the 5 s of processor time that cpu_s gives it",
        ),
        (Limits(memory_mib=64), 1, "MemoryError", "memory_mib = 64 may be too little for it"),
        (
            Limits(open_files=32),
            1,
            "OSError: [Errno 24] Too many open files",
            "open_files = 32 may be too little for it",
        ),
        (Limits(processes=8), 2, "Cannot fork", "processes = 8 may be too little for it"),
        (Limits(cpu_s=5, memory_mib=64), -11, None, "its limits are memory_mib = 64, cpu_s = 5"),
    ],
)
def test_what_is_said_of_a_death(
    limits: Limits, returncode: int, last_words: str | None, said: str | None
) -> None:
    assert said_of_end(limits, returncode, last_words) == said


@pytest.mark.parametrize(
    ("limits", "does", "said"),
    [
        (
            Limits(memory_mib=64),
            "bytearray(300 * 1024 * 1024)",
            "; memory_mib = 64 may be too little for it",
        ),
        (
            Limits(open_files=32),
            "kept = [open('/dev/null') for _ in range(100)]",
            "; open_files = 32 may be too little for it",
        ),
        (
            Limits(cpu_s=1),
            "while True: pass",
            "was killed by SIGXCPU; it has used the 1 s of processor time that cpu_s gives it",
        ),
    ],
    ids=["memory_mib", "open_files", "cpu_s"],
)
async def test_a_plugin_that_needs_more(
    shop: Workshop, limits: Limits, does: str, said: str
) -> None:
    # a second of processor time may take a minute of a busy machine's
    tool = {"name": "go", "timeout_s": 2 * WAIT_S}
    probe = shop.program(tools=[tool], on=case_of("tool/call", does))
    result: ToolOutcome | None = None
    with trio.fail_after(3 * WAIT_S):
        async with (
            PluginHost([PluginSpec(probe.path, limits=limits)], on_problem=_ignore) as host,
            host.session() as session,
            session.turn("hello") as turn,
        ):
            result = await turn.call_tool("go", {})
    assert result is not None
    assert result.status == "error"
    assert said in result.text()


def _ignore(*_: object) -> None:
    """A problem that is expected."""


async def test_an_approved_file_is_compared_all_the_same(shop: Workshop, tmp_path: Path) -> None:
    probe = shop.program()
    spec = PluginSpec(probe.path, sha256="0" * 64, limits=Limits(cpu_s=60))
    with trio.fail_after(WAIT_S):
        async with PluginHost([spec]) as host:
            assert host.plugins[0].state == "refused"
