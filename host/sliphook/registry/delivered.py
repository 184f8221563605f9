"""Which package an executable came with, by pip or npm, and what brings its newest version."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Final

import msgspec

from sliphook.files.regular import open_regular
from sliphook.files.search_path import which
from sliphook.quoting import quote
from sliphook.wire.decoding import DECODE_ERRORS

from .errors import RegistryError

__all__ = ["Delivered", "delivered"]

_ASK_S: Final = 30.0
_MAX_BYTES: Final = 1024 * 1024
_ASK_PYTHON: Final = """\
import json, sys
from importlib.metadata import distributions
for dist in distributions():
    if any(e.group == "console_scripts" and e.name == sys.argv[1] for e in dist.entry_points):
        url = json.loads(dist.read_text("direct_url.json") or "{}").get("url")
        print(json.dumps({"name": dist.name, "version": dist.version, "url": url}))
        break
"""


class Delivered(msgspec.Struct, frozen=True, kw_only=True):
    """Where an executable came from.

    Attributes:
        by: `pip` or `npm`.
        package: the package's name.
        version: the version that is there now.
        command: what brings the newest one.
        folder: where that is run.
    """

    by: str
    package: str
    version: str
    command: tuple[str, ...]
    folder: Path


class _Package(msgspec.Struct, frozen=True):
    name: str
    version: str
    url: str | None = None


_PACKAGE: Final = msgspec.json.Decoder(_Package)


def delivered(path: Path) -> Delivered | None:
    """The package that brought the executable; None if it was neither pip nor npm.

    Blocks: it may have to ask a Python.

    Raises:
        RegistryError: it came with a package that no index has, or nothing here can update it.
    """
    return _by_npm(path) or _by_pip(path)


def _by_pip(path: Path) -> Delivered | None:
    python = path.parent / "python3"
    if not os.access(python, os.X_OK):
        return None
    try:
        asked = subprocess.run(
            [python, "-I", "-c", _ASK_PYTHON, path.name],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_ASK_S,
            check=False,
        )
        package = _PACKAGE.decode(asked.stdout)
    except (OSError, subprocess.TimeoutExpired, *DECODE_ERRORS):
        return None
    if package.url is not None:  # an index may have a package of a stranger under that name
        raise RegistryError(
            f"{package.name} was installed from {quote(package.url, 200)}: install it from there"
            " again"
        )
    return Delivered(
        by="pip",
        package=package.name,
        version=package.version,
        command=_upgrading(python, package.name),
        folder=path.parent,
    )


def _upgrading(python: Path, package: str) -> tuple[str, ...]:
    has_pip = subprocess.run(
        [python, "-I", "-c", "import pip"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    if has_pip.returncode == 0:
        return (str(python), "-m", "pip", "install", "--upgrade", package)
    uv = which("uv")
    if uv is None:
        raise RegistryError(f"{quote(str(python), 200)} has no pip, and uv is not on PATH")
    return (uv, "pip", "install", "--python", str(python), "--upgrade", package)


def _by_npm(path: Path) -> Delivered | None:
    """The package of the innermost `node_modules` folder above the file."""
    for folder in path.parents:
        scope = folder.parent if folder.parent.name.startswith("@") else folder
        if scope.parent.name == "node_modules":
            return _npm_package(folder, scope.parent.parent)
    return None


def _npm_package(folder: Path, root: Path) -> Delivered | None:
    try:
        with open(folder / "package.json", "rb", opener=open_regular) as file:
            package = _PACKAGE.decode(file.read(_MAX_BYTES))
    except (OSError, *DECODE_ERRORS):
        return None
    npm = which("npm")
    if npm is None:
        raise RegistryError(f"{quote(package.name, 200)} came with npm, which is not on PATH")
    # PREFIX/lib/node_modules is npm's own folder
    globally = ("--global", "--prefix", str(root.parent)) if root.name == "lib" else ()
    return Delivered(
        by="npm",
        package=package.name,
        version=package.version,
        command=(npm, "install", *globally, f"{package.name}@latest"),
        folder=root,
    )
