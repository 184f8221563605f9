"""The walk of one call in CONTRIBUTING.md: its functions exist, and a call passes them in order."""

from __future__ import annotations

import re
import sys
from functools import reduce
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any, Final

import pytest
import trio

import sliphook
from sliphook import PluginHost
from sliphook.testing import FakePlugin

PAGE: Final = Path(__file__).resolve().parents[1] / "CONTRIBUTING.md"
HOME: Final = Path(sliphook.__file__).parent
SECTION: Final = (
    PAGE.read_text(encoding="utf-8")
    .partition("\n## The walk of one call\n")[2]
    .partition("\n## ")[0]
)
NAMED: Final = re.findall(r"`([\w/]+\.py: [\w.]+)`", SECTION)
"""Every function that the section names, as `package/module.py: function`."""
STEPS: Final = re.findall(r"^\d+\. `([\w/]+\.py: [\w.]+)`", SECTION, re.MULTILINE)
"""The numbered ones, which one call passes."""


@pytest.mark.parametrize("name", NAMED)
def test_the_function_exists(name: str) -> None:
    path, _, function = name.partition(".py: ")
    module = import_module(f"sliphook.{path.replace('/', '.')}")
    found: Any = reduce(getattr, function.split("."), module)
    assert found.__module__ == module.__name__
    assert found.__qualname__ == function


def passed_in_one_call() -> list[str]:
    """The functions of the host that run, in this order, while a plugin's tool is called.

    A coroutine that goes on counts again.
    """
    passed: list[str] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        file = Path(frame.f_code.co_filename)
        if event == "call" and file.is_relative_to(HOME):
            passed.append(f"{file.relative_to(HOME).as_posix()}: {frame.f_code.co_qualname}")

    async def call() -> None:
        plugin = FakePlugin("weather", tools={"forecast": lambda _: "rain"})
        with trio.fail_after(120):
            async with (
                PluginHost([plugin]) as host,
                host.session() as session,
                session.turn("x") as turn,
            ):
                sys.setprofile(note)
                try:
                    outcome = await turn.call_tool("forecast", {"city": "Bergen"})
                finally:
                    sys.setprofile(None)
                assert outcome.text() == "rain"

    trio.run(call)
    return passed


def test_one_call_passes_the_steps_in_their_order() -> None:
    assert len(STEPS) == 16
    passed = passed_in_one_call()
    for step in STEPS:
        assert step in passed, f"{step} is not passed after the steps before it"
        del passed[: passed.index(step) + 1]
