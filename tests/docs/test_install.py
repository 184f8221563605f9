"""The README's section on installing: its commands, in its order, literally."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Final, cast

import pytest

from sliphook.cli.main import main
from sliphook.installed import Installed

ROOT: Final = Path(__file__).resolve().parents[2]
README: Final = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS: Final = re.findall(
    r"^\$ (.+)$", README.partition("## Install\n")[2].partition("\n## ")[0], re.MULTILINE
)


class Newcomer:
    """Types one command after the other. What asks a question is answered with yes."""

    def __init__(self, output: pytest.CaptureFixture[str]) -> None:
        self._output = output
        self._left = list(COMMANDS)

    def types(self, begin: str, status: int = 0) -> str:
        """The next command, which begins so; returns what it prints."""
        command = self._left.pop(0)
        assert command.startswith(begin), f"the README says {command!r}"
        if command.startswith("pip install "):
            pip_install(*shlex.split(command)[2:])
            return ""
        if not command.startswith("sliphook "):
            subprocess.run(command, shell=True, check=True, timeout=120)
            return ""
        words = shlex.split(command)[1:]
        assert main([*words, "--yes"] if words[0] in ("install", "trust") else words) == status
        printed = self._output.readouterr()
        return printed.out + printed.err

    @property
    def is_done(self) -> bool:
        return not self._left


def pip_install(path: str) -> None:
    """What the user's pip does, without a package index.

    It installs into a new environment that sees the packages of this one.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "env"], check=True, timeout=120)
    (packages,) = Path("env/lib").glob("python*/site-packages")
    (packages / "beside.pth").write_text(
        f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n", encoding="utf-8"
    )
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        "env/bin/python",
        "install",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
    ]
    subprocess.run([*pip, str(ROOT / path)], check=True, timeout=120)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the README's plugin, and a user without any files."""
    for name in ("DATA", "STATE", "CONFIG"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    monkeypatch.setattr("sliphook.doctor.system.REAPER_S", 120.0)  # a busy machine has no problem
    (pasted,) = re.findall(r"<!-- file: guard.py -->\n```python\n(.+?)```", README, re.DOTALL)
    (tmp_path / "guard.py").write_text(pasted, encoding="utf-8")
    (tmp_path / "guard.py").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'env' / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_an_agent_that_starts_what_is_installed(folder: Path) -> None:
    (snippet,) = re.findall(
        r"```python\n(.+?)```",
        (ROOT / "docs" / "settings.md").read_text(encoding="utf-8"),
        re.DOTALL,
    )
    names: dict[str, object] = {}
    exec(snippet, names)
    found = cast(Installed, names["found"])
    assert (found.specs, found.missing, found.ignored) == ((), (), ())
    assert type(names["host"]).__name__ == "PluginHost"


def installed(output: pytest.CaptureFixture[str]) -> dict[str, str]:
    """The state of each installed plugin."""
    assert main(["list", "--json"]) == 0
    return {
        plugin["name"]: plugin["state"] for plugin in json.loads(output.readouterr().out)["plugins"]
    }


@pytest.mark.skipif(
    shutil.which("cc") is None,
    reason="one of the three plugins is written in C, and there is no compiler",
)
def test_three_plugins_of_three_kinds(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    newcomer = Newcomer(capsys)
    assert "installed guard" in newcomer.types("sliphook install ./guard.py")
    newcomer.types("sliphook new c-guard --lang c")
    newcomer.types("cc ")
    assert "installed c-guard" in newcomer.types("sliphook install c-guard/")
    newcomer.types("pip install ")
    assert "greeter" in newcomer.types("sliphook list --available")
    assert "installed greeter" in newcomer.types("sliphook install greeter")
    listed = newcomer.types("sliphook list")
    assert [
        name for name in re.findall(r"\S+", listed) if name in ("guard", "c-guard", "greeter")
    ] == ["guard", "c-guard", "greeter"]
    newcomer.types("sliphook disable c-guard")
    assert installed(capsys) == {"guard": "enabled", "c-guard": "disabled", "greeter": "enabled"}

    newcomer.types("echo ")
    assert "sliphook trust guard" in newcomer.types("sliphook list")
    assert installed(capsys) == {"guard": "refused", "c-guard": "disabled", "greeter": "enabled"}
    refused = newcomer.types("sliphook run ")
    assert "plugin guard did not start: its file " in refused
    assert "run: sliphook trust guard" in refused
    assert "denied: greet: guard: guard is refused" in refused
    assert "Good morning" not in refused

    newcomer.types("sliphook trust guard")
    assert installed(capsys) == {"guard": "enabled", "c-guard": "disabled", "greeter": "enabled"}
    ran = newcomer.types("sliphook run ")
    assert "Good morning, Ada." in ran
    assert "did not start" not in ran
    assert newcomer.is_done
    assert main(["doctor"]) == 0
