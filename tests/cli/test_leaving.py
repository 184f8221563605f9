"""The command line ends when it is told to, and when the system has no room for it."""

from __future__ import annotations

import signal
import subprocess
import sys

from tests.programs import WAIT_S

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
from sliphook.cli import running

class Slow:
    def __del__(self, sleep=time.sleep):
        sleep(3)

slow = Slow()
running._leave_within(2)
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
