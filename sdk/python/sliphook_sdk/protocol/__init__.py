"""The protocol between host and plugin: its only definition, which both sides import.

`catalogue` has the hooks and events, `payloads` their params, `answers` their results, `manifest`
what a plugin declares, `messages` all other messages, `codes` the errors, `limits` the numbers.
Nothing here reads, writes or waits.
"""

from __future__ import annotations

from .answers import Answer, Decision
from .catalogue import CATALOGUE, SUBSTITUTES, Entry, Kind, OnFailure, nearest
from .codes import ErrorCode
from .globs import Globs, match_fields, unmatchable_fields, why_unmatchable, words_of
from .manifest import (
    HEAVY_FIELDS,
    NAME_PATTERNS,
    RESERVED_COMMANDS,
    RESERVED_PLUGINS,
    CommandSpec,
    EnvWant,
    Manifest,
    Subscription,
    Uses,
    why_no_plugin_name,
)
from .messages import (
    METHOD_BY_NAME,
    METHODS,
    CancelParams,
    CommandResult,
    CommandRunParams,
    Empty,
    HostInfo,
    InitializeParams,
    InjectParams,
    InjectResult,
    InterruptParams,
    InterruptResult,
    LogParams,
    Method,
    NotifyParams,
    PluginInfo,
    ProgressParams,
    SessionInfo,
    ToolCallParams,
    ToolsParams,
)
from .payloads import Payload
from .shapes import (
    AlertLevel,
    Inflight,
    LateEnd,
    Level,
    Message,
    ModelTool,
    ToolCallRequest,
    ToolResult,
    ToolSpec,
    Usage,
)

__all__ = [
    "CATALOGUE",
    "HEAVY_FIELDS",
    "METHODS",
    "METHOD_BY_NAME",
    "NAME_PATTERNS",
    "RESERVED_COMMANDS",
    "RESERVED_PLUGINS",
    "SUBSTITUTES",
    "AlertLevel",
    "Answer",
    "CancelParams",
    "CommandResult",
    "CommandRunParams",
    "CommandSpec",
    "Decision",
    "Empty",
    "Entry",
    "EnvWant",
    "ErrorCode",
    "Globs",
    "HostInfo",
    "Inflight",
    "InitializeParams",
    "InjectParams",
    "InjectResult",
    "InterruptParams",
    "InterruptResult",
    "Kind",
    "LateEnd",
    "Level",
    "LogParams",
    "Manifest",
    "Message",
    "Method",
    "ModelTool",
    "NotifyParams",
    "OnFailure",
    "Payload",
    "PluginInfo",
    "ProgressParams",
    "SessionInfo",
    "Subscription",
    "ToolCallParams",
    "ToolCallRequest",
    "ToolResult",
    "ToolSpec",
    "ToolsParams",
    "Usage",
    "Uses",
    "match_fields",
    "nearest",
    "unmatchable_fields",
    "why_no_plugin_name",
    "why_unmatchable",
    "words_of",
]
