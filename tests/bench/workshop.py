"""Builds the programs that are measured: plugins, the peers' commands, the floor's child."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

HERE = Path(__file__).resolve().parent


class Workshop:
    """A folder of executables."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def python(self, kind: str, names: Iterable[str]) -> list[Path]:
        """Copies of `plugins/KIND.py`, each a plugin of its own, run by this interpreter."""
        text = (HERE / "plugins" / f"{kind}.py").read_text()
        made: list[Path] = []
        for name in names:
            path = self._folder / name
            path.write_text(f"#!{sys.executable}\n{text}")
            path.chmod(0o755)
            made.append(path)
        return made

    def bare(self, names: Iterable[str]) -> list[Path]:
        """Copies of the plugin in C.

        The name of each says how it behaves (see `plugins/bare.c`).
        """
        made: list[Path] = []
        for name in names:
            path = self._folder / name
            path.hardlink_to(self._bare)
            made.append(path)
        return made

    def file(self, name: str) -> Path:
        """Where a file may be written."""
        return self._folder / name

    @cached_property
    def echo(self) -> Path:
        """The floor's child."""
        return self._compile("echo")

    @cached_property
    def _bare(self) -> Path:
        return self._compile("bare")

    def _compile(self, name: str) -> Path:
        compiler = shutil.which("cc")
        if compiler is None:
            raise SystemExit(
                "the benchmark needs a C compiler, cc: the floor's child and most plugins are in C"
            )
        path = self._folder / f"{name}.built"
        subprocess.run(
            [compiler, "-O2", "-pthread", "-o", path, HERE / "plugins" / f"{name}.c"], check=True
        )
        return path
