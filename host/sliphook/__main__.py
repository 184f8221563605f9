"""`python -m sliphook`: the same as the command `sliphook`."""

import sys

from .cli.main import main

if __name__ == "__main__":
    sys.exit(main())
