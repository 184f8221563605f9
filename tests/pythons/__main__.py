"""`python -m tests.pythons`: the SDK on the oldest Python that is found, both on the newest.

It says which it tried and which of the promised ones are not here. `--all` tries every one.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from tests.pythons.found import HOST, Interpreter, find, missing

ROOT: Final = Path(__file__).resolve().parents[2]
SDK_ROOMS: Final = ["tests/sdk"]
HOST_ROOMS: Final = ["tests/wire", "tests/process", "tests/portal", "tests/files"]
"""What differs from Python to Python: texts of errors, processes, threads, forks, signals."""


def main(arguments: list[str]) -> int:
    """Returns 1 if a test failed."""
    found, mine = find(), sys.version_info[:2]
    absent = missing(found)
    print(f"Found: {', '.join(map(str, found))}. Not found: {', '.join(absent) or 'none'}.")
    hosts = [one for one in found if one.minor in HOST]
    olds = found if "--all" in arguments else found[:1]
    news = hosts if "--all" in arguments else hosts[-1:]
    tried, failed = list[str](), list[str]()

    def step(name: str, run: Callable[[Path], bool], environment: Path) -> None:
        print(f"\n--- {name}", flush=True)
        begun = time.monotonic()
        (tried if run(environment) else failed).append(name)
        print(f"{time.monotonic() - begun:.0f} s", flush=True)

    for one in olds:
        if one.minor == mine and "--all" not in arguments:
            print(f"{one} is the oldest here, and `make test` runs the SDK's tests on it.")
            continue
        environment = _environment(one, ["sdk/python[test]", "examples/greeter"])
        step(f"the SDK's tests on {one}", _sdk_tests, environment)
        step(f"plugins on {one} under the host on {_version()}", _plugins, environment)
    for one in news:
        if one.minor == mine and "--all" not in arguments:
            print(f"{one} is the newest here, and `make test` runs all tests on it.")
            continue
        environment = _environment(one, ["sdk/python[test]", ".[test]"])
        step(f"the SDK's and the host's tests on {one}", _host_tests, environment)

    print(f"\nTried: {'; '.join(tried) or 'nothing beside `make test`'}.")
    print(f"Promised and not tried, since not found: {', '.join(absent) or 'none'}.")
    if failed:
        print(f"FAILED: {'; '.join(failed)}.")
    return 1 if failed else 0


def _version() -> str:
    return ".".join(map(str, sys.version_info[:3]))


def _environment(one: Interpreter, projects: list[str]) -> Path:
    """The `bin` of a virtual environment with these projects, editable."""
    home = ROOT / "build" / "pythons" / str(one)
    python = home / "bin" / "python"
    if not python.exists():
        subprocess.run([one.path, "-m", "venv", "--clear", home], check=True)
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command += [part for project in projects for part in ("-e", project)]
    subprocess.run(command, cwd=ROOT, check=True)
    return python.parent


def _sdk_tests(at: Path) -> bool:
    options = [
        "-c",
        "tests/pythons/sdk_alone.ini",
        "--rootdir",
        ".",
        "--confcutdir",
        "tests",
        "-q",
        "-n",
        "auto",
    ]
    return _passes([at / "python", "-m", "pytest", *options, *SDK_ROOMS])


def _host_tests(at: Path) -> bool:
    rooms = [
        *SDK_ROOMS,
        *HOST_ROOMS,
        *sorted(str(path) for path in Path("tests").glob("test_*.py")),
    ]
    return _passes([at / "python", "-m", "pytest", "-q", "-n", "auto", *rooms])


def _plugins(at: Path) -> bool:
    """The examples pass `sliphook check`; what `sliphook new` writes passes it and its own test."""
    path = f"{at}{os.pathsep}{os.environ['PATH']}"
    sliphook = [sys.executable, "-m", "sliphook"]
    with tempfile.TemporaryDirectory() as folder:
        fresh = [*sliphook, "new", "mine", "--lang", "python"]
        passed = _passes(fresh, cwd=folder, path=path)
        own_test: list[str | Path] = [at / "python", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        passed &= _passes(own_test, cwd=f"{folder}/mine", path=path)
        examples = sorted((ROOT / "examples").glob("*.py"))
        for plugin in (*examples, at / "sliphook-plugin-greeter", Path(folder, "mine/mine.py")):
            passed &= _passes([*sliphook, "check", plugin], cwd=folder, path=path)
    return passed


def _passes(
    command: Sequence[str | Path], *, cwd: str | Path = ROOT, path: str | None = None
) -> bool:
    environment = dict(os.environ) if path is None else {**os.environ, "PATH": path}
    return subprocess.run(command, cwd=cwd, env=environment, check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
