"""Who uses no MCP server loads nothing of MCP."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

LISTS = "import json; print(json.dumps([name for name in sys.modules if 'mcp' in name]))"
HELP = "import sys\nfrom sliphook.cli.main import main\nmain(['install', '--help'])\n"


@pytest.mark.parametrize(
    "code",
    [
        "import sys, sliphook, sliphook.blocking, sliphook.aio, sliphook.installed\n",
        "import sys, sliphook.registry, sliphook.registry.made, sliphook.registry.executables\n",
        "import sys, sliphook.adapters.mcp.transports.process, sliphook.adapters.mcp.plugin\n",
        "import sys\nfrom sliphook.cli.main import main\nmain(['--help'])\n",
        HELP,
    ],
)
def test_mcp_is_not_imported(code: str) -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-c", code + LISTS],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    loaded: list[str] = json.loads(done.stdout.splitlines()[-1])
    assert [name for name in loaded if not name.startswith("sliphook.")] == []
