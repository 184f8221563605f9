"""A home with installed plugins, a client of each kind, and fake agents that are gone at the end."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sliphook.adapters.attached import build as build_module
from sliphook.adapters.attached.build import Client, build
from sliphook.cli.main import main
from tests.programs import WAIT_S, Program, Workshop

from .fake_agent import Agent, daemons_end


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name in ("DATA", "STATE", "CONFIG"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-made-up")
    # a socket's path has to be short
    with tempfile.TemporaryDirectory(prefix="sh-", dir="/tmp") as runtime:
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
        yield tmp_path


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Client]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("clients")))
        patch.setattr(build_module, "START_S", WAIT_S / 2)  # of a Python, on a busy machine
        return {"c": build(), "python": build(compiler=None)}


@pytest.fixture(params=["c", "python"])
def client(request: pytest.FixtureRequest, built: dict[str, Client]) -> Client:
    found = built[request.param]
    assert found.compiled == (request.param == "c")
    return found


Install = Callable[..., Program]


@pytest.fixture
def install(home: Path) -> Install:
    """Write a plugin and install it."""
    shop = Workshop(home)

    def write(name: str = "guard", **given: Any) -> Program:
        program = shop.program(name, **given)
        grants = [word for use in given.get("uses", ()) for word in ("--grant", use)]
        assert main(["install", str(program.path), "--yes", *grants]) == 0
        return program

    return write


@pytest.fixture
def agents(home: Path) -> Iterator[Callable[..., Agent]]:
    """Start fake agents."""
    opened: list[Agent] = []

    def start(client: Client, **given: Any) -> Agent:
        folder = home / f"project-{len(opened)}"
        folder.mkdir()
        agent = Agent(client, folder, **given)
        opened.append(agent)
        return agent

    with daemons_end(Path(os.environ["XDG_RUNTIME_DIR"])):
        yield start
        for agent in opened:
            agent.close()
