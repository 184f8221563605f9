"""A transcript that cannot be written fails no hook, and each session has its own."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import trio

from sliphook import PluginHost
from tests.programs import WAIT_S

from .made import command, script, settings_json, spec

MOVES_IT_AWAY = r"""#!/bin/sh
path=$(sed -n 's/.*"transcript_path":"\([^"]*\)".*/\1/p')
rm -rf "$path"
[ -z "$1" ] || mkdir "$path"
echo asked >> asked.txt
"""


async def run(arguments: dict[str, Any]) -> str:
    return "done"


@pytest.mark.parametrize("then", ["", "a folder"])
async def test_a_hook_that_moves_the_transcript_away(tmp_path: Path, then: str) -> None:
    script(tmp_path / "move.sh", MOVES_IT_AWAY)
    hooks = {"PreToolUse": [command(f"./move.sh '{then}'")]}
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([spec(settings_json(tmp_path, hooks))]) as host,
            host.session(cwd=tmp_path) as session,
            session.turn("hello") as turn,
        ):
            for _ in range(3):
                assert (await turn.call_tool("sh", {}, run=run)).status == "ok"
        assert (tmp_path / "asked.txt").read_text() == "asked\n" * 3


@pytest.mark.parametrize(
    "ids", [("é" * 128, "é" * 127 + "è"), ("a" * 200, "a" * 199 + "b"), ("a/b", "a_b"), ("..", ".")]
)
async def test_sessions_of_any_name(tmp_path: Path, ids: tuple[str, str]) -> None:
    hooks = {"PreToolUse": [command("cat > transcript.json; true")]}
    paths: list[str] = []
    with trio.fail_after(WAIT_S):
        async with PluginHost([spec(settings_json(tmp_path, hooks))]) as host:
            for id in ids:
                async with (
                    host.session(cwd=tmp_path, session_id=id) as session,
                    session.turn("hello") as turn,
                ):
                    assert (await turn.call_tool("sh", {}, run=run)).status == "ok"
                    told = json.loads((tmp_path / "transcript.json").read_text())
                    assert told["session_id"] == id
                    assert os.path.isfile(told["transcript_path"])  # noqa: ASYNC240 - it is local
                    paths.append(told["transcript_path"])
    assert len(set(paths)) == 2
    assert len({str(Path(path).parent) for path in paths}) == 1
