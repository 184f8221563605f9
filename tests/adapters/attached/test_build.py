"""The command that an agent runs."""

from __future__ import annotations

import os
import shutil
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


@pytest.mark.parametrize("works", [True, False])
def test_musl_is_preferred_to_a_libc_that_starts_slowly(
    works: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    musl = tmp_path / "musl-gcc"
    asked = tmp_path / "asked"
    then = f'exec {shutil.which("cc")} "$@"' if works else "exit 1"
    musl.write_text(f'#!/bin/sh\necho "$@" >> {asked}\n{then}\n')
    musl.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert build().compiled
    [once] = asked.read_text().splitlines()
    assert once.startswith("-O2 -static -o ")
