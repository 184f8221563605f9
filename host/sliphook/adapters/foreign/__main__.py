"""`python -m sliphook.adapters.foreign NAME SYSTEM PATH SHA256`: the hooks of PATH as a plugin.

`SLIPHOOK_FOREIGN` has the settings under `foreign`, as JSON.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import sliphook_sdk as sdk
from sliphook.errors import SliphookError
from sliphook.settings import FOREIGN

from .approval import why_changed
from .plugin import HooksPlugin
from .sources import read_source


def main() -> None:
    """Run the plugin until its host ends it."""
    if len(sys.argv) != 5:
        sys.exit("usage: python -m sliphook.adapters.foreign NAME SYSTEM PATH SHA256")
    name, system, path, approved = sys.argv[1:]
    del sys.argv[1:]  # else `run` takes them for a person's
    try:
        source = read_source(path, system)
        changed = why_changed(source, approved)
        settings: dict[str, Any] = json.loads(os.environ.pop(FOREIGN, "{}"))
        hosts = settings.get("http_hosts", [])
        tools = settings.get("tools", {})
        plugin = HooksPlugin(name, source, tools, hosts, disabled=changed).plugin
    except SliphookError as error:
        plugin = sdk.Plugin(name, version="0", disabled=str(error))
    plugin.run()


if __name__ == "__main__":
    main()
