"""What scripts use: `run --json`, `run -`, colours only at a terminal, the manual page."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from sliphook.cli.main import sliphook as group
from sliphook.cli.man import page
from tests.programs import Workshop

from .conftest import WAIT_S, Sliphook


def objects(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_every_line_is_an_object(sliphook: Sliphook, shop: Workshop) -> None:
    path = shop.program("weather", tools=["use"], on="return {'content': 'cold\\x1b[2J'}").path
    done = sliphook("run", 'TOOL use {"city": "Oslo"}', "--plugin", path, "--json")
    assert (done.status, done.err) == (0, "")
    assert "\x1b" not in done.out
    call, result, text, outcome = objects(done.out)
    assert call == {
        "type": "call",
        "call_id": "call_1_1",
        "name": "use",
        "arguments": {"city": "Oslo"},
    }
    assert result.pop("duration_ms") > 0
    assert result == {
        "type": "result",
        "call_id": "call_1_1",
        "name": "use",
        "status": "ok",
        "content": "cold\x1b[2J",
    }
    assert text == {"type": "text", "text": "use: cold\x1b[2J"}
    assert len(outcome.pop("session_id")) > 8
    assert outcome == {
        "type": "outcome",
        "outcome": "completed",
        "model": "scripted",
        "turns": 1,
        "model_calls": 2,
        "tool_calls": 1,
        "usage": {"input_tokens": None, "output_tokens": None, "cached_tokens": None},
    }


def test_children_denials_and_commands_are_objects_too(sliphook: Sliphook) -> None:
    done = sliphook(
        "run", 'TOOL delegate {"goal": "TOOL shell {\\"command\\": \\"ls\\"}"}', "--shell", "--json"
    )
    found = objects(done.out)
    kinds = [(one["type"], one.get("child")) for one in found]
    assert kinds[:4] == [("call", None), ("child", None), ("call", 1), ("denied", 1)]
    assert kinds[-1] == ("outcome", None)
    [reply] = objects(sliphook("run", "/help", "--json").out)
    assert reply["type"] == "reply"
    assert reply["text"].startswith("/help")


def test_a_failed_turn_has_its_outcome(sliphook: Sliphook) -> None:
    done = sliphook("run", "hello", "--base-url", "http://127.0.0.1:1", "--model", "x", "--json")
    assert done.status == 1
    found = objects(done.out)
    assert found[0]["type"] == "notice"
    assert (found[-1]["type"], found[-1]["outcome"]) == ("outcome", "failed")


@pytest.mark.parametrize(
    ("given", "status", "says"),
    [
        (b"hello\n", 0, "You said: hello"),
        (b" \n", 2, "the prompt is empty"),
        (b"\xff", 1, "the prompt on stdin is no UTF-8 text"),
    ],
)
def test_a_prompt_on_stdin(tmp_path: Path, given: bytes, status: int, says: str) -> None:
    command = [sys.executable, "-m", "sliphook", "run", "-"]
    done = subprocess.run(
        command, cwd=tmp_path, input=given, capture_output=True, timeout=WAIT_S, check=False
    )
    assert done.returncode == status
    assert says in (done.stdout + done.stderr).decode()


@pytest.mark.parametrize(("no_color", "coloured"), [("", True), ("1", False)])
@pytest.mark.parametrize("command", ["doctor", "check"])
def test_colours_are_for_terminals(
    sliphook: Sliphook, shop: Workshop, command: str, no_color: str, coloured: bool
) -> None:
    args = [command, *([str(shop.program("plain").path)] if command == "check" else [])]
    assert "\x1b" not in sliphook(*args).out
    master, slave = os.openpty()
    try:
        subprocess.run(
            [sys.executable, "-m", "sliphook", *args],
            env={**os.environ, "NO_COLOR": no_color, "TERM": "xterm"},
            stdin=subprocess.DEVNULL,
            stdout=slave,
            stderr=subprocess.DEVNULL,
            timeout=WAIT_S,
            check=False,
        )
    finally:
        os.close(slave)
    shown = b""
    with open(master, "rb", buffering=0) as terminal, contextlib.suppress(OSError):
        while data := terminal.read(100_000):  # Linux has an error for the end
            shown += data
    assert (b"\x1b[32mok" in shown) is coloured


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("/hepl", "there is no command /hepl; did you mean /help?"),
        ("/deplyo now", "there is no command /deplyo; did you mean /deploy?"),
        ("/zzzzzz", "there is no command /zzzzzz; /help lists them"),
    ],
)
def test_misspelt_slash_commands(sliphook: Sliphook, shop: Workshop, typed: str, says: str) -> None:
    path = shop.program("ops", commands=[{"name": "deploy", "description": ""}]).path
    done = sliphook("run", typed, "--plugin", path)
    assert (done.status, done.err) == (1, f"sliphook: {says}\n")
    assert says in sliphook("chat", "--plugin", path, input=f"{typed}\n").out


def test_the_page_has_every_command_and_option() -> None:
    root = click.Context(group, info_name="sliphook")
    text = page(root).replace("\\-", "-").replace("\\e", "\\")
    for name in group.list_commands(root):
        command = group.get_command(root, name)
        assert command is not None
        assert f'.SS "sliphook {name}' in text
        options = [one for parameter in command.params for one in parameter.opts if one[0] == "-"]
        for option in options:
            assert option in text, f"{name} {option}"
        for word in re.findall(r"[a-z]{4,}", command.help or ""):
            assert word in text


@pytest.mark.skipif(shutil.which("groff") is None, reason="no groff here")
def test_man_reads_the_page_without_a_complaint(sliphook: Sliphook) -> None:
    text = sliphook("man")
    assert text.status == 0
    done = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww", "-z", "-K", "utf8"],
        input=text.out.encode(),
        capture_output=True,
        env={**os.environ, "MANWIDTH": "80"},
        timeout=WAIT_S,
        check=False,
    )
    assert done.stderr.decode() == ""
