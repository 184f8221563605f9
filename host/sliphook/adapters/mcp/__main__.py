"""`python -m sliphook.adapters.mcp NAME COMMAND [ARGS]`: the server that COMMAND starts, as NAME."""

from __future__ import annotations

import sys

from .bridge import Bridge


def main() -> None:
    if len(sys.argv) < 3:
        sys.exit("usage: python -m sliphook.adapters.mcp NAME COMMAND [ARGS]")
    Bridge(sys.argv[1], sys.argv[2:]).plugin.run()


if __name__ == "__main__":
    main()
