"""Plugins for LLM agents that run outside the agent. `PluginHost` is where an agent begins."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # without `typing`: the command line begins here, and Ctrl+C may come at once
if TYPE_CHECKING:
    from typing import Any

    from .errors import HostError, TurnOpen
    from .host import PluginHost
    from .hostcalls import Progress
    from .outcome import Context, Outcome, Part, Reason
    from .session import Session
    from .spec import Override, PluginSpec, PluginStatus
    from .toolcall import ApprovalRequest, Approver, ToolOutcome
    from .tools import CommandOffer, ToolOffer
    from .turn import LlmGate, Prompt, Turn

__all__ = [
    "ApprovalRequest",
    "Approver",
    "CommandOffer",
    "Context",
    "HostError",
    "LlmGate",
    "Outcome",
    "Override",
    "Part",
    "PluginHost",
    "PluginSpec",
    "PluginStatus",
    "Progress",
    "Prompt",
    "Reason",
    "Session",
    "ToolOffer",
    "ToolOutcome",
    "Turn",
    "TurnOpen",
]

_HOMES = {
    "ApprovalRequest": "toolcall",
    "Approver": "toolcall",
    "CommandOffer": "tools",
    "Context": "outcome",
    "HostError": "errors",
    "LlmGate": "turn",
    "Outcome": "outcome",
    "Override": "spec",
    "Part": "outcome",
    "PluginHost": "host",
    "PluginSpec": "spec",
    "PluginStatus": "spec",
    "Progress": "hostcalls",
    "Prompt": "turn",
    "Reason": "outcome",
    "Session": "session",
    "ToolOffer": "tools",
    "ToolOutcome": "toolcall",
    "Turn": "turn",
    "TurnOpen": "errors",
}
"""Where each name lives: it is imported when it is first used, so that the command line starts without trio."""


def __getattr__(name: str) -> Any:
    """Import a public name on first use.

    Raises:
        AttributeError: there is no such name.
    """
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value
