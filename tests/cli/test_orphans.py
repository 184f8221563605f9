"""As the first process of a container the command line waits for what plugins leave behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.programs import WAIT_S, Workshop, case_of, output_of, shop

__all__ = ["shop"]

CONTAINER = ["unshare", "--pid", "--fork", "--mount-proc"]

LEAVES_ORPHANS = case_of(
    "tool/call",
    """
    orphans = []
    for number in range(20):
        read, write = os.pipe()
        if os.fork() == 0:
            os.setsid()
            orphan = os.fork()
            if orphan == 0:
                if number == 19:
                    os.setsid()  # it looks like a child that the host has started
                os.closerange(0, 100)
                time.sleep(0.1)
                os._exit(0)
            os.write(write, b"%d" % orphan)
            os._exit(0)
        orphans.append(int(os.read(read, 20)))
        os.close(read)
        os.close(write)
        os.wait()
    # one that has ended stays in the table of processes until its parent has waited for it
    while any(os.path.exists(f"/proc/{orphan}") for orphan in orphans):
        time.sleep(0.01)
    reply(id, f"{len(orphans)} are gone")
    return NOTHING
    """,
)


@pytest.mark.parametrize(
    ("command", "typed"),
    [
        (["call", "browse", "--timeout", "120"], ""),
        (["run", "TOOL browse {}"], ""),
        (["chat"], "TOOL browse {}\n"),
    ],
    ids=["call", "run", "chat"],
)
def test_what_a_plugin_leaves_behind_is_waited_for(
    tmp_path: Path, shop: Workshop, command: list[str], typed: str
) -> None:
    tried = subprocess.run([*CONTAINER, "true"], capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip(f"no namespace of processes can be made here: {tried.stderr.strip()}")
    plugin = shop.program(on=LEAVES_ORPHANS, tools=["browse"])
    done = subprocess.run(
        [*CONTAINER, sys.executable, "-m", "sliphook", *command, "--plugin", str(plugin.path)],
        cwd=tmp_path,
        env=dict(os.environ),
        input=typed,
        capture_output=True,
        text=True,
        timeout=2 * WAIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "20 are gone" in done.stdout, json.dumps(done.stdout)


def test_one_thread_waits_however_often_it_is_begun() -> None:
    program = """
    import os, threading
    os.getpid = lambda: 1
    from sliphook.cli.orphans import reap_as_init
    for _ in range(3):
        reap_as_init()
    print(threading.active_count())
    """
    assert output_of(program) == "2\n"
