"""Plugins for LLM agents that run outside the agent. `PluginHost` is where an agent begins."""

from __future__ import annotations

from . import moved_paths
from .lazy_names import lazy_names

TYPE_CHECKING = False  # without `typing`: the command line begins here, and Ctrl+C may come at once
if TYPE_CHECKING:
    from .dispatch.outcome import Context, Outcome, Part, Reason
    from .errors import HostError, SliphookError, TurnOpen
    from .host.host import PluginHost
    from .plugin.spec import Override, PluginSpec, PluginStatus
    from .plugin.tools import CommandOffer, ToolOffer
    from .process.limits import Limits
    from .session.host import ApprovalRequest, Approver, Asker, AskRequest, CanAsk
    from .session.questions.form import Form, FormField
    from .session.reports import Progress
    from .session.results import Interruption, LlmGate, Prompt, ToolOutcome, Verdict
    from .session.session import Session
    from .session.submission import Submission
    from .session.tool_call import BegunTool
    from .session.turn import Turn

__all__ = [
    "ApprovalRequest",
    "Approver",
    "AskRequest",
    "Asker",
    "BegunTool",
    "CanAsk",
    "CommandOffer",
    "Context",
    "Form",
    "FormField",
    "HostError",
    "Interruption",
    "Limits",
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
    "SliphookError",
    "Submission",
    "ToolOffer",
    "ToolOutcome",
    "Turn",
    "TurnOpen",
    "Verdict",
]

__getattr__ = lazy_names(
    __name__,
    {
        "ApprovalRequest": "session.host",
        "Approver": "session.host",
        "BegunTool": "session.tool_call",
        "AskRequest": "session.host",
        "Asker": "session.host",
        "CanAsk": "session.host",
        "Verdict": "session.results",
        "CommandOffer": "plugin.tools",
        "Context": "dispatch.outcome",
        "Form": "session.questions.form",
        "FormField": "session.questions.form",
        "HostError": "errors",
        "Interruption": "session.results",
        "Limits": "process.limits",
        "LlmGate": "session.results",
        "Outcome": "dispatch.outcome",
        "Override": "plugin.spec",
        "Part": "dispatch.outcome",
        "PluginHost": "host.host",
        "PluginSpec": "plugin.spec",
        "PluginStatus": "plugin.spec",
        "Progress": "session.reports",
        "Prompt": "session.results",
        "Reason": "dispatch.outcome",
        "Session": "session.session",
        "SliphookError": "errors",
        "Submission": "session.submission",
        "ToolOffer": "plugin.tools",
        "ToolOutcome": "session.results",
        "Turn": "session.turn",
        "TurnOpen": "errors",
    },
)

moved_paths.install()
