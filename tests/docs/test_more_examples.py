"""The examples without an SDK, each in its language: short, and passed by the conformance suite."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import trio

from sliphook import PluginSpec
from sliphook.check import check_plugin

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
MOST_LINES = 46


class Example(NamedTuple):
    """A file, what it needs to run or build, and how it is built.

    {} stands for source and result.
    """

    file: str
    needs: tuple[str, ...]
    build: tuple[str, ...] = ()


WITHOUT_SDK = {
    "sh": Example("guard.sh", ()),
    "sh with jq": Example("guard_jq.sh", ("jq",)),
    "JavaScript": Example("guard.mjs", ("node",)),
    "Perl": Example("guard.pl", ("perl",)),
    "C": Example("guard.c", ("cc",), ("cc", "-O2", "-o", "{result}", "{source}")),
    "Rust": Example("tests_gate.rs", ("rustc",), ("rustc", "-O", "-o", "{result}", "{source}")),
    "Java": Example("clock_java", ("javac",)),
}
WITH_SDK = (
    "guard.py",
    "weather.py",
    "remind.py",
    "clipboard.py",
    "gate.py",
)

Built = Callable[[str], Path]


def with_toolchains() -> dict[str, str]:
    """The environment for Rust: rustup looks for its toolchains in the home folder, and the tests
    have an empty one."""
    rustup = Path(pwd.getpwuid(os.getuid()).pw_dir, ".rustup")
    return {"RUSTUP_HOME": str(rustup), **os.environ} if rustup.is_dir() else dict(os.environ)


@pytest.fixture
def built(tmp_path: Path) -> Built:
    """The executable of an example; skips where its language is not at hand."""

    def build(language: str) -> Path:
        example = WITHOUT_SDK[language]
        missing = [need for need in example.needs if shutil.which(need) is None]
        if missing:
            pytest.skip(f"{', '.join(missing)} is not installed")
        source = EXAMPLES / example.file
        if not example.build:
            return source
        result = tmp_path / source.stem
        command = [part.format(source=source, result=result) for part in example.build]
        done = subprocess.run(
            command,
            env=with_toolchains(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return result

    return build


def answer_of(path: Path, *args: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "sliphook", *args, "--plugin", str(path), "--json"]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report


async def passes(plugin: Path | PluginSpec) -> None:
    with trio.fail_after(120):
        report = await check_plugin(plugin)
    others = [finding for finding in report.findings if finding.verdict != "passed"]
    assert [finding for finding in others if finding.verdict != "skipped"] == []
    # an example gives back no text, and its tool is quick: see `test_sdks.py` for the SDKs
    assert {finding.name for finding in others} <= {
        "utf-8",
        "escapes",
        "cancel-while-running",
        "ping-while-running",
        "request-while-running",
        "shutdown-while-running",
        "exit-while-running",
        "end-of-input-while-running",
    }


@pytest.mark.parametrize("language", WITHOUT_SDK)
def test_without_an_sdk_it_keeps_to_the_protocol(built: Built, language: str) -> None:
    trio.run(passes, built(language))  # not async: a skip inside of a trio test loses its reason


@pytest.mark.parametrize("file", WITH_SDK)
async def test_with_an_sdk_it_keeps_to_the_protocol(file: str) -> None:
    await passes(EXAMPLES / file)


@pytest.mark.parametrize("language", ["sh", "sh with jq", "JavaScript", "Perl", "C"])
def test_the_guards_deny_and_abstain(built: Built, language: str) -> None:
    path = built(language)
    for command, decision in (
        ("rm -rf build", "deny"),
        ('echo "100%" \\ \n \u2028 rm -rf /', "deny"),
        ("ls -l", None),
    ):
        payload = json.dumps({"arguments": {"command": command}})
        assert (
            answer_of(path, "fire", "pre_tool_call", "--payload", payload)["outcome"]["decision"]
            == decision
        ), command


def test_the_gate_in_rust(built: Built) -> None:
    path = built("Rust")
    for said, stop_count, goes_on in (
        ("All done.", 0, True),
        ("The tests pass.", 0, False),
        ("All done.", 1, False),
        (None, 0, True),
    ):
        payload = json.dumps({"stop_count": stop_count, "last_assistant_message": said})
        outcome = answer_of(path, "fire", "stop", "--payload", payload)["outcome"]
        assert (outcome["continue_with"] is not None) == goes_on, said


def test_the_clock_in_java(built: Built) -> None:
    assert answer_of(built("Java"), "call", "clock")["content"].startswith("It is 20")


@pytest.mark.parametrize("language", WITHOUT_SDK)
def test_they_are_short_and_in_the_table(language: str) -> None:
    example = WITHOUT_SDK[language]
    lines = (EXAMPLES / example.file).read_text(encoding="utf-8").splitlines()
    assert len(lines) <= MOST_LINES
    table = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert f"| [{example.file}]({example.file}) | {language} |" in table


def test_the_table_names_every_example() -> None:
    table = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    files = [
        path.name for path in EXAMPLES.iterdir() if path.is_file() and path.name != "README.md"
    ]
    assert len(files) >= 10
    assert [name for name in files if f"[{name}]({name})" not in table] == []
