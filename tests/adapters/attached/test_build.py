"""The command that an agent runs."""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sliphook.adapters.attached.build import Client, build


def test_a_shell_does_not_stay_in_front_of_the_client() -> None:
    client = Client(("/home/ada/a b/client",), compiled=True)
    assert client.command("codex", "Stop", closed=False) == "exec '/home/ada/a b/client' codex Stop"
    # whether Cursor has a shell is not known
    assert client.command("cursor", "stop", closed=True) == (
        "'/home/ada/a b/client' cursor stop --closed"
    )


@pytest.mark.parametrize("fails", ["-nostdlib", "-static"])
def test_a_way_to_compile_that_fails_is_followed_by_the_next(
    fails: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    compiler = tmp_path / "odd-cc"
    asked = tmp_path / "asked"
    # as if the system had no such library, or could not run what is made
    odd = "ln -s /bin/true" if fails == "-nostdlib" else "exit 1;"
    compiler.write_text(
        f'#!/bin/sh\necho "$@" >> {asked}\n'
        f'case "$*" in *{fails}*) for last; do :; done; {odd} "${{last%.c}}"; exit;; esac\n'
        f'exec {shutil.which("cc")} "$@"\n'
    )
    compiler.chmod(0o755)
    found = build(compiler=str(compiler))
    assert found.compiled
    assert subprocess.run(found.words, check=False).returncode == 64
    assert len(asked.read_text().splitlines()) == {"-nostdlib": 2, "-static": 3}[fails]


@pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64", reason="there alone it is made so"
)
def test_the_client_has_no_c_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without this, a fault in it would only make each hook slower."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    (program,) = build().words
    made = Path(program).read_bytes()
    assert made.startswith(b"\x7fELF")
    assert b"GLIBC" not in made
    assert len(made) < 100_000
