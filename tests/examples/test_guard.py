"""examples/guard under a host, in `sliphook run`, and its log."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trio

from sliphook import PluginHost, PluginSpec
from tests.docs.test_more_examples import passes
from tests.programs import WAIT_S

from .judging import GUARD, NO_TREES, Judge, judging
from .whole_agent import sliphook_run


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judge]:
    with judging(tmp_path_factory.mktemp("guard").resolve()) as judge:
        yield judge


async def test_it_keeps_to_the_protocol() -> None:
    await passes(GUARD)


def decisions() -> list[dict[str, Any]]:
    """All that the log has of the processes of this test."""
    (log,) = Path(os.environ["XDG_DATA_HOME"]).rglob("decisions.jsonl")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    log.unlink()
    return lines


def spec(tmp_path: Path, policy: str) -> PluginSpec:
    (tmp_path / "policy.toml").write_text(policy)
    return PluginSpec(GUARD, config={"policy": str(tmp_path / "policy.toml")})


async def never(arguments: dict[str, Any]) -> str:
    raise AssertionError(f"it was run: {arguments}")


async def fine(arguments: dict[str, Any]) -> str:
    return "fine"


async def test_under_a_host(tmp_path: Path) -> None:
    """Denied, logged, in a child agent too; the policy is taken up again; a dead guard denies."""
    tree, hello = {"command": "sudo rm -r build"}, {"command": "echo hello"}
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([spec(tmp_path, NO_TREES)]) as host,
            host.session(cwd=tmp_path) as session,
            session.turn("tidy up") as turn,
        ):
            call = turn.call_tool
            outcome = await call("Bash", tree, run=never, tool_kind="shell")
            assert (outcome.status, "no trees (rm -r build)" in outcome.text()) == ("denied", True)
            assert (await call("Bash", hello, run=fine, tool_kind="shell")).status == "ok"
            async with turn.subagent("help") as child:
                outcome = await child.call_tool("Bash", tree, run=never, tool_kind="shell")
                assert outcome.status == "denied"
            (tmp_path / "policy.toml").write_text("default = 'allow'")
            outcome = await call("Bash", hello, run=never, tool_kind="shell")
            assert "line 1: unknown is missing" in outcome.text()
            (tmp_path / "policy.toml").unlink()
            assert (await call("Read", {}, run=never, tool_kind="read")).status == "denied"
            (tmp_path / "policy.toml").write_text(NO_TREES)
            assert (await call("Bash", hello, run=fine, tool_kind="shell")).status == "ok"
    lines = decisions()
    assert [(one["decision"], one["rule_line"], one["agent_depth"]) for one in lines] == [
        ("deny", 4, 0),
        ("allow", None, 0),
        ("deny", 4, 1),
        ("deny", None, 0),
        ("deny", None, 0),
        ("allow", None, 0),
    ]
    assert lines[0]["arguments"] == json.dumps(tree)


def test_the_log_is_bounded(judge: Judge) -> None:
    data, harness = judge.data, judge.harness
    log = data / "decisions.jsonl"
    for number in range(6):
        log.write_text(f"{number}" * 1_048_500)
        judge.decides(NO_TREES, "echo " + "x" * 9_000)
    sizes = sorted(path.stat().st_size for path in data.glob("decisions.jsonl*"))
    assert (len(sizes), sizes[1:], sizes[0] < 3_000) == (4, [1_048_500] * 3, True)
    assert (data / "decisions.jsonl.1").read_text()[0] == "5"
    log.unlink()
    log.mkdir()  # it cannot be written
    before = len(harness.logs)
    assert judge.decides(NO_TREES, "rm -r x") == "deny"
    assert "is not in the log" in harness.logs[before].message
    log.rmdir()


async def test_two_agents_write_one_log(tmp_path: Path) -> None:
    async def calls() -> None:
        async with (
            PluginHost([spec(tmp_path, NO_TREES)]) as host,
            host.session(cwd=tmp_path) as session,
            session.turn("go") as turn,
        ):
            for _ in range(20):
                await turn.call_tool("Bash", {"command": "ls"}, run=fine, tool_kind="shell")

    with trio.fail_after(WAIT_S):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(calls)
            nursery.start_soon(calls)
    assert [one["decision"] for one in decisions()] == ["allow"] * 40


def test_in_sliphook_run(tmp_path: Path) -> None:
    """The agent of the command line, with its shell."""
    (tmp_path / "build").mkdir()
    (tmp_path / "policy.toml").write_text(NO_TREES)
    prompt = 'TOOL shell {"command": "echo $(rm -r build)"} TOOL shell {"command": "echo hello"}'
    words = [prompt, "--shell", "--yes", "--plugin", str(GUARD), "--json"]
    done = sliphook_run(*words, "--config", f"policy={tmp_path}/policy.toml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    said = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["type"] for one in said].count("denied") == 1
    assert "no trees" in done.stdout
    assert (tmp_path / "build").exists()
