"""Pure: which plugins are asked in which order, and how the answers merge.

`dispatch` is a generator. It yields a `Round`: the plugins to ask at the same time, and the plugins
to tell. It is sent the shares in the order of the asks, and returns the `Outcome`. It gets the
shares of a round all at once, so the outcome cannot depend on which plugin answered first.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, Final, Literal

import msgspec

from sliphook.plugin.route import Route
from sliphook_sdk.protocol import Decision, Entry, Payload

from .audience import Audience, Subscriber, first_match
from .outcome import Context, Outcome, Part, Reason, joined
from .shares import Result, Share, abstained, share_of

KEPT_SHARE: Final = 0.25
"""The share of a fire's time that is kept for the second phase, and the share of the rest that one
replacing plugin leaves to the next. Most guards need milliseconds; a plugin that hangs must not
take away that they are asked."""


class Ask(msgspec.Struct, frozen=True):
    """A plugin to ask, by the subscription `route`; the payload's heavy fields are not cut yet.

    Attributes:
        before: what is asked in later rounds: `replacing` plugins, and `others`.
        streams: it may send the text of its substitute while it makes it.
        replacing: it is asked in the first phase, where an answer may replace and substitute.
    """

    subscriber: Subscriber
    route: Route
    payload: Payload
    before: frozenset[Literal["replacing", "others"]] = frozenset()
    streams: bool = False
    replacing: bool = False

    def timeout_s(self, left_s: float, budget_s: float) -> float:
        """How long it may take.

        Args:
            left_s: the time that the fire has left.
            budget_s: the time that the whole fire has.

        Returns:
            Seconds; 0 or less if it cannot be asked any more.
        """
        if "others" in self.before:
            left_s -= KEPT_SHARE * budget_s
        if "replacing" in self.before:
            left_s *= 1 - KEPT_SHARE
        return min(self.route.timeout_s, left_s)

    def share(self, entry: Entry, result: Result) -> Share:
        """What it came to, as soon as that is known; `entry` is the hook."""
        return share_of(
            entry, self.payload, self.subscriber, self.route, result, replacing=self.replacing
        )


class Tell(msgspec.Struct, frozen=True):
    """A plugin to tell without an answer, by the subscription `route`."""

    subscriber: Subscriber
    route: Route
    payload: Payload


class Round(msgspec.Struct, frozen=True):
    """The plugins to ask and to tell at the same time."""

    asks: tuple[Ask, ...]
    tells: tuple[Tell, ...] = ()


Policy = Generator[Round, Sequence[Share], Outcome]


def dispatch(entry: Entry, payload: Payload, subscribers: Sequence[Subscriber]) -> Policy:
    """Ask and tell the subscribers in two phases, and merge the answers.

    Phase 1 asks the subscriptions that replace, one after another by priority and order of
    installation, each with the payload that the one before has left. Phase 2 asks all others at the
    same time, with the final payload. A plugin takes part once, by the first of its subscriptions
    that matches the payload when its turn comes.

    Before another attempt (`Audience.again`), those are asked alone that asked for it. But if one
    of them replaces something, phase 2 is for all: a guard sees what is sent.
    """
    audience = subscribers if isinstance(subscribers, Audience) else Audience(subscribers)
    merge = _Merge(entry.substitute, payload)
    done: set[str] = set()
    for route, subscriber in audience.in_turn if audience.has_sequence else ():
        if (
            not route.replaces
            or subscriber.plugin in done
            # matched anew each time: what was replaced so far may decide which subscription fits
            or first_match(subscriber, merge.payload) is not route
        ):
            continue
        done.add(subscriber.plugin)
        before = _still_to_ask(audience, done, merge.payload)
        streams = merge.substituted_by is None
        ask = Ask(subscriber, route, merge.payload, before, streams, replacing=True)
        (share,) = yield Round((ask,))
        merge.add(share)
        if merge.decision == "deny":
            break  # no answer can lift a deny: the others are told at most
    asks: list[Ask] = []
    tells: list[Tell] = []
    again = audience.whole
    if again is not None and merge.payload is not payload:
        audience = again
    for route, subscriber in audience.in_turn:
        if subscriber.plugin in done or first_match(subscriber, merge.payload) is not route:
            continue
        if again is not None and route.replaces:
            continue  # it was asked before the first attempt, and what it said stands
        done.add(subscriber.plugin)
        if route.mode == "event":
            tells.append(Tell(subscriber, route, merge.payload))
        elif merge.decision != "deny":
            asks.append(Ask(subscriber, route, merge.payload))
    if asks or tells:
        shares = yield Round(tuple(asks), tuple(tells))
        for share in shares:
            merge.add(share)
        for tell in tells:
            merge.parts.append(Part(plugin=tell.subscriber.plugin, status="told"))
    return merge.outcome()


def _still_to_ask(
    audience: Audience, done: set[str], payload: Payload
) -> frozenset[Literal["replacing", "others"]]:
    """Which kinds of plugins are still to be asked, as the payload is now."""
    return frozenset(
        "replacing" if route.replaces else "others"
        for other in audience
        if other.plugin not in done
        and (route := first_match(other, payload)) is not None
        and route.mode == "hook"
    )


def merge_one(
    entry: Entry, payload: Payload, subscriber: Subscriber, route: Route, result: Result
) -> Outcome:
    """The outcome if one plugin was asked, without `replaces`: the same that `dispatch` returns."""
    part = abstained(subscriber, result)
    if part is not None:
        return Outcome(payload=payload, parts=(part,))
    merge = _Merge(entry.substitute, payload)
    merge.add(share_of(entry, payload, subscriber, route, result))
    return merge.outcome()


class _Merge:
    """Merges the shares of one fire, in the order of asking.

    Args:
        substitute: the fields that `substitute` may name.
        payload: the first payload.
    """

    def __init__(self, substitute: tuple[str, ...], payload: Payload) -> None:
        self._substitute = substitute
        self.payload = payload
        self.decision: Decision | None = None
        self.parts: list[Part] = []
        self.reasons: list[Reason] = []
        self.context: list[Context] = []
        self.substitute: Any = None
        self.beside: dict[str, Any] = {}
        self.substituted_by: str | None = None
        self.routed_by: str | None = None
        self.key_env: str | None = None
        self.continues: list[str] = []

    def add(self, share: Share) -> None:
        part, replaced = share.part, share.replaced
        self._count(part.decision)
        if share.reason is not None:
            self.reasons.append(share.reason)
        if replaced:
            self.payload = msgspec.structs.replace(self.payload, **replaced)
        if "route" in replaced:
            self.routed_by, self.key_env = part.plugin, share.key_env
        if share.substituted and self.substituted_by is None:  # the first one counts
            self.beside = dict(share.substituted)
            self.substitute = self.beside.pop(self._substitute[0])
            self.substituted_by = part.plugin
        self.context += share.context
        if part.answer is not None and part.answer.continue_with is not None:
            self.continues.append(part.answer.continue_with)
        self.parts.append(part)

    def _count(self, decision: Decision | None) -> None:
        rank = {None: 0, "allow": 1, "ask": 2, "deny": 3}
        if rank[decision] > rank[self.decision]:
            self.decision = decision

    def outcome(self) -> Outcome:
        # a call that does not happen has no result, and the model gets the reasons alone
        denied = self.decision == "deny"
        return Outcome(
            payload=self.payload,
            decision=self.decision,
            reasons=tuple(self.reasons),
            context=() if denied else tuple(self.context),
            substitute=None if denied else self.substitute,
            beside={} if denied else self.beside,
            substituted_by=None if denied else self.substituted_by,
            routed_by=self.routed_by,
            key_env=self.key_env,
            continue_with=joined("\n\n", self.continues) if self.continues else None,
            parts=tuple(self.parts),
        )
