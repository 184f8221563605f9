"""Children of the SDK's tests: a plugin's source becomes a process, under each engine."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.sdk.driver import Child, python

Start = Callable[[str], Child]

ENGINES = {
    "epoll": "",
    "lock": (
        "import sliphook_sdk.engine.threads as engine\nengine.EpollPoller = engine.LockPoller\n"
    ),
    "asyncio": "@plugin.tool\nasync def makes_it_async() -> None: ...\n",
}


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
