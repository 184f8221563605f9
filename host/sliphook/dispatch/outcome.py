"""Pure: what plugins answered, and what all answers amount to."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from sliphook_sdk.protocol import Answer, Decision, Payload

Status = Literal[
    "answered",
    "told",
    "timed_out",
    "crashed",
    "protocol_error",
    "refused_answer",
    "failed_to_start",
    "not_subscribed",
    "queue_full",
    "payload_too_large",
    "cancelled",
]
"""How one plugin's part in a fire ended; all but the first two and `not_subscribed` are failures, `cancelled` is nobody's."""


class Reason(msgspec.Struct, frozen=True):
    """Why a plugin decided as it did."""

    plugin: str
    text: str


class Context(msgspec.Struct, frozen=True):
    """A text of a plugin for the model."""

    plugin: str
    text: str

    def labelled(self) -> str:
        """The text as the model reads it: it always says which plugin speaks."""
        return f"[{self.plugin}] {self.text}"


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One plugin's part in a fire.

    Attributes:
        status: how it ended.
        decision: what it counted as, failures by `on_failure` included.
        reason: in the plugin's words, or the failure.
        elapsed_ms: from the request's queueing to its end; None where nothing was asked.
        error: what went wrong, one line for people.
        answer: what the plugin sent, where it could be read.
    """

    plugin: str
    status: Status
    decision: Decision | None = None
    reason: str | None = None
    elapsed_ms: float | None = None
    error: str | None = None
    answer: Answer | None = None


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What all answers to one fire amount to.

    Attributes:
        decision: deny > ask > allow > None; `allow` never skips the agent's own rules.
        reasons: all of them, in the order of asking.
        payload: the final payload, after replacements.
        context: what goes to the model; empty where denied.
        substitute: what stands in for the call, or None.
        continue_with: in `stop`: the text to go on with.
        parts: every plugin that was asked or told.
        cancelled: the turn ended meanwhile; the decision is then deny.
    """

    payload: Payload
    decision: Decision | None = None
    reasons: tuple[Reason, ...] = ()
    context: tuple[Context, ...] = ()
    substitute: Any = None
    substituted_by: str | None = None
    continue_with: str | None = None
    parts: tuple[Part, ...] = ()
    cancelled: bool = False

    @property
    def denied(self) -> bool:
        """True where what was asked about must not happen."""
        return self.decision == "deny"

    @property
    def reason(self) -> str:
        """All reasons in one line a plugin, for the model and for people."""
        return "; ".join(f"{reason.plugin}: {reason.text}" for reason in self.reasons)


def cancelled_outcome(payload: Payload) -> Outcome:
    """The outcome of a fire whose turn has ended: never permissive."""
    return Outcome(
        payload=payload, decision="deny", reasons=(Reason("host", "cancelled"),), cancelled=True
    )
