"""Type checkers find what an author gets wrong, on its line, and nothing else.

A wrong use is a line with a comment `wrong: NAME`.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
WRONG = HERE / "wrong"
NODE_SDK = HERE.parents[1] / "sdk" / "node"
NODE, TSC = shutil.which("node"), shutil.which("tsc")
PATIENCE_S = 240


def marked(path: Path) -> dict[int, str]:
    """The wrong uses by their lines."""
    lines = path.read_text(encoding="utf-8").splitlines()
    found = {at: re.search(r"(?:#|//) wrong: (.+)", line) for at, line in enumerate(lines, 1)}
    return {at: match[1] for at, match in found.items() if match is not None}


def run(folder: Path, *command: str) -> str:
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.stdout, done.stderr
    return done.stdout


def told(path: Path, lines: set[int], said: str) -> None:
    """The checker has found all of the wrong uses, and nothing on other lines."""
    wrong = marked(path)
    assert [name for at, name in wrong.items() if at not in lines] == [], said
    assert sorted(lines - wrong.keys()) == [], said


def test_the_wrong_uses_are_named() -> None:
    python, node = (set(marked(WRONG / f"author.{end}").values()) for end in ("py", "mts"))
    assert len(python) >= 20
    assert len(node) >= 20
    # what only one language can get wrong
    assert python - node == {
        "the answer of another hook",
        "the blocking ctx in an async function",
        "the awaited ctx in a plain function",
    }
    assert node - python == {"a misspelt option"}


def test_mypy(tmp_path: Path) -> None:
    shutil.copy(WRONG / "author.py", tmp_path)
    said = run(tmp_path, sys.executable, "-m", "mypy", "--strict", "author.py")
    told(
        WRONG / "author.py",
        {int(at) for at in re.findall(r"^author\.py:(\d+): error", said, re.MULTILINE)},
        said,
    )


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_pyright(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("author.py", "unannotated.py")
    for name in names:
        shutil.copy(WRONG / name, tmp_path)
    (tmp_path / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}')
    monkeypatch.setenv("PYRIGHT_PYTHON_IGNORE_WARNINGS", "1")
    command = (sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable)
    said = run(tmp_path, *command)
    errors: list[dict[str, Any]] = json.loads(said)["generalDiagnostics"]
    for name in names:
        lines = {
            error["range"]["start"]["line"] + 1
            for error in errors
            if error["severity"] == "error" and Path(error["file"]).name == name
        }
        told(WRONG / name, lines, said)


@pytest.mark.skipif(TSC is None, reason="the TypeScript compiler (tsc) is not installed")
def test_tsc(tmp_path: Path) -> None:
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "sliphook-sdk").symlink_to(NODE_SDK)
    shutil.copy(WRONG / "author.mts", tmp_path)
    assert TSC is not None
    options = [
        "--module",
        "nodenext",
        "--target",
        "es2022",
        "--lib",
        "es2022,dom",
        "--strict",
        "--noEmit",
    ]
    said = run(tmp_path, TSC, *options, "--pretty", "false", "author.mts")
    lines = {int(at) for at in re.findall(r"^author\.mts\((\d+),", said, re.MULTILINE)}
    told(WRONG / "author.mts", lines, said)
