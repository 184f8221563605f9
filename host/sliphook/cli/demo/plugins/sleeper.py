"""A tool that hangs: it blocks the interpreter, so that the whole process stops answering."""

from __future__ import annotations

import re

from sliphook_sdk import Plugin

plugin = Plugin("sleeper", version="1.0.0")


@plugin.tool
def deploy(service: str) -> str:
    """Deploy a service."""
    re.match(r"(-+)*x", "-" * 64)  # tries every way to split the dashes, which takes years
    return f"{service} is deployed"


if __name__ == "__main__":
    plugin.run()
