"""The tool `shell`: what a command may do, and that nothing of it stays."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import trio

from sliphook.agent.shell import shell_tool
from sliphook_sdk.protocol import ToolResult
from tests.programs import group_lives, until

WAIT_S = 120.0


async def ran(folder: Path, command: str, **more: Any) -> tuple[str, bool]:
    tool = shell_tool(folder, os.environ, asks=False)
    with trio.fail_after(WAIT_S):
        result = await tool.run({"command": command, **more})
    assert isinstance(result, ToolResult)
    return result.content, result.is_error is True


@pytest.mark.parametrize(
    ("command", "content", "is_error"),
    [
        ("echo hello; echo there >&2", "hello\nthere", False),
        ("true", "[no output]", False),
        ("echo gone; exit 3", "gone\n[exit status 3]", True),
        ("kill -9 $$", "[killed by signal 9]", True),
        ("cat", "[no output]", False),
        ("printf '\\377'", "\ufffd", False),
        ("head -c 32768 /dev/zero | tr '\\0' a; echo b", "a" * 32768 + "b", False),
    ],
)
async def test_what_the_model_reads(
    tmp_path: Path, command: str, content: str, is_error: bool
) -> None:
    assert await ran(tmp_path, command) == (content, is_error)


async def test_it_runs_in_the_folder(tmp_path: Path) -> None:
    assert await ran(tmp_path, "pwd") == (str(tmp_path), False)
    content, is_error = await ran(tmp_path / "none", "pwd")
    assert content.startswith("the command cannot be started: ")
    assert is_error


async def test_a_long_output_is_cut_in_the_middle(tmp_path: Path) -> None:
    content, _ = await ran(tmp_path, "yes aaa | head -c 10000000; echo the end")
    assert len(content) < 70_000
    assert content.startswith("aaa\n")
    assert content.endswith("the end")
    assert "\n[9,934,472 bytes left out]\n" in content


async def test_the_agents_keys_are_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    monkeypatch.setenv("COLOUR", "blue")
    assert await ran(tmp_path, 'echo "$OPENAI_API_KEY-$COLOUR"') == ("-blue", False)


async def test_the_timeout_ends_all_processes(tmp_path: Path) -> None:
    command = "echo $$ > group; echo begun; sleep 1000 & sleep 1000"
    timeout_s, content, is_error = 0.125, "", False
    while not content.startswith("begun"):  # a busy machine may have begun nothing by then
        timeout_s *= 2
        content, is_error = await ran(tmp_path, command, timeout_s=timeout_s)
    assert (content, is_error) == (f"begun\n[stopped: it took more than {timeout_s:g} s]", True)
    await until(lambda: not group_lives(int((tmp_path / "group").read_text())))


async def test_what_is_left_in_the_background_ends_with_it(tmp_path: Path) -> None:
    content, is_error = await ran(tmp_path, "sleep 1000 & echo $$")
    assert not is_error
    await until(lambda: not group_lives(int(content)))


async def test_a_cancel_ends_all_processes_even_stubborn_ones(tmp_path: Path) -> None:
    tool = shell_tool(tmp_path, os.environ, asks=False)
    group = tmp_path / "group"
    command = "trap '' TERM; sleep 1000 & echo $$ > new; mv new group; wait; sleep 1000"
    with trio.fail_after(WAIT_S):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(tool.run, {"command": command})
            await until(group.exists)
            nursery.cancel_scope.cancel()
    await until(lambda: not group_lives(int(group.read_text())))
