"""Children of the SDK's tests: a plugin's source becomes a process, under each engine."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.sdk.driver import PATIENCE_S, Child, python

Start = Callable[[str], Child]

ENGINES = {
    "epoll": "",
    "lock": (
        "import sliphook_sdk.engine.threads as engine\nengine.EpollPoller = engine.LockPoller\n"
    ),
    "asyncio": "@plugin.tool\nasync def makes_it_async() -> None: ...\n",
}

_UNHURRIED = f"""
import sliphook_sdk.service as service
service.LATE_S = {PATIENCE_S}
"""
_PATIENT = f"""{_UNHURRIED}
import sliphook_sdk.engine.base as base, sliphook_sdk.engine.event_loop as event_loop
import sliphook_sdk.process.exit as ending
import sliphook_sdk.protocol.limits as limits
base.LINGER_S = event_loop.LINGER_S = {PATIENCE_S}
limits.SHUTDOWN_TIMEOUT_S = ending._CLEANUP_S = {PATIENCE_S}
"""


def unhurried(source: str) -> str:
    """The plugin, whose handlers no busy machine makes late after a cancel."""
    return f"{textwrap.dedent(source)}{_UNHURRIED}"


def patient(source: str) -> str:
    """The same, and at its end it waits for handlers that are slow on a busy machine."""
    return f"{textwrap.dedent(source)}{_PATIENT}"


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a plugin from its source, which ends before `plugin.run()`."""
    children: list[Child] = []

    def run(source: str) -> Child:
        path = tmp_path / f"plugin_{len(children)}.py"
        path.write_text(
            f"{textwrap.dedent(source)}\nif __name__ == '__main__':\n    plugin.run()\n",
            encoding="utf-8",
        )
        children.append(Child(python(path), tmp_path))
        return children[-1]

    yield run
    for child in children:
        child.kill()


@pytest.fixture(params=ENGINES)
def start_each(start: Start, request: pytest.FixtureRequest) -> Start:
    """The same, under each engine: both kinds of threads, and plain functions beside asyncio."""
    return lambda source: start(f"{textwrap.dedent(source)}\n{ENGINES[request.param]}")
