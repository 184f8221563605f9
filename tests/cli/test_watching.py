"""`--watch`: a changed file of a plugin is taken up at once."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest

from sliphook.cli.watching import editions, wait_for_change
from tests.programs import Workshop, case_of
from tests.stubborn import wait_for

from .background import Background, started
from .conftest import WAIT_S

__all__ = ["started"]


def denying(shop: Workshop, reason: str) -> Path:
    """A guard with another reason; in place of the old file, as an editor writes it."""
    beside = Workshop(shop.folder / "beside")
    beside.folder.mkdir(exist_ok=True)
    answer = {"decision": "deny", "reason": reason}
    made = beside.program(
        "guard",
        subscriptions=[{"event": "pre_tool_call"}],
        on=case_of("hook/pre_tool_call", f"return {answer!r}"),
    )
    path = shop.folder / "guard"
    os.replace(made.path, path)
    return path


def test_fire_asks_the_new_file_again(
    shop: Workshop, tmp_path: Path, started: list[Background]
) -> None:
    path = denying(shop, "the first reason")
    watching = Background(tmp_path, "fire", "pre_tool_call", "--plugin", path, "--watch")
    started.append(watching)
    assert any("the first reason" in line for line in watching.until("--watch: waits"))
    denying(shop, "the second reason")
    lines = watching.until("--watch: waits")
    assert lines[0] == "--watch: guard has changed"
    assert any("the second reason" in line for line in lines)
    path.write_text("#!/bin/sh\necho 'not ready yet' >&2\n")
    lines = watching.until("--watch: waits")
    assert any("failed_to_start" in line for line in lines)
    assert watching.end() == 3, "the status of the last time"


def test_a_terminal_that_is_closed_ends_it(
    shop: Workshop, tmp_path: Path, started: list[Background]
) -> None:
    hangs = shop.program("hangs", hears=["pre_tool_call"], on="set_flag('asked')\nreturn NOTHING")
    watching = Background(tmp_path, "fire", "pre_tool_call", "--plugin", hangs.path, "--watch")
    started.append(watching)
    wait_for(shop.flag("asked").exists)
    watching.process.send_signal(signal.SIGHUP)
    assert watching.process.wait(WAIT_S) == 129


@pytest.mark.parametrize(
    "args",
    [
        ["run", 'TOOL delegate {"goal": "hello"}'],
        ["call", "use"],
        ["check"],
    ],
)
def test_other_commands_do_it_again_too(
    shop: Workshop, tmp_path: Path, started: list[Background], args: list[str]
) -> None:
    path = shop.program("worker", tools=["use"]).path
    where = [str(path)] if args[0] == "check" else ["--plugin", str(path)]
    watching = Background(tmp_path, *args, *where, "--watch")
    started.append(watching)
    watching.until("--watch: waits for a change of worker; Ctrl+C ends it")
    os.utime(path)
    watching.until("--watch: worker has changed")
    watching.until("--watch: waits")
    assert watching.end() == (3 if args[0] == "check" else 0)


def test_a_chat_restarts_the_plugin_between_two_turns(
    shop: Workshop, tmp_path: Path, started: list[Background]
) -> None:
    path = denying(shop, "the first reason")
    watching = Background(tmp_path, "chat", "--plugin", path, "--watch")
    started.append(watching)
    watching.write('TOOL delegate {"goal": "hello"}')
    watching.until("the first reason")
    denying(shop, "the second reason")
    assert watching.until("restarted: guard")[-2:] == [
        "info: --watch: guard has changed",
        "info: restarted: guard",
    ]
    watching.write('TOOL delegate {"goal": "hello"}')
    watching.until("the second reason")
    path.write_text("#!/bin/sh\nexit 3\n")
    watching.until("info: guard did not start, and does nothing: exited with status 3")
    watching.write("/quit")
    assert watching.process.wait(WAIT_S) == 0


def test_there_must_be_a_file_to_watch(tmp_path: Path, started: list[Background]) -> None:
    watching = Background(tmp_path, "run", "hello", "--watch")
    started.append(watching)
    watching.until("--watch looks at the plugins of --plugin PATH: give one")
    assert watching.process.wait(WAIT_S) == 2


def test_the_wait_can_be_stopped(tmp_path: Path) -> None:
    path = tmp_path / "guard"
    path.write_text("1")
    stop = threading.Event()
    stop.set()
    assert wait_for_change(editions([path]), stop) == []
