"""MCP's own conformance suite: the bridge is its client, and `sliphook mcp` its server.

Its scenarios of OAuth are not run, since a token is a grant here; nor are those of resources, logs
and completions of a server, as plugins have none, and of HTTP itself, which is the SDK's.
"""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

from tests.programs import WAIT_S

from .over_http import over_http
from .servers import FOLDER, environment, node

_SUITE: Final = "node_modules/@modelcontextprotocol/conformance/dist/index.js"
PLUGIN: Final = Path(__file__).parent / "conformance_plugin.py"
"""Has a tool of each kind, and a command."""
_PYTHON: Final = f"{sys.executable} -m"
_CLIENT: Final = {
    "initialize": f"{_PYTHON} sliphook run hello --mcp",
    "tools_call": f"""{_PYTHON} sliphook call add_numbers --args '{{"a":2,"b":3}}' --mcp""",
    "sse-retry": f"{_PYTHON} sliphook call test_reconnection --mcp",
    "elicitation-sep1034-client-defaults": f"{_PYTHON} tests.real_servers.person",
}
"""How each is called; the suite puts its address behind."""
_SERVER: Final = (
    *("server-initialize", "ping", "tools-list", "tools-call-simple-text", "tools-call-image"),
    *("tools-call-audio", "tools-call-embedded-resource", "tools-call-mixed-content"),
    *("tools-call-error", "tools-call-with-progress", "tools-call-elicitation"),
    *("json-schema-2020-12", "elicitation-sep1034-defaults", "prompts-list", "prompts-get-simple"),
)


def conforms(home: Path) -> None:
    """Every scenario that a bridge or a server of tools and prompts can have.

    Raises:
        AssertionError: one failed; str() is what the suite says.
    """
    home.mkdir(parents=True)
    variables = environment(home)
    for scenario, command in _CLIENT.items():
        patience = ["--timeout", f"{WAIT_S * 1000:.0f}"]
        with suppress(AssertionError):  # "sse-retry" bears no machine that is 0.2 s late
            _run("client", scenario, variables, "--command", command, *patience)
            continue
        _run("client", scenario, variables, "--command", command, *patience)
    served = [sys.executable, "-m", "sliphook", "mcp", "--plugin", str(PLUGIN)]
    for scenario in _SERVER:
        with over_http(served, variables) as address:
            _run("server", scenario, variables, "--url", address)


def _run(side: str, scenario: str, variables: dict[str, str], *options: str) -> None:
    done = subprocess.run(
        [str(node()), str(FOLDER / _SUITE), side, "--scenario", scenario, *options],
        env=variables,
        capture_output=True,
        text=True,
        timeout=2 * WAIT_S,
        check=False,
    )
    assert done.returncode == 0, f"{side} {scenario}:\n{done.stdout}{done.stderr}"
