"""Which Pythons this machine has, of those that the README promises."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

SDK: Final = [(3, minor) for minor in range(9, 16)]
"""What `sliphook-sdk` promises: its `requires-python`, to the newest release of Python."""
HOST: Final = [version for version in SDK if version >= (3, 11)]
"""What `sliphook` promises."""

_ASK: Final = (
    "import os, sys, sysconfig, venv, ensurepip;"
    " print(*sys.version_info[:3], int(bool(sysconfig.get_config_var('Py_GIL_DISABLED'))),"
    " os.path.realpath(sys.executable))"
)


class Interpreter(NamedTuple):
    """A Python that can make virtual environments; they sort by age."""

    version: tuple[int, int, int]
    free_threaded: bool
    path: Path

    @property
    def minor(self) -> tuple[int, int]:
        return self.version[:2]

    def __str__(self) -> str:
        return ".".join(map(str, self.version)) + ("t" if self.free_threaded else "")


def find(folders: list[Path] | None = None) -> list[Interpreter]:
    """Every promised Python once, the latest patch of each, oldest first.

    Args:
        folders: where they may lie; if None, `PATH` and the folders of pyenv and uv.
    """
    best: dict[tuple[tuple[int, int], bool], Interpreter] = {}
    seen = {Path(name).resolve() for name in _candidates(folders)}
    for path in sorted(seen):
        one = _ask(path)
        if one is not None and one.minor in SDK:
            key = one.minor, one.free_threaded
            best[key] = max(one, best.get(key, one))
    return sorted(best.values())


def missing(found: list[Interpreter]) -> list[str]:
    """What is promised and not there, the free-threaded build of the newest included."""
    there = {one.minor for one in found if not one.free_threaded}
    names = [f"{major}.{minor}" for major, minor in SDK if (major, minor) not in there]
    free = any(one.free_threaded for one in found)
    return names if free else [*names, "a free-threaded build"]


def _candidates(folders: list[Path] | None) -> Iterator[Path]:
    if folders is None:
        yield Path(getattr(sys, "_base_executable", sys.executable))
        pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
        folders = [
            *map(Path, filter(None, os.environ.get("PATH", "").split(os.pathsep))),
            *pyenv.glob("versions/*/bin"),
            *(Path.home() / ".local/share/uv/python").glob("*/bin"),
        ]
    for folder in folders:
        for major, minor in SDK:
            for name in (f"python{major}.{minor}", f"python{major}.{minor}t"):
                # a shim of pyenv is a script, and starts what its folder says
                if os.access(folder / name, os.X_OK) and folder.name != "shims":
                    yield folder / name


def _ask(path: Path) -> Interpreter | None:
    """None if it does not start, or cannot make a virtual environment."""
    done = subprocess.run(
        [path, "-I", "-c", _ASK],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if done.returncode:
        return None
    *version, free, real = done.stdout.rstrip("\n").split(" ", 4)
    major, minor, micro = map(int, version)
    return Interpreter((major, minor, micro), free == "1", Path(real))
