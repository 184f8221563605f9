"""Pure: which plugins are asked in which order, and how the answers merge.

`dispatch` is a generator. It yields a `Round`: the plugins to ask at the same time, and the plugins
to tell. It is sent the shares in the order of the asks, and returns the `Outcome`. It gets the
shares of a round all at once, so the outcome cannot depend on which plugin answered first.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from math import inf
from typing import Any, Final, Literal, TypeAlias

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


Kinds: TypeAlias = Literal["replacing", "others"]
_Place: TypeAlias = tuple[float, int, int]


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
    before: frozenset[Kinds] = frozenset()
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
    of them replaces something, those that replace and fail closed follow, and phase 2 is for all: a
    guard sees what is sent.
    """
    audience = subscribers if isinstance(subscribers, Audience) else Audience(subscribers)
    merge = _Merge(entry.substitute, payload)
    turns = _Turns(audience, set())
    if audience.has_sequence:
        yield from _one_by_one(turns, merge, closed_only=False)
    again = audience.whole
    if again is not None and merge.payload is not payload:
        turns = _Turns(again, turns.done)
        yield from _one_by_one(turns, merge, closed_only=True)
    asks: list[Ask] = []
    tells: list[Tell] = []
    for route, subscriber in turns.left(merge.payload):
        if again is not None and route.replaces and not (route.guards or route.attempts):
            continue  # it was asked before the first attempt, and what it said stands
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


def _one_by_one(
    turns: _Turns, merge: _Merge, *, closed_only: bool
) -> Generator[Round, Sequence[Share], None]:
    """Ask the subscriptions that replace, in turn; `closed_only`: those alone that fail closed."""
    at: _Place = (-inf, 0, 0)
    # no answer can lift a deny: the others are told at most
    while merge.decision != "deny":
        # looked at anew each time: what was replaced may decide which subscription fits
        behind = [
            pair
            for pair in turns.left(merge.payload)
            if pair[0].replaces and (pair[0].guards or not closed_only) and _place(pair) >= at
        ]
        if not behind:
            return
        at = _place(behind[0])
        route, subscriber = turns.take(behind[0])
        before = frozenset[Kinds](
            "replacing" if other.replaces else "others"
            for other, _ in turns.left(merge.payload)
            if other.mode == "hook"
        )
        streams = merge.substituted_by is None
        (share,) = yield Round(
            (Ask(subscriber, route, merge.payload, before, streams, replacing=True),)
        )
        merge.add(share)


class _Turns:
    """Who still takes part in a fire, each by the subscription that matches first, in turn.

    A plugin may have 256 subscriptions, so they are gone through once for each payload.

    Attributes:
        done: the plugins that have taken part.
    """

    def __init__(self, audience: Sequence[Subscriber], done: set[str]) -> None:
        self.done = done
        self._audience = audience
        self._payload: Payload | None = None
        self._left: list[tuple[Route, Subscriber]] = []

    def left(self, payload: Payload) -> list[tuple[Route, Subscriber]]:
        """By priority, then order of installation."""
        if payload is not self._payload:
            self._payload = payload
            found = [
                (route, one)
                for one in self._audience
                if one.plugin not in self.done and (route := first_match(one, payload)) is not None
            ]
            self._left = sorted(found, key=_place)
        return self._left

    def take(self, pair: tuple[Route, Subscriber]) -> tuple[Route, Subscriber]:
        """It takes part now."""
        self.done.add(pair[1].plugin)
        self._left = [one for one in self._left if one is not pair]
        return pair


def _place(pair: tuple[Route, Subscriber]) -> _Place:
    route, subscriber = pair
    return -route.priority, subscriber.order, route.index


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
