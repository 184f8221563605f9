"""What the READMEs of the SDKs tell an author to paste works literally: the plugin and its test."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SDK = Path(__file__).resolve().parents[2] / "sdk"
NODE = shutil.which("node")


def snippets(sdk: str, language: str) -> list[str]:
    text = (SDK / sdk / "README.md").read_text(encoding="utf-8")
    parts = text, text.partition("\n## Tests\n")[2]
    return [re.findall(rf"```{language}\n(.+?)```", part, re.DOTALL)[0] for part in parts]


def ran(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_python(tmp_path: Path) -> None:
    plugin, test = snippets("python", "python")
    (tmp_path / "guard.py").write_text(plugin, encoding="utf-8")
    (tmp_path / "test_guard.py").write_text(test, encoding="utf-8")
    done = ran(tmp_path, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
    assert (done.returncode, "1 passed" in done.stdout) == (0, True), done.stdout
    done = ran(
        tmp_path,
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:sliphook",
    )
    assert "fixture 'plugin_harness' not found" in done.stdout


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_node(tmp_path: Path) -> None:
    assert NODE is not None
    plugin, test = snippets("node", "js")
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "sliphook-sdk").symlink_to(SDK / "node")
    (tmp_path / "guard.mjs").write_text(plugin, encoding="utf-8")
    (tmp_path / "guard.test.mjs").write_text(test, encoding="utf-8")
    done = ran(tmp_path, NODE, "--test", "guard.test.mjs")
    assert done.returncode == 0, done.stdout
    assert "# pass 1" in done.stdout or "pass 1" in done.stdout
