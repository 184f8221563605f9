"""Plugins for LLM agents that run outside the agent. `PluginHost` is where an agent begins."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # without `typing`: the command line begins here, and Ctrl+C may come at once
if TYPE_CHECKING:
    from typing import Any

    from sliphook.dispatch.outcome import Context, Outcome, Part, Reason
    from sliphook.host.host import PluginHost
    from sliphook.plugin.spec import Override, PluginSpec, PluginStatus
    from sliphook.plugin.tools import CommandOffer, ToolOffer
    from sliphook.session.plugin_requests import Progress
    from sliphook.session.session import Session
    from sliphook.session.tool_call import ApprovalRequest, Approver, ToolOutcome
    from sliphook.session.turn import LlmGate, Prompt, Turn

    from .errors import HostError, TurnOpen

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
    "ApprovalRequest": "session.tool_call",
    "Approver": "session.tool_call",
    "CommandOffer": "plugin.tools",
    "Context": "dispatch.outcome",
    "HostError": "errors",
    "LlmGate": "session.turn",
    "Outcome": "dispatch.outcome",
    "Override": "plugin.spec",
    "Part": "dispatch.outcome",
    "PluginHost": "host.host",
    "PluginSpec": "plugin.spec",
    "PluginStatus": "plugin.spec",
    "Progress": "session.plugin_requests",
    "Prompt": "session.turn",
    "Reason": "dispatch.outcome",
    "Session": "session.session",
    "ToolOffer": "plugin.tools",
    "ToolOutcome": "session.tool_call",
    "Turn": "session.turn",
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
