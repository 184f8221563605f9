"""Hooks of another agent's configuration: tried, installed, changed, trusted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sliphook.registry import Registry
from tests.adapters.foreign.made import command, script, settings_json
from tests.registry.conftest import Run

HOOKS = {
    "PreToolUse": [
        command("./check.sh", matcher="Bash", timeout=5, onFailure="block"),
        command("./check.sh", matcher="TodoWrite"),
    ],
    "Stop": [{"hooks": [{"type": "prompt", "prompt": "is it done?"}]}],
    "PreCompact": [command("true")],
    "UserPromptSubmit": [{"hooks": [{"type": "http", "url": "https://a.example/x"}]}],
}
CALL = {"tool_name": "sh", "tool_kind": "shell", "arguments": {"command": "rm -rf x"}}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    script(tmp_path / "check.sh", "#!/bin/sh\necho no trees >&2\nexit 2\n")
    return settings_json(tmp_path, HOOKS)


def test_they_are_tried(run: Run, config: Path) -> None:
    ran = run("fire", "pre_tool_call", "--hooks", config, "--payload", json.dumps(CALL), "--json")
    assert json.loads(ran.out)["outcome"]["decision"] == "deny"
    assert ran.err.splitlines() == [
        "sliphook: refused: Stop, prompt: is it done?: it asks a model of the agent that it was"
        " written for.",
        "sliphook: refused: UserPromptSubmit, https://a.example/x: a.example is not among"
        " foreign.http_hosts of config.toml.",
        "sliphook: never comes here: PreCompact: No hook or event here tells of it.",
        "sliphook: may never run: PreToolUse on TodoWrite: only a tool of that very name fits; to"
        " name one, set foreign.tools.TOOL = {as = 'TodoWrite'} in config.toml",
    ]


def test_the_whole_life_of_installed_hooks(run: Run, config: Path) -> None:
    ran = run("install", "--hooks", config, "--yes", "--grant", "notify")
    assert ran.status == 0
    assert ran.out.splitlines()[0] == "installed claude-code-hooks"
    for line in (
        f"{config}: hooks of Claude Code",
        "  PreToolUse, on Bash, 5 s, denies if it fails",
        "    ./check.sh",
        "  never comes here: PreCompact: No hook or event here tells of it.",
        str(config.parent.parent / "check.sh"),
    ):
        assert line in ran.err.splitlines()
    plugin = Registry().get("claude-code-hooks")
    assert plugin.recorded.made is not None
    assert list(plugin.recorded.made.files) == [str(config.parent.parent / "check.sh")]
    assert "claude-code-hooks  0  enabled" in run("list").out

    # what else the file has does not count
    config.write_text(json.dumps({"hooks": HOOKS, "model": "other"}))
    doctor = json.loads(run("doctor", "--json").out)
    assert [one for one in doctor["findings"] if "were approved" in one["what"]] == []
    notes = [one["what"] for one in doctor["findings"] if one["about"] == "claude-code-hooks"]
    assert "may never run: PreToolUse on TodoWrite: only a tool of that very name fits" in (
        " ".join(notes)
    )
    more = HOOKS | {"SessionEnd": [command("true")]}
    config.write_text(json.dumps({"hooks": more}))
    assert "are not those that were approved" in run("doctor").out
    ran = run("trust", "claude-code-hooks", "--yes")
    assert ran.status == 0
    assert "  SessionEnd, 1.5 s" in ran.err.splitlines()
    assert "were approved" not in run("doctor").out

    (config.parent.parent / "check.sh").write_text("#!/bin/sh\nexit 0\n")
    assert "claude-code-hooks  0  refused" in run("list").out


def test_what_cannot_be_installed(run: Run, tmp_path: Path, config: Path) -> None:
    ran = run("install", "--hooks", config, "x", "--yes")
    assert ran.status == 2
    ran = run("install", "--hooks", tmp_path / "none.json", "--yes")
    assert ran.status == 1
    assert ran.err.startswith("sliphook: --hooks: ")
    empty = settings_json(tmp_path / "b", {})
    ran = run("install", "--hooks", empty, "--yes")
    assert (ran.status, "has no hooks" in ran.err) == (1, True)
