"""A host that is open while the agent forks: the fork is refused, and the host is left alone.

Each program runs as a process of its own, since a fork of the test's process would run the rest of
the tests again.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.programs import WAIT_S, Workshop

FORKING = str(Path(__file__).with_name("forking.py"))

BLOCKING = """
import os, sys
from sliphook.blocking import PluginHost

def tried(call):
    try:
        call()
    except Exception as error:
        print(type(error).__name__, "fork_program" in str(error), flush=True)

with PluginHost([sys.argv[1]]) as host, host.session() as session, session.turn("x") as turn:
    pid = os.fork()
    if pid == 0:
        tried(lambda: turn.call_tool("ping", {}))
        tried(lambda: turn.submit())
        tried(lambda: turn.finish("failed"))
        tried(session.interrupt)
        tried(lambda: host.plugins)
        tried(lambda: host.restart("probe"))
        sys.exit(7)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
    print(turn.call_tool("ping", {}).status)
"""
LOOPS = """
import os, sys, NAME
from MODULE import PluginHost

def tried(call):
    try:
        call()
    except Exception as error:
        print(type(error).__name__, "fork_program" in str(error), flush=True)

async def main():
    async with (
        PluginHost([sys.argv[1]]) as host, host.session() as session, session.turn("x") as turn
    ):
        pid = os.fork()
        if pid == 0:
            ask = lambda: turn.decide("question", "sure?", None)
            for call in (lambda: turn.call_tool("ping", {}), turn.submit, ask):
                try:
                    await call()
                except Exception as error:
                    print(type(error).__name__, "fork_program" in str(error), flush=True)
            tried(session.interrupt)
            sys.exit(7)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
        print((await turn.call_tool("ping", {})).status)

NAME.run(RUN)
"""
FACES = {
    "blocking": (BLOCKING, 6),
    "aio": (LOOPS.replace("NAME", "asyncio").replace("MODULE", "sliphook.aio"), 4),
    "trio": (LOOPS.replace("NAME", "trio").replace("MODULE", "sliphook"), 4),
}


@pytest.mark.parametrize("face", FACES)
def test_in_a_fork_each_call_is_refused_and_the_blocks_are_left(shop: Workshop, face: str) -> None:
    text, calls = FACES[face]
    plugin = shop.program(tools=["ping"])
    program = shop.folder / "fork_program.py"
    program.write_text(text.replace("RUN", "main()" if face == "aio" else "main"))
    said = subprocess.run(
        [sys.executable, "-W", "ignore", str(program), str(plugin.path)],
        capture_output=True,
        text=True,
        timeout=3 * WAIT_S,
        check=False,
    )
    assert said.stdout.splitlines() == [*["OtherProcess True"] * calls, "7", "ok"], said.stderr
    assert said.returncode == 0


ASKS = """
os.write(2, b"a line\\n")
if method == "hook/pre_tool_call":
    return {"decision": "ask"}
request("q", "host/ask", session_id=params["session_id"], prompt="Where to?")
while receive().get("id") != "q":
    pass
"""
EXITS = "run that exits"
PLACES = (EXITS, "run", "approver", "asker", "can_ask", "on_log", "on_interrupt")
STATUS = {
    # the agent's own thread goes on with an error, which the program takes
    ("blocking", "run"): 7,
    ("blocking", "approver"): 7,
    # so does its task, as far as the host's block, which ends the fork
    ("trio", "run"): 1,
    ("trio", "approver"): 1,
}


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("place", PLACES)
def test_a_fork_in_the_agents_own_code_ends_where_it_comes_back(
    shop: Workshop, face: str, place: str
) -> None:
    plugin = shop.program(hears=["pre_tool_call"], tools=["deploy"], on=ASKS, uses=["ask"])
    said = subprocess.run(
        [sys.executable, "-W", "ignore", FORKING, face, place, str(plugin.path)],
        capture_output=True,
        text=True,
        timeout=3 * WAIT_S,
        check=False,
    )
    lines = said.stdout.splitlines()
    of_child = [line for line in lines if line.endswith("in the child")]
    of_parent = [line for line in lines if line not in of_child and not line.startswith("child")]
    assert of_parent == ["ok", "ok", "end"], said.stderr
    assert f"child {STATUS.get((face, place), 3 if place == EXITS else 0)}" in lines, said.stderr
    refused = (face, place) in STATUS
    assert of_child == (["refused in the child"] if refused and face == "blocking" else [])
    assert ("OtherProcess" in said.stderr) == (refused and face == "trio"), said.stderr


TRACED = """
import fcntl, os, sys
from pathlib import Path
from sliphook.trace import FileTrace

path = Path(sys.argv[1])
trace = FileTrace(path)
pid = os.fork()
if pid == 0:
    os._exit(0 if trace.close() is None else 1)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
try:
    FileTrace(path)
except OSError as error:
    print("still locked")
print(trace.close())
"""


def test_a_fork_that_closes_a_trace_leaves_it_to_the_other_process(shop: Workshop) -> None:
    said = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", TRACED, str(shop.folder / "trace.jsonl")],
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=True,
    )
    assert said.stdout.splitlines() == ["0", "still locked", "None"]


ENDS = """
import sys
from sliphook.forks import end_fork

class Odd:
    def write(self, text): raise RuntimeError
    def flush(self): raise RuntimeError

def odd_hook(*_):
    raise RuntimeError

{before}
try:
    end_fork({error})
finally:
    print("it goes on", file=sys.__stdout__, flush=True)
"""


@pytest.mark.parametrize(
    ("error", "status"),
    [("None", 0), ("ValueError(1)", 1), ("SystemExit('why')", 1), ("SystemExit(2**70 + 3)", 3)],
)
@pytest.mark.parametrize(
    "before",
    ["", "sys.stdout = sys.stderr = None", "sys.stdout = sys.stderr = Odd()", "sys.stderr.close()"],
)
def test_a_fork_ends_whatever_its_streams_are(before: str, error: str, status: int) -> None:
    """Else it would go on in the agent's code, beside the agent."""
    program = ENDS.format(before=f"sys.excepthook = odd_hook; {before}", error=error)
    said = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, timeout=WAIT_S, check=False
    )
    assert (said.stdout, said.returncode) == (b"", status), said.stderr
