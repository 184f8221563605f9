"""Every message of the protocol besides the catalogue's, and the table of methods."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, Optional, Union

import msgspec

from .describe import doc
from .manifest import Manifest, Uses
from .questions import AnswerParams, AnswerResult, AskParams, AskResult
from .shapes import AlertLevel, Level, Payload, ToolResult, ToolSpec


class HostInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The host's name and version."""

    name: Annotated[str, doc("the program", "sliphook")]
    version: Annotated[str, doc("its version", "0.1.0")]


class PluginInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What the host knows of the plugin."""

    name: Annotated[
        Optional[str],
        doc("the name it is installed under; null while it is being installed", "guard"),
    ]
    data_dir: Annotated[
        str, doc("a folder that is the plugin's own", "/home/ada/.local/share/sliphook/data/guard")
    ]
    config: Annotated[
        dict[str, Any], doc("the user's settings for it, for the life of the process", {})
    ]


class SessionInfo(msgspec.Struct, frozen=True, kw_only=True):
    """An open session; a plugin that starts is told of it."""

    session_id: Annotated[str, doc("the session", "s-1")]
    session_key: Annotated[Optional[str], doc("the agent's name for the conversation", "main")] = (
        None
    )
    platform: Annotated[Optional[str], doc("where the user is", "cli")] = None


class InitializeParams(msgspec.Struct, frozen=True, kw_only=True):
    """The first message. The plugin is ready when the host has read the answer."""

    protocol_versions: Annotated[list[int], doc("the versions that the host speaks", [1])]
    host: Annotated[HostInfo, doc("the host", {"name": "sliphook", "version": "0.1.0"})]
    plugin: Annotated[
        PluginInfo,
        doc(
            "the plugin",
            {
                "name": "guard",
                "data_dir": "/home/ada/.local/share/sliphook/data/guard",
                "config": {},
            },
        ),
    ]
    events: Annotated[
        list[str],
        doc(
            "every hook and event that this host fires",
            ["session_start", "pre_tool_call", "turn_end"],
        ),
    ]
    sessions: Annotated[Optional[list[SessionInfo]], doc("the sessions that live", [])] = None
    manifest_only: Annotated[
        Union[bool, msgspec.UnsetType, None],
        doc("true: the host only reads the manifest, to install the plugin; else absent", False),
    ] = msgspec.UNSET


class ToolCallParams(Payload, frozen=True, kw_only=True):
    """A tool of the plugin is called."""

    call_id: Annotated[str, doc("the same as in `pre_tool_call`", "c-1")]
    name: Annotated[str, doc("the tool", "deploy")]
    timeout_s: Annotated[float, doc("seconds that are left", 30.0)]
    arguments: Annotated[
        dict[str, Any], doc("the arguments, checked against `input_schema`", {"service": "web"})
    ]


class CommandRunParams(Payload, frozen=True, kw_only=True):
    """The user typed a command of the plugin."""

    name: Annotated[str, doc("the command without the slash", "deploys")]
    timeout_s: Annotated[float, doc("seconds that are left", 30.0)]
    arguments: Annotated[str, doc("the text after the name", "web")]


class CommandResult(msgspec.Struct, frozen=True, kw_only=True):
    """What the user reads."""

    text: Annotated[Optional[str], doc("the text", "web: deployed at noon")] = None


class CancelParams(msgspec.Struct, frozen=True, kw_only=True):
    """One request is withdrawn."""

    id: Annotated[Union[int, str], doc("the request's id; all of the host's are integers", 7)]


class Empty(msgspec.Struct, frozen=True, kw_only=True):
    """No fields."""


class LogParams(msgspec.Struct, frozen=True, kw_only=True):
    """A line for the plugin's log."""

    level: Annotated[Level, doc("how serious", "info")]
    message: Annotated[str, doc("the line", "cache is warm")]
    fields: Annotated[Optional[dict[str, Any]], doc("values beside it", {"entries": 12})] = None


class NotifyParams(msgspec.Struct, frozen=True, kw_only=True):
    """An alert for the user."""

    level: Annotated[AlertLevel, doc("how serious", "warning")]
    message: Annotated[str, doc("what the user reads", "the deploy is stuck")]


class ToolsParams(msgspec.Struct, frozen=True, kw_only=True):
    """Replaces the plugin's tools of one scope, all or none."""

    session_id: Annotated[
        Optional[str], doc("the session whose tools they are; null is every session")
    ] = None
    tools: Annotated[list[ToolSpec], doc("the tools from now on", [{"name": "deploy"}])]


class InjectParams(msgspec.Struct, frozen=True, kw_only=True):
    """A text for the session's next model call, labelled with the plugin's name.

    It has the user's role. Child agents do not take it.
    """

    session_id: Annotated[str, doc("the session", "s-1")]
    text: Annotated[str, doc("the text", "the deploy has finished")]


class InjectResult(msgspec.Struct, frozen=True, kw_only=True):
    """The text waits for the next model call."""

    queued: Annotated[Optional[bool], doc("true", True)] = True


