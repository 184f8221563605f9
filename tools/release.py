"""`make release`: all that a release needs, but for the upload.

Versions and CHANGELOG agree, the wheels, sdists and the npm package are built and complete, and all
three work together in a fresh environment.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent
_SECTIONS: Final = ("Protocol", "Host", "SDK")
_PLUGIN: Final = """\
#!/usr/bin/env node
import { Plugin, deny } from "sliphook-sdk";

const plugin = new Plugin("node-guard", { version: "1.0.0" });
plugin.hook("pre_tool_call", { onFailure: "closed" }, () => deny("not today"));
plugin.run();
"""


def disagreements(root: Path = ROOT) -> list[str]:
    """What names another version than pyproject.toml, and what CHANGELOG.md lacks."""
    host = _toml(root / "pyproject.toml")
    version = host["version"]
    named = {
        "sdk/python/pyproject.toml": _toml(root / "sdk/python/pyproject.toml")["version"],
        "sdk/node/package.json": json.loads((root / "sdk/node/package.json").read_text())[
            "version"
        ],
        "the dependency sliphook-sdk of pyproject.toml": next(
            (pin.partition("==")[2] for pin in host["dependencies"] if "sliphook-sdk" in pin), ""
        ),
    }
    found = [
        f"{where} has {other or 'none'}, pyproject.toml has {version}"
        for where, other in named.items()
        if other != version
    ]
    parts = re.split(
        r"^## ", (root / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    heading, _, body = parts[1].partition("\n") if len(parts) > 1 else ("", "", "")
    if heading.split(",")[0] != version:
        found.append(f"CHANGELOG.md begins with {heading or 'nothing'}, not with {version}")
    found += [
        f"CHANGELOG.md, {heading}: no section {name}"
        for name in _SECTIONS
        if f"\n### {name}\n" not in f"\n{body}"
    ]
    return found


def _toml(path: Path) -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
    return project


def _run(*command: str | Path, cwd: Path = ROOT, **variables: str) -> str:
    """Run a command and return what it prints.

    Raises:
        SystemExit: it failed; the message has all of its output.
    """
    done = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def _packed(dist: Path) -> Path:
    """The npm package, with all files of the SDK and none of its tests."""
    sdk = ROOT / "sdk" / "node"
    (packed,) = json.loads(_run("npm", "pack", "--json", "--pack-destination", dist, cwd=sdk))
    files = {one["path"] for one in packed["files"]}
    wanted = {"README.md", "LICENSE", "package.json"} | {
        path.relative_to(sdk).as_posix()
        for part in ("src", "types")
        for path in sdk.glob(f"{part}/*")
    }
    if files != wanted:
        raise SystemExit(f"the npm package has other files than wanted: {sorted(files ^ wanted)}")
    return dist / str(packed["filename"])


def _try_together(dist: Path, packed: Path, version: str, scratch: Path) -> None:
    """Install all three in a fresh environment, and ask a plugin of each SDK."""
    venv.create(scratch / "venv", with_pip=True)
    binaries = scratch / "venv" / "bin"
    _run(binaries / "python", "-m", "pip", "install", "--quiet", *sorted(dist.glob("*.whl")))
    project = scratch / "project"
    project.mkdir()
    _run("npm", "install", "--no-audit", "--no-fund", "--offline", packed, cwd=project)
    (project / "node-guard.mjs").write_text(_PLUGIN)
    (project / "node-guard.mjs").chmod(0o755)
    path = {"PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}", "HOME": str(scratch)}
    sliphook = binaries / "sliphook"
    said = _run(sliphook, "--version", cwd=project, **path).strip()
    if said != f"sliphook {version}":
        raise SystemExit(f"the installed wheel says {said}, not sliphook {version}")
    _run(sliphook, "new", "guard", cwd=project, **path)
    for plugin in ("./guard/guard.py", "./node-guard.mjs"):
        _run(sliphook, "check", plugin, cwd=project, **path)


def main(arguments: list[str]) -> int:
    """Check everything; a folder that is named keeps what is built. Returns the exit status."""
    wrong = disagreements()
    for line in wrong:
        print(line, file=sys.stderr)
    if wrong:
        return 1
    version = _toml(ROOT / "pyproject.toml")["version"]
    print(f"{version}: versions and CHANGELOG.md agree")
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        dist = Path(arguments[0]).resolve() if arguments else scratch / "dist"
        dist.mkdir(parents=True, exist_ok=True)
        for project in (ROOT, ROOT / "sdk" / "python"):
            _run(sys.executable, "-m", "build", "--outdir", dist, project)
        _run(sys.executable, "-m", "twine", "check", "--strict", *sorted(dist.iterdir()))
        packed = _packed(dist)
        print("wheels, sdists and the npm package are complete, and their pages render")
        _try_together(dist, packed, version, scratch)
        print("all three work in a fresh environment")
    print("Nothing was uploaded.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
