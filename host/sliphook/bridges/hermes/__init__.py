"""Sliphook's plugins in Hermes Agent.

Hermes loads this module by its entry point `sliphook`, or from the folder
`$HERMES_HOME/plugins/sliphook`, and calls `register`.
"""

from __future__ import annotations

from typing import Any

from sliphook.agent_log import agent_log
from sliphook.errors import SliphookError
from sliphook.installed import read_installed
from sliphook.quoting import quote

from .bridge import Bridge
from .guarding import may_guard

__all__ = ["register"]

_log = agent_log("sliphook.hermes")
_bridges: list[Bridge] = []


def register(ctx: Any) -> None:
    """Called by Hermes: once, and again when it looks for its plugins anew.

    If the bridge cannot work, every tool call is blocked, with the reason, unless no plugin would
    have been asked about any.

    Raises:
        DoesNotFit: this Hermes is not the one that the bridge knows.
        SliphookError: what is installed cannot be read.
    """
    guarded = True
    try:
        if not _bridges:
            found = read_installed()
            guarded = bool(found.missing) or may_guard(found.specs, "pre_tool_call")
            for line in found.problems:
                _log.warning("%s", quote(line))
            _bridges.append(Bridge(found.specs))
        _bridges[0].register(ctx)
    except SliphookError as error:
        if guarded:
            _block_all(ctx, str(error))
        raise
    except Exception as error:
        if guarded:
            _block_all(ctx, f"{type(error).__name__}: {error}")
        raise


def _block_all(ctx: Any, why: str) -> None:
    said = {
        "action": "block",
        "message": f"sliphook guards nothing here, so no tool may run: {why}",
    }

    def pre_tool_call(**_: Any) -> dict[str, str]:
        return said

    ctx.register_hook("pre_tool_call", pre_tool_call)
