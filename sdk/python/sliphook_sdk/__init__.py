"""Write plugins for LLM agents: one executable, a few functions.

    from sliphook_sdk import Plugin, deny

    plugin = Plugin("guard", version="1.0.0")

    @plugin.hook("pre_tool_call", match={"tool_name": ["shell"]}, on_failure="closed")
    def no_rm(call):
        if "rm -rf" in call.arguments.get("command", ""):
            return deny("deleting whole trees is not for agents")

    if __name__ == "__main__":
        plugin.run()

The payloads of handlers are in `sliphook_sdk.protocol.payloads`; `sliphook_sdk.testing` tests a
plugin without a process.
"""

from __future__ import annotations

from .command.result import CommandResult
from .errors import (
    AnswerError,
    Cancelled,
    CommandError,
    HostRefused,
    NotConnected,
    RegistrationError,
    ToolError,
)
from .plugin import Plugin
from .protocol import Answer, EnvWant, ModelRoute, Part, ToolResult
from .registration.answers import allow, ask, context, continue_with, deny, replace, substitute
from .registration.images import Image
from .registration.life import Disabled, disabled
from .registration.tools import Tool
from .runtime.contexts import AsyncContext, Context
from .runtime.host import AsyncHost, Host
from .runtime.plugin_context import LifeContext

__all__ = [
    "Answer",
    "AnswerError",
    "AsyncContext",
    "AsyncHost",
    "Cancelled",
    "CommandError",
    "CommandResult",
    "Context",
    "Disabled",
    "EnvWant",
    "Host",
    "HostRefused",
    "Image",
    "LifeContext",
    "ModelRoute",
    "NotConnected",
    "Part",
    "Plugin",
    "RegistrationError",
    "Tool",
    "ToolError",
    "ToolResult",
    "allow",
    "ask",
    "context",
    "continue_with",
    "deny",
    "disabled",
    "replace",
    "substitute",
]
