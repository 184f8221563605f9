"""A person at a terminal who presses Enter at every question: the conformance suite's client.

python -m tests.real_servers.person ADDRESS
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from tests.real_clients.screen import Screen


def main(address: str) -> None:
    """Have the tool called that asks, and take each default."""
    prompt = "TOOL test_client_elicitation_defaults {}"
    words = [sys.executable, "-m", "sliphook", "run", "--mcp", address, prompt]
    with tempfile.TemporaryDirectory() as folder:
        screen = Screen(words, dict(os.environ), Path(folder), Path(folder) / "tmux")
        try:
            screen.insists("Enter", until=lambda: not screen.is_open)
        finally:
            screen.close()


if __name__ == "__main__":
    main(sys.argv[1])
