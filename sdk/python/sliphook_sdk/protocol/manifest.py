"""What a plugin declares: its manifest, the names it may use, the grants it may ask for."""

from __future__ import annotations

import re
from typing import Annotated, Any, Final, Literal, Optional, Union

import msgspec

from .catalogue import CATALOGUE, Kind, OnFailure
from .describe import doc
from .shapes import ToolSpec

Uses = Literal["notify", "tools", "inject", "interrupt", "submit", "route", "approve", "ask"]
"""What the user may grant a plugin: requests to the host, and to say where model calls go."""

HEAVY_FIELDS: Final = tuple(
    dict.fromkeys(name for entry in CATALOGUE.values() for name in entry.heavy)
)
"""The fields that `include` may name."""

NAME_PATTERNS: Final = {
    "plugin": r"[a-z0-9][a-z0-9_-]{0,63}",
    "tool": r"[A-Za-z0-9_-]{1,64}",
    "command": r"[a-z][a-z0-9_-]{0,31}",
}
"""The pattern of a whole name. Names of tools are those that model APIs accept."""

RESERVED_PLUGINS: Final = (
    "agent",
    "host",
    "user",
    "sliphook",
    "mcp",
    "system",
    "assistant",
    "model",
    "tool",
    "none",
)
"""Names that no plugin may have.

People, guards and models read a plugin's name where it says who did or said something: in `origin`,
in reasons, in front of texts for the model. These words mean someone else there.
"""

RESERVED_COMMANDS: Final = ("stop", "new", "reset", "quit", "exit", "help")
"""Commands that always belong to the agent."""


def why_no_plugin_name(name: str) -> Optional[str]:
    """Why no plugin may have this name, as words behind it; None if one may."""
    if re.fullmatch(NAME_PATTERNS["plugin"], name) is None:
        return f"cannot be a plugin's name: names are {NAME_PATTERNS['plugin']}"
    if name in RESERVED_PLUGINS:
        return (
            "cannot be a plugin's name: it would say that someone else has done what the plugin"
            f" does; take another one than {', '.join(RESERVED_PLUGINS)}"
        )
    return None


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
            "`hook`: be asked; `event`: be told, with the final payload. "
            "null is the catalogue's kind",
            "hook",
        ),
    ] = None
    match: Annotated[
        Optional[dict[str, Optional[Union[str, list[str]]]]],
        doc(
            "string fields of the payload, each with a pattern or a list of them (any); "
            "`*` and `?`, case-sensitive; all must match",
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
            "hear child agents; null is yes for tools, model calls and questions to the user, "
            "no for the rest",
            True,
        ),
    ] = None
    attempts: Annotated[
        Optional[bool],
        doc("in `pre_llm_call`: be asked before each attempt, not before the first alone", False),
    ] = None
    optional: Annotated[
        Optional[bool], doc("true: no error if the host does not know the name", False)
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
    servers: Annotated[
        Optional[list[str]],
        doc(
            "servers that it wants to send model calls to, `HOST` or `HOST:PORT`; needs `route`",
            [],
        ),
    ] = None
    config_schema: Annotated[
        Optional[dict[str, Any]],
        doc("JSON Schema of its settings; it also says which are secret", {}),
    ] = None
    disabled: Annotated[Optional[str], doc("leave me out, and tell the user why")] = None
