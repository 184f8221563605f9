"""The command line as a person meets it: a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.ran import Ran

WAIT_S = 30.0


Sliphook = Callable[..., Ran]
MakePlugin = Callable[..., Path]


@pytest.fixture
def sliphook(tmp_path: Path) -> Sliphook:
    """Runs `sliphook ARGS...` in an empty folder."""

    def run(*args: str | Path, wait_s: float = WAIT_S) -> Ran:
        environment = {**os.environ, "COLUMNS": "100"}
        command = [sys.executable, "-m", "sliphook", *map(str, args)]
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=wait_s,
            check=False,
        )
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run


@pytest.fixture
def make_plugin(tmp_path: Path) -> MakePlugin:
    """Writes a plugin that needs no SDK: `body` is what it does with the message in `m`, `manifest` what it declares."""

    def make(
        name: str,
        manifest: str = "",
        body: str = "",
        *,
        shebang: str = "#!/usr/bin/env python3",
        before: str = "",
    ) -> Path:
        path = tmp_path / name
        path.write_text(
            f"{shebang}\n"
            "import json, os, sys, time\n"
            "def say(**message):\n"
            "    print(json.dumps({'jsonrpc': '2.0', **message}), flush=True)\n"
            f"{before}\n"
            "for line in sys.stdin:\n"
            "    if not line.startswith('{'):\n"
            "        continue\n"
            "    m = json.loads(line)\n"
            "    method, p = m.get('method'), m.get('params', {})\n"
            "    if method == 'initialize':\n"
            f"        say(id=m['id'], result={{'protocol_version': 1, 'name': {name!r}, {manifest}}})\n"
            "    elif method == 'shutdown':\n"
            "        say(id=m['id'], result=None)\n"
            "    elif method == 'exit':\n"
            "        sys.exit(0)\n"
            "    else:\n"
            + textwrap.indent(textwrap.dedent(body).strip() or "pass", "        ")
            + "\n"
        )
        path.chmod(0o700)
        return path

    return make
