"""The catalogue: every hook and event.

The host's dispatch, the schema, the documents and the tests read this table.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final, Literal, Optional, Union

import msgspec

from . import payloads, questions
from .limits import MAX_SUBSCRIPTIONS_TO_TOOL_END, MAX_SUBSCRIPTIONS_TO_TURN_END
from .shapes import Message, Payload, ToolResult, Usage

Kind = Literal["hook", "event"]
OnFailure = Literal["open", "closed"]

# generated: names
HookName = Literal[
    "session_start",
    "user_prompt_submit",
    "pre_llm_call",
    "pre_tool_call",
    "post_tool_call",
    "stop",
    "subagent_start",
]
EventName = Literal[
    "session_reset",
    "session_end",
    "turn_start",
    "post_llm_call",
    "llm_call_failed",
    "agent_loop_stopped",
    "submission_end",
    "turn_end",
    "notification",
    "user_input_required",
    "user_input_received",
    "subagent_stop",
]
# end


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One hook or event.

    Attributes:
        name: the name in subscriptions; the method is `hook/NAME` or `event/NAME`.
        kind: `hook`: the host asks and waits; `event`: the host tells.
        payload: the Struct of its params.
        fires: when it fires, for people.
        decisions: the decisions that an answer may have.
        replace: payload fields that `replace` may name.
        substitute: fields that `substitute` may name: each replaces the field of that name in the
            paired entry. The first one must be there.
        context: where the texts of `context` go to, for people; "" if answers may not have
            `context`.
        continues: answers may have `continue_with`.
        attempts: a subscription may have `attempts`.
        on_failure: what a failed answer counts as, unless the subscription says otherwise; None for
            events.
        heavy: payload fields that are null unless the subscription includes them.
        pair: the entry that ends what this one begins, once for each.
        subagents: the default of a subscription's `subagents`.
        urgent: never dropped from a full queue, since it starts, ends or interrupts something.
        max_subscriptions: how many a plugin may have to it, if they are fewer than of others: it is
            told inside an interrupt, which may not take long. `match` may then name the entry's own
            fields alone, none of the common ones.
    """

    name: str
    kind: Kind
    payload: type[Payload]
    fires: str
    decisions: tuple[str, ...] = ()
    replace: tuple[str, ...] = ()
    substitute: tuple[str, ...] = ()
    context: str = ""
    continues: bool = False
    attempts: bool = False
    on_failure: Optional[OnFailure] = None
    heavy: tuple[str, ...] = ()
    pair: Optional[str] = None
    subagents: bool = False
    urgent: bool = False
    max_subscriptions: Optional[int] = None

    @property
    def in_interrupt(self) -> bool:
        """It is told inside an interrupt."""
        return self.max_subscriptions is not None

    @property
    def method(self) -> str:
        """The method, with the entry's kind: `hook/NAME` or `event/NAME`."""
        return f"{self.kind}/{self.name}"

    @property
    def answer_fields(self) -> tuple[str, ...]:
        """The fields that an answer may have, in the order of `Answer`."""
        fields: list[str] = []
        if self.decisions:
            fields += ["decision", "reason"]
        if self.replace:
            fields.append("replace")
        if self.substitute:
            fields.append("substitute")
        if self.context:
            fields.append("context")
        if self.continues:
            fields.append("continue_with")
        return tuple(fields)


