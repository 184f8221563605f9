"""`sliphook call` and `fire`: what the plugin asks meanwhile, the person at the terminal answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.chat.test_terminal import Terminal
from tests.programs import Workshop

from .conftest import Sliphook

ASKS = """
if method in ("tool/call", "hook/pre_tool_call"):
    request("q", "host/ask", session_id=params["session_id"], prompt="Where\\x1b[2J to?",
            schema={"type": "string", "enum": ["Bonn", "Aachen"]})
    while True:
        message = receive()
        if message.get("id") == "q":
            said = message.get("result") or message["error"]
            break
    if method == "tool/call":
        return json.dumps(said)
    return {"decision": "deny", "reason": json.dumps(said)}
"""
NOBODY = "probe: info: asked Where\\x1b[2J to?: answered nobody, as no one can be asked"


@pytest.fixture
def asker(shop: Workshop) -> Path:
    return shop.program(
        tools=["deploy"],
        subscriptions=[{"event": "pre_tool_call", "timeout_s": 60}],
        uses=["ask"],
        before="import json",
        on=ASKS,
    ).path


@pytest.fixture
def terminals(tmp_path: Path) -> Iterator[list[Terminal]]:
    started: list[Terminal] = []
    yield started
    for one in started:
        one.stop()


def test_without_a_terminal_it_is_answered_nobody_and_a_line_says_so(
    sliphook: Sliphook, asker: Path
) -> None:
    ran = sliphook("call", "deploy", "--plugin", asker)
    assert ran.status == 0
    assert ran.out.splitlines()[1] == '  {"outcome": "nobody", "answer": null}'
    assert ran.err.splitlines() == [NOBODY]
    ran = sliphook("fire", "pre_tool_call", "--plugin", asker)
    assert ran.status == 0
    assert '{"outcome": "nobody", "answer": null}' in ran.out
    assert ran.err.splitlines() == [NOBODY]


@pytest.mark.parametrize(
    "command", [("call", "deploy"), ("fire", "pre_tool_call")], ids=["call", "fire"]
)
def test_the_person_at_the_terminal_answers(
    terminals: list[Terminal], asker: Path, tmp_path: Path, command: tuple[str, ...]
) -> None:
    terminal = Terminal(*command, "--plugin", asker, cwd=tmp_path)
    terminals.append(terminal)
    terminal.wait_for("Where\\x1b[2J to?")
    terminal.wait_for("Aachen")
    terminal.type("Bonn\n")
    assert terminal.ends() == 0
    assert '{"outcome": "answered", "answer": "Bonn"}' in terminal.shown


def test_the_end_of_the_call_is_the_end_of_the_question(
    terminals: list[Terminal], asker: Path, tmp_path: Path
) -> None:
    terminal = Terminal("call", "deploy", "--timeout", "10", "--plugin", asker, cwd=tmp_path)
    terminals.append(terminal)
    terminal.wait_for("Where")
    assert terminal.ends() == 3
    assert "deploy of probe: timed_out" in terminal.shown


def test_ctrl_c_ends_the_question(terminals: list[Terminal], asker: Path, tmp_path: Path) -> None:
    terminal = Terminal("call", "deploy", "--plugin", asker, cwd=tmp_path)
    terminals.append(terminal)
    terminal.wait_for("Where")
    terminal.type("\x03")
    assert terminal.ends() == 130
