"""Writes the demo's plugins as executables: installers may drop the right to execute."""

from __future__ import annotations

import contextlib
import shlex
import sys
from collections.abc import Generator
from importlib import resources
from pathlib import Path
from typing import Final, NamedTuple

from sliphook.files.private import temporary_folder

__all__ = ["PLUGINS", "Stage", "set_stage"]

PLUGINS: Final = ("guard", "weather", "sleeper", "fragile")


class Stage(NamedTuple):
    """The files of the demo.

    Attributes:
        plugins: the plugins' executables, in the order of `PLUGINS`.
        data_home: the folder for the plugins' data, apart from those of the user's plugins.
        log_dir: the same for their logs.
    """

    plugins: list[Path]
    data_home: Path
    log_dir: Path


@contextlib.contextmanager
def set_stage() -> Generator[Stage]:
    """Write everything to a temporary folder, which is removed at the end of the block."""
    with temporary_folder("sliphook-demo-") as folder:
        yield Stage(
            plugins=[_write(folder, name) for name in PLUGINS],
            data_home=folder / "data",
            log_dir=folder / "logs",
        )


def _write(folder: Path, name: str) -> Path:
    source = folder / f"{name}.py"
    source.write_bytes(
        resources.files("sliphook.cli.demo").joinpath("plugins", source.name).read_bytes()
    )
    path = folder / name
    # a `#!` line with Python's path would fail if the path is long or holds a space
    path.write_text(
        f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {shlex.quote(str(source))} "$@"\n',
        encoding="utf-8",
    )
    path.chmod(0o700)
    return path
