"""What several messages share: the common fields, messages of a model, tools and their results."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Optional, Union

import msgspec

from .describe import doc
from .parts import Part

Level = Literal["debug", "info", "warning", "error"]
"""How serious a log line is."""

AlertLevel = Literal["info", "warning", "error"]
"""How serious an alert for the user is."""


ToolKind = Literal["shell", "read", "write", "edit", "fetch", "search", "agent", "mcp", "other"]
"""What a tool does, whatever its agent calls it."""


class ToolCallRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One tool call inside a message of the model."""

    call_id: Annotated[str, doc("the model's id of the call", "call_1")]
    name: Annotated[str, doc("the tool's name", "shell")]
    arguments: Annotated[dict[str, Any], doc("the arguments, parsed", {"command": "ls"})]


class Message(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One message of the conversation with the model; a model's response has the same shape."""

    role: Annotated[str, doc("system, user, assistant or tool", "user")]
    content: Annotated[
        Optional[str], doc("the text; null if the message only calls tools", "hello")
    ]
    tool_calls: Annotated[
        Optional[list[ToolCallRequest]], doc("the calls that an assistant's message makes")
    ] = None
    call_id: Annotated[Optional[str], doc("in a tool's message: the `call_id` that it answers")] = (
        None
    )
    parts: Annotated[
        Optional[list[Part]],
        doc("in a tool's message: the result in parts, for a model that takes them"),
    ] = None


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens; each count is null if it is not known."""

    input_tokens: Annotated[Optional[int], doc("tokens read", 120)] = None
    output_tokens: Annotated[Optional[int], doc("tokens written", 40)] = None
    cached_tokens: Annotated[
        Optional[int], doc("tokens of the input that came from a cache", 0)
    ] = None

    def plus(self, more: Usage) -> Usage:
        """The sum, field by field; a number that is unknown on both sides stays unknown."""
        return Usage(
            input_tokens=_sum(self.input_tokens, more.input_tokens),
            output_tokens=_sum(self.output_tokens, more.output_tokens),
            cached_tokens=_sum(self.cached_tokens, more.cached_tokens),
        )


def _sum(total: Optional[int], more: Optional[int]) -> Optional[int]:
    return more if total is None else total if more is None else total + more


class ToolResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a tool call."""

    content: Annotated[str, doc("the text that the model reads", "done")]
    is_error: Annotated[Optional[bool], doc("true if the call failed", False)] = False
    data: Annotated[Any, doc("a value for programs; no model reads it")] = None
    parts: Annotated[
        Union[list[Part], msgspec.UnsetType, None],
        doc(
            "the result in parts: a model that takes them reads these in place of `content`",
            [{"type": "text", "text": "done"}],
        ),
    ] = msgspec.UNSET

    def __post_init__(self) -> None:
        """A null is the same as no value, and so is a list of no parts."""
        if self.is_error is None:
            msgspec.structs.force_setattr(self, "is_error", False)
        if not self.parts:
            msgspec.structs.force_setattr(self, "parts", msgspec.UNSET)


class ToolSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One tool that a plugin offers to the model."""

    name: Annotated[str, doc("the name: `[A-Za-z0-9_-]{1,64}`", "deploy")]
    description: Annotated[
        Optional[str], doc("what the model reads to decide", "Deploy a service.")
    ] = None
    input_schema: Annotated[
        Optional[dict[str, Any]],
        doc("JSON Schema of the arguments, an object; null takes any", {"type": "object"}),
    ] = None
    timeout_s: Annotated[
        Optional[float], doc("seconds that one call may take; null is 30", 30.0)
    ] = None


class ModelTool(msgspec.Struct, frozen=True, kw_only=True):
    """One tool as it is offered to the model, in the `tools` of `pre_llm_call`."""

    name: Annotated[str, doc("the tool's name", "shell")]
    description: Annotated[str, doc("what the model reads", "Run a command.")]
    input_schema: Annotated[dict[str, Any], doc("JSON Schema of the arguments", {"type": "object"})]


class ModelRoute(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where a model call goes. What is null is the agent's own choice for that server."""

    provider: Annotated[
        Optional[str],
        doc("the name of a provider: of the user's settings, or the agent's own", "openai"),
    ] = None
    base_url: Annotated[
        Optional[str],
        doc("the server's address, without a login", "https://api.openai.com/v1"),
    ] = None
    api: Annotated[
        Optional[Literal["openai", "anthropic"]], doc("what the server speaks", "openai")
    ] = None
    key_env: Annotated[
        Optional[str],
        doc(
            "in an answer: the variable of the plugin that holds the key; "
            "in a payload null, as a key is never told"
        ),
    ] = None
    parameters: Annotated[
        Optional[dict[str, Any]], doc("more fields of the request", {"temperature": 0.2})
    ] = None


class LlmFailure(msgspec.Struct, frozen=True, kw_only=True):
    """Why an attempt to call the model failed, as in `llm_call_failed`."""

    kind: Annotated[str, doc("what failed", "connection")]
    status: Annotated[Optional[int], doc("the HTTP status, if there was one")] = None
    message: Annotated[str, doc("what happened, for people", "no server answers there")]


class LateEnd(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a tool call whose `post_tool_call` had `still_running`."""

    call_id: Annotated[str, doc("the same as in `post_tool_call`", "c-1", match=False)]
    tool_name: Annotated[str, doc("the tool", "deploy")]
    how: Annotated[
        Literal["stopped", "ok", "failed", "unknown", "killed"],
        doc(
            "`stopped`: before it had finished; `ok`, `failed`: it was done all the same; "
            "`killed`: its process ended, so its work may be half done",
            "ok",
        ),
    ]
    after_ms: Annotated[float, doc("how long after it was told to stop", 3200.0)]


class Inflight(msgspec.Struct, frozen=True, kw_only=True):
    """What an interrupt found under way, as one plugin sees it."""

    llm: Annotated[bool, doc("a model call was under way", False)]
    tools: Annotated[
        list[str],
        doc(
            "`call_id` of every open tool call; its `post_tool_call` tells if it still runs",
            ["c-1"],
        ),
    ]
    requests: Annotated[
        list[int], doc("ids of the requests to this very plugin that are now cancelled", [7])
    ]


TimeoutLeft = Annotated[
    Union[float, msgspec.UnsetType, None],
    doc(
        "seconds that are left to answer; only in the request, "
        "absent if the entry is told as an event",
        5.0,
    ),
]

OfKind = Annotated[
    Optional[ToolKind],
    doc(
        "what the tool does, whatever it is called: `mcp` is of an MCP server, `other` none of "
        "these; null: the agent does not say",
        "shell",
    ),
]

ToolOrigin = Annotated[
    str,
    doc(
        "the plugin that owns the tool, `agent`, or where the agent has it from: `mcp:SERVER`",
        "agent",
    ),
]

Truncated = Annotated[
    Union[list[str], msgspec.UnsetType, None],
    doc(
        "heavy fields that were cut to null because the message was too large; absent if none was",
        [],
    ),
]

SubmittedBy = Annotated[
    Optional[str],
    doc("the plugin whose message it is, if it came by `host/submit`; null: the user's"),
]

StillRunning = Annotated[
    Optional[list[str]],
    doc(
        "`call_id` of each tool call, child agents' too, that was told to stop and had not ended "
        "yet; a `notification` with `late_end` follows for each",
        [],
    ),
]


class Payload(msgspec.Struct, frozen=True, kw_only=True):
    """The common fields of every payload."""

    event_id: Annotated[
        str, doc("opaque; the same for every plugin that this fire reaches", "e-1", match=False)
    ]
    seq: Annotated[
        int, doc("from 1, rising per session; a tool call and a command carry the last one", 1)
    ]
    time: Annotated[str, doc("when it was fired, UTC", "2026-01-01T00:00:00.000Z", match=False)]
    session_id: Annotated[str, doc("the session, unique", "s-1", match=False)]
    session_key: Annotated[
        Optional[str],
        doc("the agent's own name for the conversation: chat, thread, terminal", "main"),
    ]
    platform: Annotated[Optional[str], doc("where the user is: `cli`, `api` and so on", "cli")]
    user_id: Annotated[Optional[str], doc("the user, as the agent names them")]
    cwd: Annotated[Optional[str], doc("the project's folder, absolute", "/home/ada/project")]
    turn_id: Annotated[
        Optional[str], doc("the turn, unique; null outside a turn", "t-1", match=False)
    ]
    agent_id: Annotated[
        str, doc("the agent that acts; a child agent has its own", "a-1", match=False)
    ]
    parent_agent_id: Annotated[
        Optional[str], doc("whose child the agent is; null for the root", match=False)
    ]
    agent_depth: Annotated[int, doc("0 is the root agent", 0)]
    meta: Annotated[
        Optional[dict[str, Any]], doc("an object of the agent's own, opaque to Sliphook")
    ]
