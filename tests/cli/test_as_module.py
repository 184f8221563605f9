"""`python -m sliphook` in a folder of someone else's: its modules are not imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.programs import WAIT_S


@pytest.mark.parametrize("flags", [[], ["-P"]])
def test_modules_of_the_current_folder_are_not_imported(flags: list[str], tmp_path: Path) -> None:
    for name in ("trio", "msgspec", "click", "httpx", "attr"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported')\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, *flags, "-m", "sliphook", "run", "hello"],
        cwd=tmp_path,
        capture_output=True,
        timeout=WAIT_S,
        check=False,
    )
    assert done.stderr.decode() == ""
    assert done.stdout.decode().endswith("You said: hello\n")
    assert done.returncode == 0
