"""Every message of the protocol besides the catalogue's, and the table of all methods."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, Optional, Union

import msgspec

from .catalogue import CATALOGUE, Kind, OnFailure
from .describe import doc
from .payloads import Payload
from .shapes import AlertLevel, Level, ToolResult, ToolSpec

Uses = Literal["notify", "tools", "inject", "interrupt"]
"""What a plugin may be granted to ask of the host."""


class HostInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Who the host is."""

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
    config: Annotated[dict[str, Any], doc("the user's settings for it", {})]


class SessionInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A living session, as a plugin that starts meanwhile is told of it."""

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
    sessions: Annotated[list[SessionInfo], doc("the sessions that live", [])] = msgspec.field(
        default_factory=list[SessionInfo]
    )


class Subscription(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """One entry of the manifest.

    An unknown field is an error: a misspelt `on_failure` would open a guard.
    """

    event: Annotated[str, doc("the name of the hook or event", "pre_tool_call")]
    mode: Annotated[
        Optional[Kind],
        doc(
            "`hook`: be asked; `event`: be told, with the final payload. null is the catalogue's kind",
            "hook",
        ),
    ] = None
    match: Annotated[
        Optional[dict[str, Optional[Union[str, list[str]]]]],
        doc(
            "string fields of the payload, each with a pattern or a list of them (any); `*` and `?`, case-sensitive; all must match",
            {"tool_name": ["write_*"]},
        ),
    ] = None
    timeout_s: Annotated[Optional[float], doc("seconds to answer, 0.05 to 600; null is 5", 2.0)] = (
        None
    )
    on_failure: Annotated[
        Optional[OnFailure],
        doc(
            "`closed`: a failed answer denies; `open`: it abstains; null is the catalogue's",
            "closed",
        ),
    ] = None
    priority: Annotated[Optional[int], doc("high is asked first; null is 0", 0)] = None
    replaces: Annotated[
        Optional[bool], doc("true: the answers may replace or substitute, and come first", False)
    ] = None
    include: Annotated[Optional[list[str]], doc("heavy fields to fill in", [])] = None
    subagents: Annotated[
        Optional[bool],
        doc(
            "hear child agents; null is yes for tools, model calls and questions to the user, no for the rest",
            True,
        ),
    ] = None
    optional: Annotated[
        Optional[bool], doc("true: no error where the host does not know the name", False)
    ] = None
    meta_: Annotated[Any, doc("free, for the plugin's own use")] = msgspec.field(
        default=None, name="_meta"
    )


class CommandSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A slash command of the plugin."""

    name: Annotated[str, doc("the name without the slash: `[a-z][a-z0-9_-]{0,31}`", "deploys")]
    description: Annotated[Optional[str], doc("one line for `/help`", "Show the last deploys.")] = (
        None
    )


class EnvWant(msgspec.Struct, frozen=True, kw_only=True):
    """An environment variable that the plugin asks for."""

    name: Annotated[str, doc("the variable", "DEPLOY_TOKEN")]
    required: Annotated[Optional[bool], doc("the plugin cannot work without it", True)] = None
    secret: Annotated[
        Optional[bool],
        doc("false: its value may be shown; all others are redacted in traces and logs", True),
    ] = None
    why: Annotated[Optional[str], doc("what for, for the user", "to reach the deploy service")] = (
        None
    )


