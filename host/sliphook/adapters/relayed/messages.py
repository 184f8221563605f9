"""Pure: what an MCP server of ours and the daemon of a session say to each other.

A request is the body of a `HookRequest` whose event is `EVENT`; replies are JSON, a line each, and
so is the answer to a question of the daemon's. The daemon gives up what was asked if the connection
is closed.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from sliphook import CommandOffer, ToolOffer, ToolOutcome
from sliphook_sdk.protocol import Part

EVENT: Final = "mcp"
"""In place of the agent's name of an event."""
SERVER: Final = "sliphook"
"""What our server is called in an agent: it is part of the names that the agent gives its tools."""


class WatchOffers(msgspec.Struct, frozen=True, tag="watch"):
    """Say what there is, now and whenever that changes: pages of `Offers`, until the session's end.

    Attributes:
        session_id: the agent's session; "" if it is not known.
    """

    session_id: str


class CallTool(msgspec.Struct, frozen=True, tag="call"):
    """Call a tool: any number of `Progressed` and of questions, then `Called` or `NotDone`.

    Attributes:
        session_id: as for `WatchOffers`.
        name: the tool.
        arguments: parsed.
        model_call_id: by which the call is found if a hook has told of it; None: by the rest.
        asks: the client has forms for its person.
    """

    session_id: str
    name: str
    arguments: dict[str, Any]
    model_call_id: str | None = None
    asks: bool = False


class RunCommand(msgspec.Struct, frozen=True, tag="command"):
    """Run a slash command: `Ran` or `NotDone`."""

    session_id: str
    name: str
    text: str = ""


Asked = WatchOffers | CallTool | RunCommand


class Offers(msgspec.Struct, frozen=True, tag="offers"):
    """The tools and commands of all plugins, in the order of installation.

    Attributes:
        more: this is a page, and others follow; the last one has neither tools nor commands.
    """

    tools: tuple[ToolOffer, ...] = ()
    commands: tuple[CommandOffer, ...] = ()
    more: bool = False


class Progressed(msgspec.Struct, frozen=True, tag="progress"):
    """How far the call has come: 0 to 1, or None, and what is being done."""

    fraction: float | None = None
    message: str | None = None


class PersonQuestion(msgspec.Struct, frozen=True, tag="question"):
    """A plugin asks the person: the client is to answer with `PersonAnswer`.

    Attributes:
        id: of this question on this connection.
        prompt: safe to show.
        schema: of the answer, a flat object.
    """

    id: int
    prompt: str
    schema: dict[str, Any]


class QuestionOver(msgspec.Struct, frozen=True, tag="settled"):
    """A question is over without the person's answer."""

    id: int


class PersonAnswer(msgspec.Struct, frozen=True):
    """What came of a question.

    Attributes:
        id: the question's.
        content: what fits the schema; None if the person declines.
        failed: why they cannot be asked, or None.
    """

    id: int
    content: dict[str, Any] | None = None
    failed: str | None = None


class Called(msgspec.Struct, frozen=True, kw_only=True, tag="called"):
    """What the model reads of a call, with the labelled texts of plugins."""

    content: str
    is_error: bool = False
    data: Any = None
    parts: list[Part] | None = None
    context: tuple[str, ...] = ()


class Ran(msgspec.Struct, frozen=True, tag="ran"):
    """What a command has said."""

    text: str


class NotDone(msgspec.Struct, frozen=True, tag="refused"):
    """It could not be done; `why` is one line."""

    why: str


Said = Offers | Progressed | PersonQuestion | QuestionOver | Called | Ran | NotDone

msgspec.json.Decoder(Asked)  # reads the types now, for `read_asked`
SAID: Final[msgspec.json.Decoder[Said]] = msgspec.json.Decoder(Said)
ANSWER: Final = msgspec.json.Decoder(PersonAnswer)
MAX_ANSWER_BYTES: Final = 64 * 1024
"""Of an answer's line, which a person types."""


def read_asked(value: object) -> Asked | None:
    """The request of that JSON; None if it is none."""
    try:
        found: Asked = msgspec.convert(value, Asked)
    except (msgspec.ValidationError, RecursionError):
        return None
    return found


def answer_line(answer: PersonAnswer) -> bytes:
    """An answer as it is sent; one that is too long is none.

    Raises:
        UnicodeEncodeError: it has half a character.
    """
    line = msgspec.json.encode(answer)
    if len(line) >= MAX_ANSWER_BYTES:
        line = msgspec.json.encode(PersonAnswer(answer.id, failed="the answer is too long"))
    return line + b"\n"


def called(outcome: ToolOutcome, *more: str) -> Called:
    """The outcome of a call; `more` are further labelled texts for the model."""
    result = outcome.result
    return Called(
        content=result.content,
        is_error=bool(result.is_error),
        data=result.data,
        parts=result.parts or None,
        context=(*(one.labelled() for one in outcome.context), *more),
    )
