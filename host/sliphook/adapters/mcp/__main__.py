"""`python -m sliphook.adapters.mcp NAME SERVER...`: the server, as the plugin NAME.

SERVER is a command with its arguments, behind `NAME=VALUE` for variables of its own; or an address
and the variable that holds the token.
"""

from __future__ import annotations

import sys
import time
from importlib.util import find_spec

from .transports.process import server_of


def main() -> None:
    """Run the plugin until its host ends it."""
    if len(sys.argv) < 3:
        sys.exit("usage: python -m sliphook.adapters.mcp NAME COMMAND [ARGS]")
    name, *words = sys.argv[1:]
    del sys.argv[1:]  # else `run` takes them for a person's
    began = time.monotonic()
    server = server_of(words)  # first: it starts while this process imports
    if find_spec("mcp") is None:
        sys.exit("MCP servers need the extra mcp; run: pip install 'sliphook[mcp]'")
    from .plugin import ServerPlugin

    ServerPlugin(name, words, server, began).plugin.run()


if __name__ == "__main__":
    main()
