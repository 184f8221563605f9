from __future__ import annotations

import os
import pwd
import re
import shutil
import stat
import subprocess
import sys
from importlib import resources
from pathlib import Path

import pytest

from .conftest import Sliphook

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
# language: its file, what it needs, what runs its test, the example it is the sibling of, and what
# differs
LANGUAGES: dict[str, tuple[str, str, str, str, dict[str, str]]] = {
    "python": (
        "mine.py",
        "python3",
        f"{sys.executable} -m pytest -p no:cacheprovider",
        "guard.py",
        {"@NAME@": "guard"},
    ),
    "node": ("mine.mjs", "node", "node --test", "guard.mjs", {"@NAME@": "guard-node"}),
    "sh": ("mine.sh", "sh", "sh test.sh", "guard.sh", {"@NAME@": "guard-sh"}),
    "c": (
        "mine.c",
        "cc",
        "sh test.sh",
        "guard.c",
        {'"name\\":\\"@NAME@': '"name\\":\\"guard-c', "@NAME@": "guard"},
    ),
    "rust": (
        "mine.rs",
        "rustc",
        "sh test.sh",
        "tests_gate.rs",
        {'"name":"@NAME@': '"name":"tests-gate', "@NAME@": "tests_gate"},
    ),
}


def skip_without(language: str) -> None:
    needs = LANGUAGES[language][1]
    if shutil.which(needs) is None:
        pytest.skip(f"{needs} is not installed")


def ran_in(folder: Path, command: str) -> subprocess.CompletedProcess[str]:
    # rustup looks for its toolchains in the home folder, and the tests have an empty one
    environment = {"RUSTUP_HOME": f"{pwd.getpwuid(os.getuid()).pw_dir}/.rustup", **os.environ}
    return subprocess.run(
        command,
        shell=True,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def written(sliphook: Sliphook, tmp_path: Path, language: str) -> tuple[Path, list[str]]:
    """The folder, and the commands that its README gives."""
    ran = sliphook("new", "mine", "--lang", language)
    assert (ran.status, ran.err) == (0, "")
    folder = tmp_path / "mine"
    readme = (folder / "README.md").read_text(encoding="utf-8")
    commands = [line[2:] for line in readme.splitlines() if line.startswith("$ ")]
    assert [line.strip() for line in ran.out.splitlines() if line.startswith("  ")] == [
        "cd mine",
        *commands,
    ]
    for text in (path.read_text(encoding="utf-8") for path in folder.iterdir()):
        assert not re.search(r"@[A-Z_]+@", text)
    return folder, commands


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_it_writes_passes_the_check_and_its_own_test(
    sliphook: Sliphook, tmp_path: Path, language: str
) -> None:
    skip_without(language)
    file, _, test, _, _ = LANGUAGES[language]
    (tmp_path / "pyproject.toml").write_text(
        "[tool.pytest.ini_options]\naddopts = ['--none-such']\n"
    )
    folder, commands = written(sliphook, tmp_path, language)
    assert file in {path.name for path in folder.iterdir()}
    assert len(list(folder.iterdir())) == (4 if language == "python" else 3)
    assert commands[-1] == test.replace(sys.executable, "python3").removesuffix(
        " -p no:cacheprovider"
    )
    if language in ("c", "rust"):
        built = ran_in(folder, commands.pop(0))
        assert (built.returncode, built.stderr) == (0, "")
    tested = ran_in(folder, test)
    assert tested.returncode == 0, tested.stdout
    program = commands[0].removeprefix("sliphook check ./")
    checked = sliphook("check", folder / program)
    assert checked.status == 0, checked.out
    assert checked.out.splitlines()[-1] in ("mine: 32 passed", "mine: 30 passed, 2 skipped")


@pytest.mark.parametrize("language", LANGUAGES)
def test_its_test_notices_a_plugin_that_is_broken(
    sliphook: Sliphook, tmp_path: Path, language: str
) -> None:
    skip_without(language)
    file, _, test, _, _ = LANGUAGES[language]
    folder, _ = written(sliphook, tmp_path, language)
    text = (folder / file).read_text(encoding="utf-8")
    for right, wrong in (
        ("rm -rf", "nothing"),
        (r"rm\s+-rf", "nothing"),
        ('"continue_with"', '"context"'),
    ):
        text = text.replace(right, wrong)
    (folder / file).write_text(text, encoding="utf-8")
    tested = ran_in(folder, test)
    assert tested.returncode == 1
    assert re.search("FAILED|not ok|✖|# fail 1", tested.stdout), tested.stdout


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_templates_are_the_examples(language: str) -> None:
    _, _, _, example, changes = LANGUAGES[language]
    text = (
        resources.files("sliphook.cli.authoring")
        .joinpath("templates", f"{language}.txt")
        .read_text(encoding="utf-8")
    )
    for mark, name in changes.items():
        text = text.replace(mark, name)
    assert text == (EXAMPLES / example).read_text(encoding="utf-8")


def test_it_says_what_it_has_written_and_what_the_test_needs(
    sliphook: Sliphook, tmp_path: Path
) -> None:
    said = sliphook("new", "mine").out.splitlines()
    assert said[1] == "It keeps an agent's shell from deleting whole trees: `rm -rf` is denied."
    assert said[-1].endswith("for the test `pytest`: `python3 -m pip install pytest`.")
    gate = sliphook("new", "gate", "--lang", "rust").out.splitlines()
    assert gate[:2] == [
        "wrote gate/gate.rs, gate/test.sh, gate/README.md",
        "The agent may not stop before it has spoken of tests.",
    ]
    assert not any("pytest" in line for line in gate)


def test_it_overwrites_nothing(sliphook: Sliphook, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("precious")
    ran = sliphook("new", "mine", "--lang", "sh")
    assert (ran.status, ran.err) == (
        1,
        "sliphook: mine is there already; choose another name, or move it away\n",
    )
    assert (tmp_path / "mine").read_text() == "precious"


@pytest.mark.parametrize("name", ["../x", "Mine", "a b", ""])
def test_names(sliphook: Sliphook, tmp_path: Path, name: str) -> None:
    ran = sliphook("new", name)
    assert ran.status == 2
    assert "cannot be a plugin's name" in ran.err
    assert list(tmp_path.iterdir()) == []


def test_nobody_else_can_change_what_it_makes(sliphook: Sliphook, tmp_path: Path) -> None:
    """Else `install` would not take it."""
    before = os.umask(0)
    try:
        assert sliphook("new", "mine", "--lang", "sh").status == 0
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "mine").stat().st_mode) == 0o755
    assert stat.S_IMODE((tmp_path / "mine" / "mine.sh").stat().st_mode) == 0o755
