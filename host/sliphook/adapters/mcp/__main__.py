"""`python -m sliphook.adapters.mcp NAME COMMAND [ARGS]`: COMMAND's server, as the plugin NAME."""

from __future__ import annotations

import sys

from .bridge import ServerPlugin


def main() -> None:
    """Run the plugin until its host ends it."""
    if len(sys.argv) < 3:
        sys.exit("usage: python -m sliphook.adapters.mcp NAME COMMAND [ARGS]")
    name, *command = sys.argv[1:]
    del sys.argv[1:]  # else `run` takes them for a person's
    ServerPlugin(name, command).plugin.run()


if __name__ == "__main__":
    main()