_ENTRIES: Final = (
    Entry(
        name="session_start",
        kind="hook",
        payload=payloads.SessionStart,
        fires="once, before the first prompt",
        context="system text of the session",
        on_failure="open",
        pair="session_end",
        urgent=True,
    ),
    Entry(
        name="session_reset",
        kind="event",
        payload=payloads.SessionReset,
        fires="`/new`: after the old `session_end`, before the new `session_start`",
        urgent=True,
    ),
    Entry(
        name="session_end",
        kind="event",
        payload=payloads.SessionEnd,
        fires="once, on every way out",
        urgent=True,
    ),
    Entry(
        name="turn_start",
        kind="event",
        payload=payloads.TurnStart,
        fires="once a turn, from the moment the turn exists",
        pair="turn_end",
        urgent=True,
    ),
    Entry(
        name="user_prompt_submit",
        kind="hook",
        payload=payloads.UserPromptSubmit,
        fires="before the model sees the text",
        decisions=("deny",),
        replace=("text",),
        context="beside this message",
        on_failure="open",
    ),
    Entry(
        name="pre_llm_call",
        kind="hook",
        payload=payloads.PreLlmCall,
        fires="before each model call",
        decisions=("deny",),
        replace=("model", "route", "messages", "tools"),
        substitute=("response", "usage", "finish_reason"),
        context="in this model call",
        attempts=True,
        on_failure="open",
        heavy=("tools", "messages"),
        subagents=True,
    ),
    Entry(
        name="post_llm_call",
        kind="event",
        payload=payloads.PostLlmCall,
        fires="after each model call that succeeded",
        heavy=("response",),
        subagents=True,
    ),
    Entry(
        name="llm_call_failed",
        kind="event",
        payload=payloads.LlmCallFailed,
        fires="each failed attempt",
        subagents=True,
    ),
    Entry(
        name="pre_tool_call",
        kind="hook",
        payload=payloads.PreToolCall,
        fires="arguments parsed, the tool not yet run",
        decisions=("allow", "deny", "ask"),
        replace=("arguments",),
        substitute=("result",),
        context="behind the tool's result",
        on_failure="closed",
        pair="post_tool_call",
        subagents=True,
    ),
    Entry(
        name="post_tool_call",
        kind="hook",
        payload=payloads.PostToolCall,
        fires="once for each call whose `pre_tool_call` was fired",
        replace=("result",),
        context="behind the tool's result",
        on_failure="open",
        subagents=True,
        urgent=True,
        max_subscriptions=MAX_SUBSCRIPTIONS_TO_TOOL_END,
    ),
    Entry(
        name="stop",
        kind="hook",
        payload=payloads.Stop,
        fires="once per user-visible response: the model is done, control is about to return; "
        "again after each `continue_with`; never on interrupt or error",
        continues=True,
        on_failure="open",
    ),
    Entry(
        name="agent_loop_stopped",
        kind="event",
        payload=payloads.AgentLoopStopped,
        fires="at the moment of an interrupt",
        urgent=True,
        max_subscriptions=MAX_SUBSCRIPTIONS_TO_TURN_END,
    ),
    Entry(
        name="submission_end",
        kind="event",
        payload=payloads.SubmissionEnd,
        fires="once for each message that `host/submit` took: before its `turn_end`, or when it "
        "was dropped",
        urgent=True,
        max_subscriptions=MAX_SUBSCRIPTIONS_TO_TURN_END,
    ),
    Entry(
        name="turn_end",
        kind="event",
        payload=payloads.TurnEnd,
        fires="exactly once per `turn_start`",
        urgent=True,
        max_subscriptions=MAX_SUBSCRIPTIONS_TO_TURN_END,
    ),
    Entry(
        name="notification",
        kind="event",
        payload=payloads.Notification,
        fires="the user is told something by the agent, the host or another plugin",
    ),
    Entry(
        name="user_input_required",
        kind="event",
        payload=questions.UserInputRequired,
        fires="a person is asked: the loop pauses, or a plugin asks",
        subagents=True,
    ),
    Entry(
        name="user_input_received",
        kind="event",
        payload=questions.UserInputReceived,
        fires="the question is over; once for each, unless its turn ends before",
        subagents=True,
    ),
    Entry(
        name="subagent_start",
        kind="hook",
        payload=payloads.SubagentStart,
        fires="a child agent begins",
        context="system text of the child",
        on_failure="open",
        pair="subagent_stop",
        urgent=True,
    ),
    Entry(
        name="subagent_stop",
        kind="event",
        payload=payloads.SubagentStop,
        fires="a child agent ended",
        urgent=True,
        max_subscriptions=MAX_SUBSCRIPTIONS_TO_TURN_END,
    ),
)

CATALOGUE: Final = MappingProxyType({entry.name: entry for entry in _ENTRIES})
"""Every entry by its name, in the catalogue's order."""

SUBSTITUTES: Final = MappingProxyType(
    {"response": Message, "usage": Usage, "finish_reason": str, "result": ToolResult}
)
"""The shape of each field that `substitute` may name. A bare string is a result's content."""

REPLACEMENTS: Final = MappingProxyType({"messages": list[Union[Message, tuple[int, int]]]})
"""The shape of each field of which `replace` takes more than the payload has.

A pair `[from, to]` among messages keeps those of the payload, counted from 0, without `to`.
"""


_LONGEST_NAME: Final = 100
"""A longer one is no misspelling of a known name, and slow to compare."""
_MOST_NAMES: Final = 512
"""So many are looked at: models misspell tools, of which plugins offer any number."""
_COMPARED: Final = 16
"""So many are compared closely: 0.5 ms for two of the longest names."""


def nearest(name: str, known: tuple[str, ...] | list[str]) -> str | None:
    """The known name that is most likely meant by `name`, or None."""
    import difflib  # imported here, since it would slow every plugin's start

    if len(name) > _LONGEST_NAME:
        return None
    given = name.lower().replace("-", "_")
    folded = {k[:_LONGEST_NAME].lower().replace("-", "_"): k for k in known[:_MOST_NAMES]}
    likely = list(folded)
    if len(likely) > _COMPARED:
        matcher = difflib.SequenceMatcher(b=given)

        def letters_in_common(other: str) -> float:
            matcher.set_seq1(other)
            return matcher.quick_ratio()

        # `sorted` keeps the order of equals, as `get_close_matches` does
        likely = sorted(likely, key=letters_in_common, reverse=True)[:_COMPARED]
    close = difflib.get_close_matches(given, likely, n=1, cutoff=0.6)
    return folded[close[0]] if close else None
