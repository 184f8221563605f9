from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from importlib import resources
from pathlib import Path

import pytest

from .conftest import Sliphook

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
# language: its file, what it needs, the example it is the sibling of, and what differs
LANGUAGES = {
    "python": ("mine.py", "python3", "guard.py", {"@NAME@": "guard"}),
    "node": ("mine.mjs", "node", "guard.mjs", {"@NAME@": "guard-node"}),
    "sh": ("mine.sh", "sh", "guard.sh", {"@NAME@": "guard-sh"}),
    "c": ("mine.c", "cc", "guard.c", {'"name\\":\\"@NAME@': '"name\\":\\"guard-c', "@NAME@": "guard"}),
    "rust": ("mine.rs", "rustc", "tests_gate.rs", {'"name":"@NAME@': '"name":"tests-gate', "@NAME@": "tests_gate"}),
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_it_writes_passes_the_check(sliphook: Sliphook, tmp_path: Path, language: str) -> None:
    file, needs, _, _ = LANGUAGES[language]
    if shutil.which(needs) is None:
        pytest.skip(f"{needs} is not installed")
    ran = sliphook("new", "mine", "--lang", language)
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.startswith(f"wrote {file}\n\nTry it:\n")
    build, check = (
        [line.strip() for line in ran.out.splitlines() if line.startswith("  ")][-3:-1] if language in ("c", "rust") else ("", "")
    )
    path = tmp_path / file
    if build:
        assert check == "sliphook check ./mine"
        # rustup looks for its toolchains in the home folder, and the tests have an empty one
        environment = {"RUSTUP_HOME": f"{pwd.getpwuid(os.getuid()).pw_dir}/.rustup", **os.environ}
        subprocess.run(build, shell=True, cwd=tmp_path, env=environment, check=True, timeout=50)
        path = tmp_path / "mine"
    checked = sliphook("check", path)
    assert checked.status == 0, checked.out
    assert checked.out.endswith("mine: 21 passed\n")


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_templates_are_the_examples(language: str) -> None:
    _, _, example, changes = LANGUAGES[language]
    text = resources.files("sliphook").joinpath("templates", f"{language}.txt").read_text(encoding="utf-8")
    for mark, name in changes.items():
        text = text.replace(mark, name)
    assert text == (EXAMPLES / example).read_text(encoding="utf-8")


def test_it_overwrites_nothing(sliphook: Sliphook, tmp_path: Path) -> None:
    (tmp_path / "mine.sh").write_text("precious")
    ran = sliphook("new", "mine", "--lang", "sh")
    assert (ran.status, ran.err) == (1, "sliphook: mine.sh is there already; choose another name, or move it away\n")
    assert (tmp_path / "mine.sh").read_text() == "precious"


@pytest.mark.parametrize("name", ["../x", "Mine", "a b", ""])
def test_names(sliphook: Sliphook, tmp_path: Path, name: str) -> None:
    ran = sliphook("new", name)
    assert ran.status == 2
    assert "cannot be a plugin's name" in ran.err
    assert list(tmp_path.iterdir()) == []
