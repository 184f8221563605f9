"""Pure: the outcome of a hook, and the parts that the plugins had in it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from sliphook_sdk.protocol import Answer, Decision, Payload
from sliphook_sdk.protocol.limits import MAX_JOINED_CHARS

Status = Literal[
    "answered",
    "told",
    "timed_out",
    "not_asked",
    "crashed",
    "protocol_error",
    "refused_answer",
    "failed_to_start",
    "not_subscribed",
    "queue_full",
    "payload_too_large",
    "cancelled",
]
"""How one plugin's part in a fire ended.

`not_asked`: the time of the whole fire was over.
All are failures but `answered`, `told` and `not_subscribed`; `cancelled` is not the plugin's fault.
"""


class Reason(msgspec.Struct, frozen=True):
    """The reason that a plugin gave for its decision, or its failure if that denies."""

    plugin: str
    text: str


class Context(msgspec.Struct, frozen=True):
    """A text that a plugin gives the model."""

    plugin: str
    text: str

    def labelled(self) -> str:
        """The text as the model reads it, with the name of the plugin."""
        return f"[{self.plugin}] {self.text}"


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One plugin's part in a fire.

    Attributes:
        plugin: the plugin's name.
        status: how it ended.
        decision: the decision that counted; a failure with `on_failure` closed counts as deny.
        reason: the plugin's reason, or the error of a failure that counts as deny.
        elapsed_ms: milliseconds from queueing the request to its end; None if none was made.
        error: what went wrong, one line for people; None if nothing did.
        answer: what the plugin sent; None if it sent null or nothing that could be read. Of its
            `context` are there the texts that are kept, and its `meta_` is JSON (`msgspec.Raw`).
    """

    plugin: str
    status: Status
    decision: Decision | None = None
    reason: str | None = None
    elapsed_ms: float | None = None
    error: str | None = None
    answer: Answer | None = None


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """All answers to one fire, merged.

    Attributes:
        payload: the final payload, after replacements.
        decision: the strictest of all: deny > ask > allow > None. `allow` never skips the agent's
            own rules.
        reasons: all reasons, in the order of asking.
        context: the texts for the model; empty if denied.
        substitute: the result that takes the place of the call's, or None.
        beside: more fields of the substitute, by name: `usage`, `finish_reason`.
        substituted_by: the plugin that gave `substitute`, or None.
        routed_by: the plugin whose `route` is in the payload; None if none gave one.
        key_env: the variable of that plugin that holds the key for the route, or None.
        continue_with: the text with which the turn goes on instead of stopping, or None.
        parts: the parts of all plugins that were asked or told.
        cancelled: the turn ended before the outcome was known; the decision is then deny.
    """

    payload: Payload
    decision: Decision | None = None
    reasons: tuple[Reason, ...] = ()
    context: tuple[Context, ...] = ()
    substitute: Any = None
    beside: dict[str, Any] = {}
    substituted_by: str | None = None
    routed_by: str | None = None
    key_env: str | None = None
    continue_with: str | None = None
    parts: tuple[Part, ...] = ()
    cancelled: bool = False

    @property
    def continued_by(self) -> tuple[str, ...]:
        """The plugins that gave `continue_with`."""
        return tuple(
            part.plugin
            for part in self.parts
            if part.answer is not None and part.answer.continue_with is not None
        )

    @property
    def denied(self) -> bool:
        """True if the agent must not do what the hook announced."""
        return self.decision == "deny"

    @property
    def reason(self) -> str:
        """All reasons with their plugins, joined by `; `, for the model and for people.

        It ends before `MAX_JOINED_CHARS`, and says so, unless a single one is longer.
        """
        return joined_reasons(self.reasons)


def joined_reasons(reasons: Iterable[Reason]) -> str:
    """The reasons with their plugins, joined by `; `; see `joined`."""
    return joined("; ", (f"{reason.plugin}: {reason.text}" for reason in reasons))


def joined(separator: str, texts: Iterable[str]) -> str:
    """The texts of several plugins in one, which has `MAX_JOINED_CHARS`, or the first text alone.

    Those behind are left out, and a note says that.
    """
    kept: list[str] = []
    left = MAX_JOINED_CHARS
    for text in texts:
        left -= len(text)
        if kept and left < 0:
            kept.append(f"[the rest is left out: over {MAX_JOINED_CHARS:,} characters together]")
            break
        kept.append(text)
    return separator.join(kept)


def cancelled_outcome(payload: Payload) -> Outcome:
    """The outcome of a fire whose turn has ended: deny, as not every plugin has agreed."""
    return Outcome(
        payload=payload, decision="deny", reasons=(Reason("host", "cancelled"),), cancelled=True
    )
