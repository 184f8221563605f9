"""Pure: what an agent told a hook, in our words; one struct for each kind of happening.

Their ids and texts are untrusted: they are of the right type and length, nothing more.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from sliphook_sdk.protocol import ToolKind

from .server_tools import ServerTool

StartSource = Literal["startup", "resume", "reset", "compacted"]
EndReason = Literal["exit", "reset", "error"]
ChildStatus = Literal["completed", "failed", "cancelled"]


class Happening(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """What every happening has.

    Attributes:
        event: the agent's name of the event.
        session_id: the agent's id of the session.
        cwd, transcript_path: absolute paths; None if the agent does not say.
        turn_id: the agent's id of the turn, or of its prompt.
        agent_id, agent_type: the child agent in which it happened; None in the root.
        permission_mode, model: as the agent calls them.
        at_s: when, in seconds since 1970; None if it is not told.
    """

    event: str
    session_id: str
    cwd: str | None = None
    transcript_path: str | None = None
    turn_id: str | None = None
    agent_id: str | None = None
    agent_type: str | None = None
    permission_mode: str | None = None
    model: str | None = None
    at_s: float | None = None


class SessionStarted(Happening, frozen=True, kw_only=True):
    """A session begins or goes on. `compacted` and `reset` are of a session that was open."""

    source: StartSource


class SessionEnded(Happening, frozen=True, kw_only=True):
    """A session is over; `turns` and `tokens` are those of the whole session."""

    reason: EndReason
    turns: int | None = None
    tokens: int | None = None


class TurnBegun(Happening, frozen=True, kw_only=True):
    """A turn exists from now on; `index` from 1, counted in the session."""

    index: int


class TurnEnded(Happening, frozen=True, kw_only=True):
    """A turn is over; `outcome` as in our `turn_end`."""

    outcome: str
    index: int | None = None


class Prompted(Happening, frozen=True, kw_only=True):
    """A text is about to reach the model; `queued`: the agent wrote it, no person.

    With an `agent_id` it is the task of that child agent.
    """

    text: str
    queued: bool = False
    turn_index: int | None = None


class OfTool(Happening, frozen=True, kw_only=True):
    """What is said of one tool call.

    Attributes:
        tool_name: as the agent calls it.
        tool_kind: what it does; None if that is not known.
        origin: `agent`, or `mcp:SERVER`.
        arguments: what it is called with.
        model_call_id: the model's own id of the call; None if the agent does not say.
        doubt: why the tool may take other arguments than these, as a sentence; None if it does not.
        server_tool: what is known of its name, if it may have others; None: it has this one.
    """

    tool_name: str
    tool_kind: ToolKind | None
    origin: str
    arguments: dict[str, Any]
    model_call_id: str | None = None
    doubt: str | None = None
    server_tool: ServerTool | None = None


class ToolAsked(OfTool, frozen=True, kw_only=True):
    """A tool is about to run."""


class ToolDone(OfTool, frozen=True, kw_only=True):
    """A tool has run.

    Attributes:
        status: how it ended; `interrupted` by the person.
        status_known: false: the agent does not say, and `ok` is only likely.
        content: the result as text.
        data: the result as the agent has it.
        duration_ms: None if the agent does not say.
    """

    status: Literal["ok", "error", "interrupted"]
    status_known: bool = True
    content: str
    data: Any
    duration_ms: float | None = None


class ToolDenied(OfTool, frozen=True, kw_only=True):
    """A tool may not run; `reason` is what the model reads."""

    reason: str


class CallEnd(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a batch: what the model reads of it."""

    model_call_id: str
    tool_name: str
    content: str


class BatchDone(Happening, frozen=True, kw_only=True):
    """All tool calls of one answer of the model are over, the denied ones too."""

    calls: tuple[CallEnd, ...]


class PermissionAsked(OfTool, frozen=True, kw_only=True):
    """The agent asks its person whether a tool may run."""


class StopAsked(Happening, frozen=True, kw_only=True):
    """The model is done.

    Attributes:
        again: it was sent on by a hook before, in this turn.
        last_assistant_message: None if the agent does not say.
        prompt: what the person wrote last.
        turns: of the session, this one included.
    """

    again: bool = False
    last_assistant_message: str | None = None
    prompt: str | None = None
    turns: int | None = None


class TurnFailed(Happening, frozen=True, kw_only=True):
    """A turn ended by an error, of the model mostly."""

    kind: str
    message: str
    turn_index: int | None = None


class TurnInterrupted(Happening, frozen=True, kw_only=True):
    """The person stopped the turn."""


class SubagentStarted(Happening, frozen=True, kw_only=True):
    """A child agent begins; `agent_id` is its own. `goal`: None if the agent does not say."""

    goal: str | None = None


class SubagentStopped(Happening, frozen=True, kw_only=True):
    """A child agent ended; `agent_id` is its own."""

    status: ChildStatus = "completed"
    summary: str | None = None
    goal: str | None = None
    duration_s: float | None = None


class Notified(Happening, frozen=True, kw_only=True):
    """The person is told something; `kind` as the agent calls it, or our level of the alert.

    `asks`: they are asked so whether a tool may run.
    """

    kind: str
    message: str
    asks: bool = False


class PersonAsked(Happening, frozen=True, kw_only=True):
    """A person is asked something; `call` is the tool call that waits, if one does."""

    kind: str
    message: str
    call: PermissionAsked | None = None


class PersonAnswered(Happening, frozen=True, kw_only=True):
    """What the person, or a plugin in their place, chose: `allow`, `deny` or the answer."""

    kind: str
    choice: str
    by: str
    call: PermissionAsked | None = None


class Elicited(Happening, frozen=True, kw_only=True):
    """An MCP server asks the person something."""

    server: str
    message: str


class ElicitationAnswered(Happening, frozen=True, kw_only=True):
    """The person has answered an MCP server: `accept`, `decline`, `cancel`."""

    server: str
    action: str


class ModelAsked(Happening, frozen=True, kw_only=True):
    """A model call is about to be made; `messages` are what of them is text.

    Attributes:
        messages: role and text of each.
        index: which call of the turn it is, from 1.
        prompt: what the person wrote last.
    """

    messages: tuple[tuple[str, str], ...]
    index: int | None = None
    prompt: str | None = None


class ModelAnswered(Happening, frozen=True, kw_only=True):
    """A piece of what the model says.

    Attributes:
        text: this piece.
        last: no more comes of this answer.
        usage: input and output tokens; None if the agent does not say.
        prompt: what the person wrote last.
    """

    text: str
    last: bool
    usage: tuple[int, int] | None = None
    prompt: str | None = None


class Misread(msgspec.Struct, frozen=True, kw_only=True):
    """The agent said something that could not be read; `why` is a sentence for people."""

    event: str
    why: str
