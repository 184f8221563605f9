"""What the README tells a newcomer to paste and to type works as it stands there."""

from __future__ import annotations

import ast
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]
README: Final = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS: Final = re.findall(r"^\$ (.+)$", README.partition("## Install\n")[0], re.MULTILINE)
"""Of the first five minutes; those behind are tested in test_install.py."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the README's plugin, pasted and made executable."""
    pasted = re.findall(r"<!-- file: (.+?) -->\n```python\n(.+?)```", README, re.DOTALL)
    assert [name for name, _ in pasted] == ["guard.py"]
    (tmp_path / "guard.py").write_text(pasted[0][1], encoding="utf-8")
    (tmp_path / "guard.py").chmod(0o755)
    return tmp_path


def sliphook(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the installed command in the folder, as a newcomer with an active environment does."""
    command = [str(Path(sys.executable).parent / "sliphook"), *arguments]
    return subprocess.run(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def typed(word: str, has: str = "") -> list[str]:
    """The arguments of the one command of the README that begins with `sliphook WORD`."""
    found = [
        command
        for command in COMMANDS
        if command.startswith(f"sliphook {word} ") and "--model" not in command and has in command
    ]
    assert len(found) == 1
    return shlex.split(found[0])[1:]


def report_of(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def test_the_two_commands_come_first() -> None:
    assert COMMANDS[:2] == ["make demo", "make test"]
    assert re.findall(r"```(?:console|python|sh)", README)[0] == "```console"
    targets = re.findall(
        r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert {"demo", "test"} <= set(targets)


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md"])
def test_what_the_documents_point_at_is_there(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    named = re.findall(r"\]\(([^)#]+)\)", text) + re.findall(
        r"`((?:tests|tools|examples|docs)/[\w./-]*)`", text
    )
    assert len(named) >= 5
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_fire_as_typed_denies(folder: Path) -> None:
    done = sliphook(folder, *typed("fire"))
    assert done.returncode == 0, done.stderr
    assert "deny" in done.stdout
    assert "deleting whole trees is not for agents" in done.stdout


def test_fire_reports_as_the_contract_says(folder: Path) -> None:
    report = report_of(sliphook(folder, *typed("fire"), "--json"))
    assert report["event"] == "pre_tool_call"
    (part,) = report["plugins"]
    assert set(part) >= {
        "name",
        "path",
        "status",
        "decision",
        "reason",
        "elapsed_ms",
        "error",
        "answer",
    }
    assert part["name"] == "guard"
    assert part["status"] == "answered"
    assert part["decision"] == "deny"
    assert (folder / part["path"]).samefile(folder / "guard.py")
    assert 0 < part["elapsed_ms"] < 5000
    assert report["outcome"]["decision"] == "deny"
    assert report["outcome"]["payload"]["arguments"] == {"command": "rm -rf build"}


def test_fire_lets_the_harmless_pass(folder: Path) -> None:
    payload = '{"tool_name": "shell", "arguments": {"command": "ls"}}'
    report = report_of(
        sliphook(
            folder,
            "fire",
            "pre_tool_call",
            "--payload",
            payload,
            "--plugin",
            "./guard.py",
            "--json",
        )
    )
    assert [(part["status"], part["decision"]) for part in report["plugins"]] == [
        ("answered", None)
    ]
    assert report["outcome"]["decision"] is None


def test_call_as_typed_answers(folder: Path) -> None:
    done = sliphook(folder, *typed("call"))
    assert done.returncode == 0, done.stderr
    assert "It is cold in Oslo, take a coat." in done.stdout


def test_the_guard_is_seen_to_deny_in_an_agent(folder: Path) -> None:
    done = sliphook(folder, *typed("run", "--shell"))
    assert done.returncode == 0, done.stderr
    assert "denied: shell: guard: deleting whole trees is not for agents\n" in done.stderr
    # there is no terminal here
    assert "denied: shell: host: a person must approve this" in done.stderr
    done = sliphook(folder, *typed("run", "--shell"), "--yes")
    assert "guard.py" in done.stdout


def test_run_as_typed_calls_the_tool_and_traces(folder: Path) -> None:
    done = sliphook(folder, *typed("run", "--trace"))
    assert done.returncode == 0, done.stderr
    assert "It is cold in Oslo, take a coat." in done.stdout
    for method in ("initialize", "tool/call", "shutdown", "exit"):
        assert method in done.stderr
    assert re.search(r"→ guard +hook/pre_tool_call", done.stderr)


def test_the_embedding_snippet_runs(folder: Path) -> None:
    (snippet,) = [
        text
        for text in re.findall(r"```python\n(.+?)```", README, re.DOTALL)
        if "PluginHost" in text
    ]
    assert ast.parse(snippet)
    done = subprocess.run(
        [sys.executable, "-c", snippet],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout == "It is cold in Oslo, take a coat.\n"


def test_check_and_new_as_typed(folder: Path) -> None:
    done = sliphook(folder, *typed("check"))
    assert done.returncode == 0, done.stdout
    assert "FAILED" not in done.stdout
    done = sliphook(folder, *typed("new"))
    assert done.returncode == 0, done.stderr
    assert {path.name for path in (folder / "my-guard").iterdir()} == {
        "my-guard.sh",
        "test.sh",
        "README.md",
    }
