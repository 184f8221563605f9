"""Pure: the shape of one agent's table, and the two things that it is for: to read, to write."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, cast

import msgspec

from sliphook.quoting import quote

from .answer import HookAnswer, HookReply
from .reading import Fields, WrongField
from .told import Happening, Misread, Prompted, SessionStarted, ToolAsked, ToolDone
from .toolnames import ToolNames
from .transcript import Transcript

How = Literal["exact", "approximate", "impossible"]

Reader = Callable[[str, Fields, ToolNames], Happening]
"""From the event's name and its fields to what was told. Raises `WrongField`."""


class Effect(msgspec.Struct, frozen=True):
    """What one of our answers does in the agent; `how` exact needs no words."""

    how: How
    limits: str = ""


EXACT: Final = Effect("exact")

NOT_ASKED: Final = "sliphook: the guards could not be asked, so this is denied."
"""What the model or the person reads where the client reaches no daemon."""

UNREACHED: Final = HookReply(stderr=f"{NOT_ASKED}\n", exit_code=2)
"""What most agents take as a deny; the text is read by the model."""


def about(limits: str) -> Effect:
    """Nearly what we mean."""
    return Effect("approximate", limits)


def never(why: str) -> Effect:
    """The agent has no way to take this answer."""
    return Effect("impossible", why)


class DialectEntry(msgspec.Struct, frozen=True, kw_only=True):
    """How one entry of our catalogue comes to be in the agent.

    Attributes:
        ours: the entry's name.
        how: whether it fires as the catalogue says.
        theirs: the events that it is made of; empty if it comes from us alone.
        limits: what is not as the catalogue says, or why it never fires; "" if exact.
        answers: what each answer does: `deny`, `ask`, `allow`, `replace.FIELD`,
            `substitute.FIELD`, `context`, `continue_with`. Empty if it never fires, and for events.
    """

    ours: str
    how: How
    theirs: tuple[str, ...] = ()
    limits: str = ""
    answers: Mapping[str, Effect] = {}


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """Where the agent's hooks are written, and how.

    Attributes:
        user: the file of the user, from the home folder.
        folder_variable: a variable that names another folder in place of the user file's.
        project: the file of a project, from its root; None if the agent runs no hooks of one, or
            if that was not seen.
        shared: the file has other things in it, and hooks of others.
        first: what a new file begins with.
        groups: each hook stands in a group with a matcher.
        kind: the handler says `"type": "command"`.
        in_shell: the agent was seen to give the command to a shell.
        command, timeout: the names of the handler's fields.
        timeout_unit_s: the unit of `timeout`, in seconds.
        longest_s: events to which the agent gives less time, in seconds.
        closed: a field of the handler, and its value, by which the agent itself denies if the
            command cannot be run; None if it has no such field.
        closed_events: the events that take `closed`.
        switched_off: a field of the file, and its value, by which the agent runs no hooks.
        trust: what the user has to do before the agent runs the hooks; "" if nothing.
        trust_file: where, beside the user's file, the agent keeps what its user has accepted, as
            Codex does; None if that cannot be seen.
    """

    user: str
    folder_variable: str | None = None
    project: str | None = None
    shared: bool = True
    first: Mapping[str, Any] = {}
    groups: bool = True
    kind: bool = True
    in_shell: bool = True
    command: str = "command"
    timeout: str = "timeout"
    timeout_unit_s: float = 1.0
    longest_s: Mapping[str, float] = {}
    closed: tuple[str, Any] | None = None
    closed_events: tuple[str, ...] = ()
    switched_off: tuple[str, Any] | None = None
    trust: str = ""
    trust_file: str | None = None

    def hook(self, event: str, command: str, *, timeout_s: float, closed: bool) -> dict[str, Any]:
        """One item of the list under `hooks`, `event`.

        Args:
            event: the agent's name of the event.
            command: what the agent gives to a shell.
            timeout_s: after which the agent gives up.
            closed: a hook that cannot be run is to deny, where the agent can do that.
        """
        handler: dict[str, Any] = {"type": "command"} if self.kind else {}
        handler[self.command] = command
        within_s = min(timeout_s, self.longest_s.get(event, timeout_s))
        handler[self.timeout] = round(within_s / self.timeout_unit_s)
        if closed and self.closed is not None and event in self.closed_events:
            name, value = self.closed
            handler[name] = value
        return {"matcher": "*", "hooks": [handler]} if self.groups else handler


class ServerConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Where the agent's MCP servers are written, and how: under their names, in one object.

    Attributes:
        user: the file of the user, from the home folder; in TOML if it ends so.
        folder_variable: a variable that names another folder in place of the user file's.
        project: the file of a project, from its root; None if that was not seen.
        servers: the name of the object.
        fields: more fields of a server than its command and arguments.
        variables: a field with the names of the variables that the server gets; None: it gets all.
    """

    user: str
    folder_variable: str | None = None
    project: str | None = None
    servers: str = "mcpServers"
    fields: Mapping[str, Any] = {}
    variables: str | None = None


_WITH_CONTEXT: Final[Mapping[type[Happening], str]] = {
    SessionStarted: "session_start",
    Prompted: "user_prompt_submit",
    ToolAsked: "pre_tool_call",
    ToolDone: "post_tool_call",
}


class Dialect(msgspec.Struct, frozen=True, kw_only=True):
    """One agent.

    Attributes:
        name: as `attach` takes it.
        title: as people call it.
        programs: what one of may be on PATH.
        seen: the version with which all this was tried, or that it was not.
        entries: every entry of our catalogue, in its order.
        readers: how each event is read, by its name.
        writer: from what was told and what plugins came to, to the reply.
        tools: the names of its tools.
        config: where its hooks are written.
        server: where its MCP servers are written.
        life: the events without which no session can be kept.
        turns: the events without which no turn can be kept.
        guards: what the client says, by event, when a guard could not be asked.
        environment: the variables of the agent that the daemon may have.
        transcript: tells of interrupts that no hook tells of; None if it does not.
        asks_person: it asks its person if a hook says so; else that is a deny.
        starts_beside_prompt: it tells a session's start and its first prompt side by side.
    """

    name: str
    title: str
    programs: tuple[str, ...]
    seen: str
    entries: tuple[DialectEntry, ...]
    readers: Mapping[str, Reader]
    writer: Callable[[Happening, HookAnswer], HookReply]
    tools: ToolNames
    config: Config
    server: ServerConfig
    life: tuple[str, ...]
    turns: tuple[str, ...]
    guards: Mapping[str, HookReply]
    environment: tuple[str, ...] = ()
    transcript: Transcript | None = None
    asks_person: bool = True
    starts_beside_prompt: bool = False

    def entry(self, ours: str) -> DialectEntry:
        """The entry of that name of our catalogue."""
        return next(entry for entry in self.entries if entry.ours == ours)

    def takes_context(self, told: Happening) -> bool:
        """Whether the answer to it takes a text for the model, at once and for certain."""
        ours = _WITH_CONTEXT.get(type(told))
        if ours is None or told.agent_id is not None:
            return False  # the texts of `host/inject` are not for child agents
        effect = self.entry(ours).answers.get("context")
        if effect is None or effect.how == "impossible":
            return False
        failed = isinstance(told, ToolDone) and told.status != "ok"
        return effect.how == "exact" or not (failed or isinstance(told, ToolAsked))

    def read(self, event: str, payload: object) -> Happening | Misread:
        """What the agent tells with `payload`, the decoded JSON of a hook's stdin.

        Fields that are not known are ignored. Never raises; the time is that of one pass.
        """
        reader = self.readers.get(event)
        if reader is None:
            return Misread(event=event, why=f"{self.title} has no event {quote(event)} for us.")
        if not isinstance(payload, dict):
            return Misread(event=event, why=f"{self.title}'s {event} is no JSON object.")
        try:
            return reader(event, Fields(cast(dict[str, Any], payload)), self.tools)
        except WrongField as error:
            return Misread(event=event, why=f"{self.title}'s {event} could not be read: {error}.")

    def write(self, told: Happening, answer: HookAnswer) -> HookReply:
        """What the hook's process says to the agent.

        Arguments or a result that are not what JSON can carry become a deny: never raises.
        """
        try:
            return self.writer(told, answer)
        except (ValueError, TypeError, RecursionError):
            return self.writer(
                told, HookAnswer(denied="sliphook: the answer cannot be written as JSON")
            )

    def refuse(self, event: str, why: str) -> HookReply:
        """Denies what `event` announces without having read it; nothing if it cannot deny."""
        if event not in self.guards:
            return HookReply()
        told: Happening
        if event in self.entry("pre_tool_call").theirs:
            told = ToolAsked(
                event=event,
                session_id="",
                tool_name="",
                tool_kind=None,
                origin="agent",
                arguments={},
            )
        else:
            told = Prompted(event=event, session_id="", text="")
        return self.write(told, HookAnswer(denied=why))

    def withhold(self, event: str, why: str) -> HookReply:
        """Has the model read `why` in place of a result that could not be read, where it can be.

        Ends the turn, too: some agents take a result only in the shape that the tool gave.
        """
        told = ToolDone(
            event=event,
            session_id="",
            tool_name="",
            tool_kind="mcp",
            origin="agent",
            arguments={},
            status="ok",
            content="",
            data=None,
        )
        if not self.write(told, HookAnswer(result=why)).stdout:
            return HookReply()  # it takes no other result here
        return self.write(told, HookAnswer(result=why, end=why))
