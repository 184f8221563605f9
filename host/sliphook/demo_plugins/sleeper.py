"""A tool that hangs: it neither answers nor listens when its call is cancelled."""

from __future__ import annotations

import time

from sliphook_sdk import Plugin

plugin = Plugin("sleeper", version="1.0.0")


@plugin.tool
def deploy(service: str) -> str:
    """Deploy a service."""
    while True:
        time.sleep(60)


if __name__ == "__main__":
    plugin.run()
