"""Pure: by what a client's call is known in the client's own log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_MOST_CHARS: Final = 256


def call_of(meta: Mapping[str, Any]) -> str | None:
    """The model's id of a call, as Claude Code and Codex say it in `_meta`."""
    for name in ("claudecode/toolUseId", "callId"):
        value = meta.get(name)
        if isinstance(value, str) and 0 < len(value) <= _MOST_CHARS:
            return value
    return None
