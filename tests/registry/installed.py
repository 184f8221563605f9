"""An installed plugin as a value, without an installation."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from sliphook.registry import Registered
from sliphook.registry.executables import Executable
from sliphook_sdk.protocol import Manifest


def installed(
    path: Path,
    manifest: Manifest | None = None,
    *,
    name: str | None = None,
    sha256: str = "0" * 64,
    interpreter: str | None = None,
    **keys: Any,
) -> Registered:
    """The plugin at `path`, installed on 1 January 2026.

    Args:
        path: its executable.
        manifest: what it declared; by default a name and nothing more.
        name: by default that of the manifest.
        sha256: of the executable.
        interpreter: what ran it.
        keys: other keys of its file.
    """
    declared = manifest or msgspec.convert({"protocol_version": 1, "name": path.name}, Manifest)
    day = datetime(2026, 1, 1, tzinfo=UTC)
    recorded = Executable(path, sha256, interpreter).recorded(declared, day)
    return Registered(name=declared.name if name is None else name, recorded=recorded, **keys)


def with_interpreter(plugin: Registered, interpreter: str) -> Registered:
    """The same plugin, recorded as run by another interpreter."""
    recorded = msgspec.structs.replace(plugin.recorded, interpreter=interpreter)
    return msgspec.structs.replace(plugin, recorded=recorded)