class Manifest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a plugin declares: the result of `initialize`.

    Only `protocol_version` and `name` are required.
    """

    protocol_version: Annotated[int, doc("one of the host's versions", 1)]
    name: Annotated[str, doc("the plugin's name: `[a-z0-9][a-z0-9_-]{0,63}`", "guard")]
    version: Annotated[Optional[str], doc("the plugin's version", "1.2.0")] = None
    description: Annotated[
        Optional[str], doc("one line for people", "Keeps agents from deleting trees.")
    ] = None
    subscriptions: Annotated[
        Optional[list[Subscription]],
        doc("the hooks and events it wants", [{"event": "pre_tool_call"}]),
    ] = None
    tools: Annotated[Optional[list[ToolSpec]], doc("the tools it offers", [])] = None
    commands: Annotated[Optional[list[CommandSpec]], doc("the slash commands it offers", [])] = None
    uses: Annotated[Optional[list[Uses]], doc("what it asks of the host", [])] = None
    env: Annotated[Optional[list[EnvWant]], doc("the environment it wants", [])] = None
    config_schema: Annotated[
        Optional[dict[str, Any]],
        doc("JSON Schema of its settings; it also says which are secret", {}),
    ] = None
    disabled: Annotated[Optional[str], doc("leave me out, and tell the user why")] = None


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

    text: Annotated[str, doc("the text", "web: deployed at noon")] = ""


class CancelParams(msgspec.Struct, frozen=True, kw_only=True):
    """One request is withdrawn."""

    id: Annotated[Union[int, str], doc("the request's id", 7)]


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
    """A text for the session's next model call, in the user's role, labelled with the plugin's name; child agents do not take it."""

    session_id: Annotated[str, doc("the session", "s-1")]
    text: Annotated[str, doc("the text", "the deploy has finished")]


class InjectResult(msgspec.Struct, frozen=True, kw_only=True):
    """The text waits for the next model call."""

    queued: Annotated[bool, doc("true", True)] = True


class InterruptParams(msgspec.Struct, frozen=True, kw_only=True):
    """Asks for the session's turn to be interrupted."""

    session_id: Annotated[str, doc("the session", "s-1")]
    turn_id: Annotated[Optional[str], doc("only if this turn is still open", "t-1")] = None
    reason: Annotated[str, doc("why, for people", "the budget is spent")]


class InterruptResult(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a turn was interrupted."""

    interrupted: Annotated[bool, doc("false where none was open, or another than asked", True)]


class ProgressParams(msgspec.Struct, frozen=True, kw_only=True):
    """How far a request under way has come; it never extends the timeout."""

    id: Annotated[int, doc("the host's request", 7)]
    message: Annotated[Optional[str], doc("what is being done", "uploading")] = None
    fraction: Annotated[Optional[float], doc("0 to 1", 0.5)] = None


class Method(msgspec.Struct, frozen=True):
    """One method of the wire.

    Attributes:
        name: the method; the catalogue's entries have one each (`hook/NAME`, `event/NAME`).
        by: who sends it.
        kind: `request`, which is answered, or `notification`, which is not.
        params: the Struct of its params.
        result: the Struct of the answer, or None where any value does or none comes.
        says: what it is for, for people.
        grant: what `uses` must list before a plugin may send it.
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
        "stop that work; any reply settles it, best -32800 at once",
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
        "show the user an alert; does not fire `notification`",
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
        "host/interrupt",
        "plugin",
        "request",
        InterruptParams,
        InterruptResult,
        "interrupt the session's turn",
        grant="interrupt",
    ),
    Method(
        "$/progress", "plugin", "notification", ProgressParams, None, "how far a request has come"
    ),
)
"""Every method but the catalogue's, which are `hook/NAME` (request, answered by an `Answer`) and `event/NAME` (notification)."""

METHOD_BY_NAME: Final = {method.name: method for method in METHODS}

HEAVY_FIELDS: Final = tuple(
    dict.fromkeys(name for entry in CATALOGUE.values() for name in entry.heavy)
)
"""What `include` may name."""

NAME_PATTERNS: Final = {
    "plugin": r"[a-z0-9][a-z0-9_-]{0,63}",
    "tool": r"[A-Za-z0-9_-]{1,64}",
    "command": r"[a-z][a-z0-9_-]{0,31}",
}
"""What names may look like, whole; tools' names are what model APIs accept."""

RESERVED_COMMANDS: Final = ("stop", "new", "reset", "quit", "exit", "help")
"""Commands that are the agent's, always."""
