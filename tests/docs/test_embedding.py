"""What docs/embedding.md tells to copy runs as it stands there, with a real plugin."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.programs import Workshop, case_of

ROOT: Final = Path(__file__).resolve().parents[2]
PAGE: Final = (ROOT / "docs" / "embedding.md").read_text(encoding="utf-8")
FILES: Final[dict[str, str]] = dict(
    re.findall(r"<!-- file: (.+?) -->\n```python\n(.+?)```", PAGE, re.DOTALL)
)
GUARD: Final = ROOT / "examples" / "guard.py"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the page's files, pasted."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def python(folder: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_the_page_has_all_its_programs() -> None:
    assert list(FILES) == [
        "agent.py",
        "threads.py",
        "aio.py",
        "installed.py",
        "halves.py",
        "submitted.py",
        "told.py",
        "test_agent.py",
    ]


def test_the_loop_is_short_enough_to_read_at_once() -> None:
    """About thirty statements; at 100 columns the calls with many keywords take several lines."""
    body = FILES["agent.py"].partition("async def one_turn")[2].partition("\n\n\n")[0].splitlines()
    assert len(body) <= 45


def test_the_loop_prints_what_the_page_says(folder: Path) -> None:
    (printed,) = re.findall(r"\$ python agent\.py examples/guard\.py\n(.+?)```", PAGE, re.DOTALL)
    done = python(folder, "agent.py", GUARD)
    assert (done.stdout, done.stderr) == (printed, "")


@pytest.mark.parametrize("name", ["threads.py", "aio.py"])
def test_the_other_faces_do_the_same(folder: Path, name: str) -> None:
    done = python(folder, name, GUARD)
    assert (done.stdout, done.stderr) == ("denied\nran ls\ninterrupted\n", "")


def test_a_call_in_two_halves(folder: Path) -> None:
    done = python(folder, "halves.py", GUARD)
    assert (done.stdout, done.stderr) == (
        "denied the call of shell was denied: guard: deleting whole trees is not for agents\n"
        "ok ran ls\n",
        "",
    )


def test_an_agent_is_told_of_an_interrupt(folder: Path) -> None:
    done = python(folder, "told.py")
    assert (done.stdout, done.stderr) == ("stop: new_message\ninterrupted\n", "")


def test_an_agent_reads_what_is_installed(folder: Path) -> None:
    done = python(folder, "installed.py")
    assert (done.stdout, done.stderr) == ("[]\n[]\n", "")


def test_the_tests_pass(folder: Path) -> None:
    done = python(
        folder, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:trio", "test_agent.py"
    )
    assert "2 passed" in done.stdout, done.stdout + done.stderr


def test_a_message_of_a_plugin_is_taken(folder: Path) -> None:
    submits = "request(1, 'host/submit', session_key='main', text='look')"
    plugin = Workshop(folder).program(
        "remind",
        hears=["session_start"],
        uses=["submit"],
        on=case_of("hook/session_start", submits),
    )
    with subprocess.Popen(
        [sys.executable, "submitted.py", plugin.path], cwd=folder, stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        try:
            assert running.stdout.readline() == "remind: 'look'\n"
        finally:
            running.terminate()
