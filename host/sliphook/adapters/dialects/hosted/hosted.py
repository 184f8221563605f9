"""Pure: the shape of the table of one system whose hooks run here."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, Literal, cast

import msgspec

from sliphook.adapters.dialects.answer import HookAnswer
from sliphook.adapters.dialects.dialect import Effect, How
from sliphook.adapters.dialects.told import (
    Happening,
    ModelAsked,
    OfTool,
    Prompted,
    StopAsked,
    ToolAsked,
    ToolDone,
)
from sliphook.errors import SliphookError
from sliphook_sdk.protocol import ToolKind, Uses

from .handler import Definitions, Handler
from .matchers import Rule
from .toolmap import TheirTools, known_kind

MAX_REASON_CHARS: Final = 8_000
"""Of what a command writes as its reason, so much is passed on."""

Format = Literal["json", "yaml", "toml"]
TOOL_NAMES: Final = ("tool_name", "toolName")
"""What they call the field that has the name of a tool."""

_NOT_RUN: Final = frozenset(
    {"command", "description", "explanation", "cwd", "workdir", "working_dir", "working_directory"}
)
"""Arguments of a shell that are no more commands."""


class CutShort(SliphookError):
    """What a hook says is not known; str() is what it did, in words that follow its name."""


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """How one command, or one request, ended.

    Attributes:
        exit_code: None if it was not run to its end.
        stdout, stderr: what it wrote; the body of a response is `stdout`.
        is_cut: there was more of `stdout` than is read.
        failure: why it was not run to its end, in words that follow its name.
        of_http: it was a request, which has no exit code of its own: 0 is a success.
    """

    exit_code: int | None
    stdout: str = ""
    stderr: str = ""
    failure: str | None = None
    of_http: bool = False
    is_cut: bool = False

    def body(self) -> dict[str, Any] | None:
        """The JSON object that `stdout` is, white space around it aside; None if it is none.

        Raises:
            CutShort: see `json_text`; or it is nested too deeply.
        """
        text = self.json_text()
        if text is None or not text.endswith("}"):
            return None
        try:
            decoded = json.loads(text)
        except ValueError:
            return None
        except RecursionError:
            raise CutShort("wrote JSON that is nested too deeply to be read") from None
        return cast(dict[str, Any], decoded) if isinstance(decoded, dict) else None

    def json_text(self) -> str | None:
        """`stdout`, if it begins as a JSON object does; else None.

        Raises:
            CutShort: it was more than is read, and the exit code does not block anyway; of white
                space alone it is not known what came behind.
        """
        text = self.stdout.strip().removeprefix("\ufeff").lstrip()
        if text and not text.startswith("{"):
            return None
        if self.is_cut and self.exit_code != 2:
            raise CutShort("wrote JSON of over 1 MiB, which is not read")
        if not text:
            return None
        return text

    @property
    def trouble(self) -> str:
        """What went wrong, in words that follow its name."""
        if self.failure is not None:
            return self.failure
        said = (self.stderr.strip() or self.stdout.strip()).splitlines()
        return f"exited with {self.exit_code}" + (f": {said[0][:200]}" if said else "")


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """What one hook came to, by the rules of its system.

    Attributes:
        answer: its part of the answer.
        failed: how it failed, in words that follow its name; None if it did not.
    """

    answer: HookAnswer = HookAnswer()
    failed: str | None = None


def always(told: Happening) -> bool:
    """For an event that comes whenever ours does."""
    return True


class HostedEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One event of the system.

    Attributes:
        theirs: its name.
        ours: the entry of our catalogue that it is fired from; "" if it never comes.
        how: whether it comes as the system says.
        limits: what is different, or why it never comes; "" if exact.
        fields: what stdin has beside the common fields, by the system's documents.
        missing: those of `fields` that are not there, each with the reason.
        answers: what is made of each of its answers, by our name of it.
        matched: the field that a matcher is held against; "" if it has none. Of a tool call it is
            the tool's name, or else an argument.
        when: whether it comes at this happening.
        blocks: it can deny, so that our subscription is closed.
        sequential: its hooks run one after the other, each with what the one before replaced.
        timeout_s: the default of this event, if it has one of its own.
    """

    theirs: str
    ours: str = ""
    how: How = "exact"
    limits: str = ""
    fields: tuple[str, ...] = ()
    missing: Mapping[str, str] = {}
    answers: Mapping[str, Effect] = {}
    matched: str = ""
    when: Callable[[Happening], bool] = always
    blocks: bool = False
    sequential: bool = False
    timeout_s: float | None = None


BESIDE_THE_PERSON: Final = (
    "Asked while the person is, too, if you grant `approve`; the first answer counts."
)
DECIDES: Final = MappingProxyType(
    {
        "deny": Effect("approximate", "Without its message"),
        "allow": Effect("approximate", "Without other arguments"),
    }
)
"""What an answer to a question to the person comes to."""


