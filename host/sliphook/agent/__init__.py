"""The reference agent: a small but real loop, and the example that other agents copy from.

`loop` is the agent, made of `model_call`, `tool_calls`, `delegate` and `loop_detection`;
`conversation` holds the messages. `models` has the model clients, `ui` shows things to the user and
asks, `chat` runs many conversations at once, `transcripts` records them. Public are the names below
and `sliphook.agent.loop`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sliphook.lazy_names import lazy_names

if TYPE_CHECKING:
    from .chat.commands import COMMANDS
    from .chat.gateway import Gateway
    from .loop import RESERVED_TOOLS, Agent, AgentTool
    from .models.choice import Models
    from .models.scripted import ScriptedModel
    from .shell import shell_tool

__all__ = [
    "COMMANDS",
    "RESERVED_TOOLS",
    "Agent",
    "AgentTool",
    "Gateway",
    "Models",
    "ScriptedModel",
    "shell_tool",
]

__getattr__ = lazy_names(
    __name__,
    {
        "Agent": "loop",
        "AgentTool": "loop",
        "RESERVED_TOOLS": "loop",
        "Models": "models.choice",
        "ScriptedModel": "models.scripted",
        "Gateway": "chat.gateway",
        "COMMANDS": "chat.commands",
        "shell_tool": "shell",
    },
)
