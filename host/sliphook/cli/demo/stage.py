"""The demo's plugins as executables: they ship as source, for an installer may drop the right to execute, and are made so when it runs."""

from __future__ import annotations

import contextlib
import shlex
import sys
import tempfile
from collections.abc import Generator
from importlib import resources
from pathlib import Path
from typing import Final, NamedTuple

__all__ = ["PLUGINS", "Stage", "set_stage"]

PLUGINS: Final = ("guard", "weather", "sleeper", "fragile")


class Stage(NamedTuple):
    """Where the demo plays.

    Attributes:
        plugins: The plugins' executables, in the order of `PLUGINS`.
        data_home: Where the plugins' own folders are: not among those of the user's plugins.
    """

    plugins: list[Path]
    data_home: Path


@contextlib.contextmanager
def set_stage() -> Generator[Stage]:
    """Everything in a folder of its own, which goes when the block is left."""
    with tempfile.TemporaryDirectory(prefix="sliphook-demo-") as folder:
        yield Stage(
            plugins=[_write(Path(folder), name) for name in PLUGINS], data_home=Path(folder, "data")
        )


def _write(folder: Path, name: str) -> Path:
    source = folder / f"{name}.py"
    source.write_bytes(
        resources.files("sliphook.cli.demo").joinpath("plugins", source.name).read_bytes()
    )
    path = folder / name
    # Not Python's own `#!` line: the kernel takes no path with a space there, and no long one.
    path.write_text(
        f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {shlex.quote(str(source))} "$@"\n',
        encoding="utf-8",
    )
    path.chmod(0o700)
    return path