class Hosted(msgspec.Struct, frozen=True, kw_only=True):
    """One system.

    Attributes:
        name: as it is recorded.
        title: as people call it.
        seen: which version, or which documents and source, the table was made from.
        format: of its configuration.
        events: in the order in which those of one entry of ours run.
        common: the fields of every stdin.
        define: from the decoded configuration to its hooks. Raises `WrongField`.
        build: what a command reads on stdin, without what is None.
        judge: what the end of a command means; see `verdict`. Raises `CutShort`.
        rule: how its matchers are read.
        tools: the names of its tools and of their arguments.
        shell: what a command is given to; "" in front of `-c` is the user's own.
        raw_newline: stdin ends with a line end.
        sequential: hooks run one after the other, whatever the event.
        environment: the variables that a command has, by their names: `{project}`, `{session}`,
            `{root}` (of a plugin), `{data}`, `{env_file}`, `{event}`, `{tool}`, `{traceparent}` and
            `{stdin}` are filled in; a variable whose value is not there is left out.
        uses: what its answers may ask of the host: an alert, an interrupt.
        failure: its rule for a hook that fails, for people.
        ignored: what of an answer has no effect here, each with the reason.
    """

    name: str
    title: str
    seen: str
    format: Format
    events: tuple[HostedEvent, ...]
    common: tuple[str, ...]
    define: Callable[[Mapping[str, Any]], Definitions]
    build: Callable[[Happening], dict[str, Any]]
    judge: Callable[[HostedEvent, Handler, Happening, Ended], Judged]
    rule: Rule
    tools: TheirTools
    shell: tuple[str, ...] = ("/bin/sh", "-c")
    raw_newline: bool = False
    sequential: bool = False
    environment: Mapping[str, str] = {}
    uses: tuple[Uses, ...] = ("notify", "interrupt")
    failure: str = ""
    ignored: Mapping[str, str] = {}

    def named(self, name: str) -> tuple[HostedEvent, ...]:
        """The rows of that event; none if the system has none, as far as is known."""
        return tuple(event for event in self.events if event.theirs == name)

    def verdict(
        self, event: HostedEvent, handler: Handler, told: Happening, ended: Ended
    ) -> Judged:
        """What the end of a command means. An answer that is not known blocks where it could."""
        try:
            return self.judge(event, handler, told, ended)
        except CutShort as error:
            why = str(error)
            if event.blocks:
                answer = refused(told, f"a hook that has to be asked {why}")
                return Judged(answer=answer, failed=why)
            if isinstance(told, StopAsked) and "continue_with" in event.answers:
                # most likely a block with a long log; the host has it block a few times at most
                again = f"a hook that may have blocked the end of the turn {why}"
                return Judged(answer=HookAnswer(continue_with=again), failed=why)
            unread = Ended(exit_code=None, failure=why, of_http=ended.of_http)
            return self.judge(event, handler, told, unread)

    def stdin(self, told: Happening) -> bytes:
        """What a command reads. Raises what JSON cannot carry: ValueError, TypeError."""
        body = {name: value for name, value in self.build(told).items() if value is not None}
        # as the systems write it: UTF-8, but an escape for a lone surrogate
        text = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode("utf-8", "backslashreplace") + (b"\n" if self.raw_newline else b"")


def refused(told: Happening, reason: str) -> HookAnswer:
    """A deny of what has not happened yet; what has happened ends the turn."""
    if isinstance(told, (ToolAsked, Prompted, ModelAsked)):
        return HookAnswer(denied=reason)
    return HookAnswer(end=reason)


def reason_of(*texts: object) -> str:
    """The first of the texts that is one and not empty, at most 8,000 characters; else ""."""
    for text in texts:
        if isinstance(text, str) and text.strip():
            return text.strip()[:MAX_REASON_CHARS]
    return ""


def text_in(body: Mapping[str, Any], *names: str) -> str | None:
    """The first field of these names that is a text and not empty."""
    for name in names:
        value = body.get(name)
        if isinstance(value, str) and value:
            return value
    return None


def all_run(given: Mapping[str, Any]) -> str:
    """All that a shell may be given, each on a line; all arguments as JSON if none is `command`.

    Our tool may take another argument than that one, which the model has written beside it.
    """
    command = text_in(given, "command")
    if command is None:
        return json.dumps(given)
    others = [
        value if isinstance(value, str) else json.dumps(value)
        for name, value in given.items()
        if name not in _NOT_RUN and isinstance(value, (str, list, dict)) and value
    ]
    return "\n".join([command, *others])


def object_of(body: Mapping[str, Any], name: str) -> dict[str, Any] | None:
    """The field if it is an object."""
    value = body.get(name)
    return cast(dict[str, Any], value) if isinstance(value, dict) else None


def worked(told: Happening) -> bool:
    """The tool call has ended well."""
    return isinstance(told, ToolDone) and told.status == "ok"


def failed(told: Happening) -> bool:
    """The tool call has ended in an error."""
    return isinstance(told, ToolDone) and told.status == "error"


def kinds_of(told: OfTool) -> set[ToolKind]:
    """What a tool is known to do: by the agent, by its name, and by where it is from."""
    of_origin: ToolKind | None = "mcp" if told.origin.startswith("mcp:") else None
    kinds = (told.tool_kind, known_kind(told.tool_name), of_origin)
    return {kind for kind in kinds if kind is not None}


def may_be(kind: ToolKind) -> Callable[[Happening], bool]:
    """For an event of tools of one kind: it comes too if nothing is known of a tool."""

    def comes(told: Happening) -> bool:
        return isinstance(told, (ToolAsked, ToolDone)) and kind in (kinds_of(told) or {kind})

    return comes


def not_here(
    *names: str, why: str = "No hook or event here tells of it."
) -> tuple[HostedEvent, ...]:
    """Events that never come."""
    return tuple(HostedEvent(theirs=name, how="impossible", limits=why) for name in names)