class SubmitParams(msgspec.Struct, frozen=True, kw_only=True):
    """A message for the model, which begins a turn of an open conversation."""

    session_key: Annotated[str, doc("the agent's own name for the conversation", "main")]
    platform: Annotated[
        Optional[str], doc("only a conversation of this platform; null is any", "cli")
    ] = None
    user_id: Annotated[Optional[str], doc("only a conversation of this user; null is any")] = None
    text: Annotated[str, doc("the message", "the deploy has finished, look at its log")]


class SubmitResult(msgspec.Struct, frozen=True, kw_only=True):
    """The message was taken; `submission_end` tells its end."""

    message_id: Annotated[str, doc("the message, unique", "m-1")]
    status: Annotated[
        Literal["started", "queued", "interrupting"],
        doc(
            "`started`: its turn begins; `queued`: it waits for others; `interrupting`: the open "
            "turn was interrupted for it",
            "started",
        ),
    ]


class InterruptParams(msgspec.Struct, frozen=True, kw_only=True):
    """Interrupts the session's turn."""

    session_id: Annotated[str, doc("the session", "s-1")]
    turn_id: Annotated[Optional[str], doc("only if this turn is still open", "t-1")] = None
    reason: Annotated[str, doc("why, for people", "the budget is spent")]


class InterruptResult(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a turn was interrupted."""

    interrupted: Annotated[bool, doc("false if none was open, or another than asked", True)]


class ProgressParams(msgspec.Struct, frozen=True, kw_only=True):
    """How far a request under way has come; it never extends the timeout."""

    id: Annotated[int, doc("the host's request", 7)]
    message: Annotated[Optional[str], doc("what is being done", "uploading")] = None
    fraction: Annotated[Optional[float], doc("0 to 1", 0.5)] = None
    text: Annotated[
        Union[str, msgspec.UnsetType, None],
        doc("for a `hook/pre_llm_call` that may substitute: the next piece of the model's text"),
    ] = msgspec.UNSET


class Method(msgspec.Struct, frozen=True):
    """One method of the wire.

    Attributes:
        name: the method.
        by: the sender.
        kind: `request`, which is answered, or `notification`, which is not.
        params: the Struct of its params.
        result: the Struct of the answer; None if any value will do, or for a notification.
        says: what it is for, for people.
        grant: the entry of `uses` that a plugin needs to send it.
    """

    name: str
    by: Literal["host", "plugin"]
    kind: Literal["request", "notification"]
    params: type[msgspec.Struct]
    result: Optional[type[msgspec.Struct]]
    says: str
    grant: Optional[Uses] = None


METHODS: Final = (
    Method(
        "initialize",
        "host",
        "request",
        InitializeParams,
        Manifest,
        "the first message; the answer is the manifest",
    ),
    Method(
        "tool/call",
        "host",
        "request",
        ToolCallParams,
        ToolResult,
        "call a tool of the plugin; a bare string is its content",
    ),
    Method(
        "command/run",
        "host",
        "request",
        CommandRunParams,
        CommandResult,
        "run a slash command of the plugin",
    ),
    Method("ping", "host", "request", Empty, None, "are you there? Any value answers"),
    Method(
        "$/cancelRequest",
        "host",
        "notification",
        CancelParams,
        None,
        "stop that work; reply when it has ended: -32800 if it was stopped",
    ),
    Method("shutdown", "host", "request", Empty, None, "finish the event handlers, then answer"),
    Method("exit", "host", "notification", Empty, None, "end now"),
    Method("host/log", "plugin", "notification", LogParams, None, "a line for the plugin's log"),
    Method(
        "host/notify",
        "plugin",
        "request",
        NotifyParams,
        Empty,
        "show the user an alert; the other plugins are told a `notification`",
        grant="notify",
    ),
    Method(
        "host/tools",
        "plugin",
        "request",
        ToolsParams,
        Empty,
        "replace the tools of a session, or of all, all or nothing",
        grant="tools",
    ),
    Method(
        "host/inject",
        "plugin",
        "request",
        InjectParams,
        InjectResult,
        "a text for the session's next model call, child agents' left out; starts no turn",
        grant="inject",
    ),
    Method(
        "host/submit",
        "plugin",
        "request",
        SubmitParams,
        SubmitResult,
        "a message for the model, as if a user had written it; begins a turn",
        grant="submit",
    ),
    Method(
        "host/interrupt",
        "plugin",
        "request",
        InterruptParams,
        InterruptResult,
        "interrupt the session's turn",
        grant="interrupt",
    ),
    Method(
        "host/ask",
        "plugin",
        "request",
        AskParams,
        AskResult,
        "ask the person in front of the agent; answered when that is over",
        grant="ask",
    ),
    Method(
        "host/answer",
        "plugin",
        "request",
        AnswerParams,
        AnswerResult,
        "answer a question in the person's place",
        grant="approve",
    ),
    Method(
        "$/progress", "plugin", "notification", ProgressParams, None, "how far a request has come"
    ),
)
"""All methods but those of the catalogue.

The catalogue's are `hook/NAME`, a request answered by an `Answer`, and `event/NAME`, a
notification.
"""

METHOD_BY_NAME: Final = {method.name: method for method in METHODS}
