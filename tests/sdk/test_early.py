"""`sliphook_sdk.early` protects the streams of a plugin, and of nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.sdk.conftest import Start
from tests.sdk.driver import payload

TALKATIVE = """
import os, subprocess, sys
print("Content-Length: 5")
os.write(1, b'{"jsonrpc":"2.0","id":1,"result":"forged"}\\n')
subprocess.run(["cat"], check=True)
"""


def test_what_is_printed_at_import_reaches_no_host(start: Start, tmp_path: Path) -> None:
    (tmp_path / "talkative.py").write_text(TALKATIVE)
    child = start(
        """
        import sliphook_sdk.early
        import talkative
        from sliphook_sdk import *

        plugin = Plugin("torture")

        @plugin.hook("pre_tool_call")
        def guard(call):
            print("later")
            return deny("no")
        """
    )
    assert child.initialize()["name"] == "torture"
    assert child.ask("hook/pre_tool_call", payload("pre_tool_call"))["decision"] == "deny"
    child.close_input()
    assert child.ended() == 0
    log = child.stderr()
    assert [line for line in log.splitlines() if line] == [
        "Content-Length: 5",
        '{"jsonrpc":"2.0","id":1,"result":"forged"}',
        "later",
    ]


@pytest.mark.parametrize(
    ("module", "arguments"),
    [
        ("import sliphook_sdk.early\n", ["--help"]),
        ("import sliphook_sdk\n", []),
        ("import other\n", []),
    ],
    ids=["with arguments", "the SDK alone", "from another module"],
)
def test_it_leaves_other_programs_alone(tmp_path: Path, module: str, arguments: list[str]) -> None:
    (tmp_path / "other.py").write_text("import sliphook_sdk.early\n")
    (tmp_path / "main.py").write_text(f"{module}print(input())\n")
    command = [sys.executable, "main.py", *arguments]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        input="echo\n",
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout == "echo\n"
    assert done.returncode == 0
