"""The command line ends when it is told to, and when the system has no room for it."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Generator, Sequence

import pytest

from tests.programs import WAIT_S, Workshop, case_of, group_lives, shop
from tests.stubborn import wait_for

__all__ = ["shop"]

STUCK = """
import sys, trio
from sliphook.cli import running

running.LEAVE_S = 0.2

async def main(command):
    print("runs", flush=True)
    with trio.CancelScope(shield=True):
        await trio.sleep_forever()

sys.exit(running.run_trio(main))
"""
SLOW_END = """
import time
from sliphook.cli.common import leave_within

class Slow:
    def __del__(self, sleep=time.sleep):
        sleep(3)

slow = Slow()
leave_within(2, 1)
"""
QUICK = """
import sys
from sliphook.cli import common, running

common.LEAVE_S = running.LEAVE_S = running.HELD_S = 0.5
from sliphook.cli.main import main

sys.exit(main(sys.argv[1:]))
"""
NO_THREADS = """
import sys, threading
from sliphook.cli.main import main

def start(thread):
    raise RuntimeError("can't start new thread")

threading.Thread.start = start
sys.exit(main(sys.argv[1:]))
"""


def test_a_second_signal_ends_it_whatever_holds_it() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STUCK], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "runs\n"
        process.send_signal(signal.SIGINT)
        assert "once more" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=3 * WAIT_S)
    assert process.returncode == 130
    assert told == "sliphook: something did not end; left without it\n"


def test_an_end_of_python_that_takes_its_time_is_no_death() -> None:
    done = subprocess.run([sys.executable, "-c", SLOW_END], timeout=3 * WAIT_S, check=False)
    assert done.returncode == 0


def test_without_room_for_a_thread_it_is_one_line() -> None:
    said = subprocess.run(
        [sys.executable, "-c", NO_THREADS, "run", "hi", "--plugin", "/bin/true"],
        capture_output=True,
        text=True,
        timeout=3 * WAIT_S,
        check=False,
    )
    assert said.returncode == 1
    assert said.stderr.splitlines() == [
        "sliphook: plugin true did not start: /bin/true cannot be started: can't start new thread;"
        " its log: sliphook logs true"
    ]


LONG = 200_000
"""Characters, more than a pipe takes."""


class Unread:
    """A pipe that no one reads."""

    def __init__(self) -> None:
        self._reader, self.writer = os.pipe()

    def fill(self) -> None:
        """Leave no room, not even for a line."""
        os.set_blocking(self.writer, False)
        for size in (4096, 1):
            with contextlib.suppress(BlockingIOError):
                while True:
                    os.write(self.writer, b"x" * size)
        os.set_blocking(self.writer, True)

    def is_full(self) -> bool:
        return not select.select([], [self.writer], [], 0)[1]

    def close(self) -> None:
        os.close(self._reader)
        os.close(self.writer)


@contextlib.contextmanager
def held(
    shop: Workshop, args: Sequence[str], not_read: Sequence[str]
) -> Generator[tuple[subprocess.Popen[bytes], int]]:
    """A command that waits in a write, or soon will; and its plugin, which only SIGKILL ends."""
    much = shop.program(
        "much",
        hears=["post_llm_call"],
        tools=["much"],
        before="signal.signal(signal.SIGTERM, signal.SIG_IGN)\nrecord({'pid': os.getpid()})",
        on=case_of("tool/call", f"return {{'content': 'x' * {LONG}}}"),
        main="""
        try:
            serve()
        finally:
            while True: time.sleep(1)
        """,
    )
    script = shop.folder / "replies.json"
    reply = {"text": "0" * LONG, "calls": [{"name": "much"}]}
    script.write_text(json.dumps({"replies": [reply]}))
    model = [] if args[0] == "call" else ["--model", str(script)]
    with contextlib.ExitStack() as ends:
        pipes = {name: Unread() for name in not_read}
        for pipe in pipes.values():
            ends.callback(pipe.close)
        if "stderr" in pipes:
            pipes["stderr"].fill()
        writers = {name: pipe.writer for name, pipe in pipes.items()}
        process = ends.enter_context(
            subprocess.Popen(
                [sys.executable, "-c", QUICK, *args, *model, "--plugin", str(much.path)],
                cwd=shop.folder,
                # unbuffered, Python gives a write up at the first signal
                env={**os.environ, "PYTHONUNBUFFERED": ""},
                stdin=subprocess.PIPE,
                stdout=writers.get("stdout", subprocess.DEVNULL),
                stderr=writers.get("stderr", subprocess.DEVNULL),
            )
        )
        ends.callback(process.kill)
        assert process.stdin is not None
        process.stdin.write(b"hi\n")
        process.stdin.flush()
        # stderr is next: the line of the tool, or what is said at the end
        near = {"event/post_llm_call", "tool/call"}
        out = pipes.get("stdout")
        wait_for(lambda: out.is_full() if out is not None else near & {*much.methods()})
        yield process, much.messages()[0]["pid"]


def end_of(process: subprocess.Popen[bytes], number: int) -> int:
    """Its status; Ctrl+C is pressed until it ends, any other signal comes once."""
    process.send_signal(number)
    for _ in range(30):
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.wait(1)
        if number == signal.SIGINT:
            process.send_signal(number)
    pytest.fail("it is held by what no one reads")


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
@pytest.mark.parametrize("args", [["run", "hi"], ["chat"]], ids=["run", "chat"])
@pytest.mark.parametrize(
    "not_read", [["stdout"], ["stderr"], ["stdout", "stderr"]], ids=["stdout", "stderr", "both"]
)
def test_signals_end_it_while_no_one_reads(
    shop: Workshop, args: list[str], not_read: list[str], number: int, status: int
) -> None:
    with held(shop, args, not_read) as (process, plugin):
        assert end_of(process, number) == status
        wait_for(lambda: not group_lives(plugin))


@pytest.mark.parametrize(
    ("args", "not_read"),
    [
        (["run", "hi", "--json"], "stdout"),
        (["run", "hi", "--trace"], "stderr"),
        (["call", "much", "--json"], "stdout"),
        (["call", "much", "--trace"], "stderr"),
    ],
)
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_other_outputs_hold_it_no_longer(
    shop: Workshop, args: list[str], not_read: str, number: int, status: int
) -> None:
    with held(shop, args, [not_read]) as (process, plugin):
        assert end_of(process, number) == status
        wait_for(lambda: not group_lives(plugin))
