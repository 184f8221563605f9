"""Pure: which plugins are asked in which order, and how the answers merge.

`dispatch` is a generator. It yields a `Round`: the plugins to ask at the same time, and the plugins
to tell. It is sent the results in the order of the asks, and returns the `Outcome`. It gets the
results of a round all at once, so the outcome cannot depend on which plugin answered first.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from functools import cached_property
from typing import Any, Final, Literal

import msgspec

from sliphook.plugin.route import Route
from sliphook_sdk.protocol import Decision, Entry, Globs, Payload

from .answers import ABSTAINED, AnswerError, check_answer, cut_context, read_answer
from .outcome import Context, Outcome, Part, Reason, Status


class Subscriber(msgspec.Struct, frozen=True, kw_only=True):
    """One plugin that subscribed to the entry.

    Attributes:
        plugin: the plugin's name.
        order: its place in the order of installation.
        routes: its subscriptions to the entry, in the order of its manifest.
    """

    plugin: str
    order: int
    routes: tuple[Route, ...]


class Audience(tuple[Subscriber, ...]):
    """All subscribers of one entry, with what every fire needs to know of them, computed once."""

    @cached_property
    def in_turn(self) -> tuple[tuple[Route, Subscriber], ...]:
        """Every subscription in turn: by priority, then order of installation, then manifest."""
        pairs = [(route, subscriber) for subscriber in self for route in subscriber.routes]
        return tuple(
            sorted(pairs, key=lambda pair: (-pair[0].priority, pair[1].order, pair[0].index))
        )

    @cached_property
    def tool_patterns(self) -> tuple[Globs, ...]:
        """The patterns of names of tools, of all subscriptions."""
        return tuple(
            pattern.globs
            for route, _ in self.in_turn
            for pattern in route.patterns
            if pattern.field == "tool_name"
        )

    @cached_property
    def has_sequence(self) -> bool:
        """True if some plugin is asked before the others: a subscription replaces."""
        return any(route.replaces for route, _ in self.in_turn)

    @cached_property
    def is_one_asked(self) -> bool:
        """True if there is one subscription only, and it is asked and does not replace."""
        return (
            len(self.in_turn) == 1 and not self.has_sequence and self.in_turn[0][0].mode == "hook"
        )

    @cached_property
    def longest_s(self) -> float:
        """The largest timeout among the subscriptions that are asked, in seconds."""
        return max(
            (route.timeout_s for route, _ in self.in_turn if route.mode == "hook"), default=0.0
        )


KEPT_SHARE: Final = 0.25
"""The share of a fire's time that is kept for the second phase, and the share of the rest that one
replacing plugin leaves to the next. Most guards need milliseconds; a plugin that hangs must not
take away that they are asked."""


class Ask(msgspec.Struct, frozen=True):
    """A plugin to ask, by the subscription `route`; the payload's heavy fields are not cut yet.

    Attributes:
        before: what is asked in later rounds: `replacing` plugins, and `others`.
    """

    subscriber: Subscriber
    route: Route
    payload: Payload
    before: frozenset[Literal["replacing", "others"]] = frozenset()

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


class Tell(msgspec.Struct, frozen=True):
    """A plugin to tell without an answer, by the subscription `route`."""

    subscriber: Subscriber
    route: Route
    payload: Payload


class Round(msgspec.Struct, frozen=True):
    """The plugins to ask and to tell at the same time."""

    asks: tuple[Ask, ...]
    tells: tuple[Tell, ...] = ()


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """How one ask ended.

    Attributes:
        status: how it ended.
        elapsed_ms: milliseconds from queueing the request to its end; None if none was made.
        raw: the answer's JSON if the status is `answered`, else None.
        error: what went wrong, one line for people; None if nothing did.
    """

    status: Status
    elapsed_ms: float | None = None
    raw: bytes | msgspec.Raw | None = None
    error: str | None = None


Policy = Generator[Round, Sequence[Result], Outcome]


_NULL = msgspec.Raw(b"null")


def dispatch(entry: Entry, payload: Payload, subscribers: Sequence[Subscriber]) -> Policy:
    """Ask and tell the subscribers in two phases, and merge the answers.

    Phase 1 asks the subscriptions that replace, one after another by priority and order of
    installation, each with the payload that the one before has left. Phase 2 asks all others at the
    same time, with the final payload. A plugin takes part once, by the first of its subscriptions
    that matches the payload when its turn comes.
    """
    audience = subscribers if isinstance(subscribers, Audience) else Audience(subscribers)
    merge = _Merge(entry, payload)
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
        results = yield Round((Ask(subscriber, route, merge.payload, before),))
        merge.add(subscriber, route, results[0], replacing=True)
        if merge.decision == "deny":
            break  # no answer can lift a deny: the others are told at most
    asks: list[Ask] = []
    tells: list[Tell] = []
    for route, subscriber in audience.in_turn:
        if subscriber.plugin in done or first_match(subscriber, merge.payload) is not route:
            continue
        done.add(subscriber.plugin)
        if route.mode == "event":
            tells.append(Tell(subscriber, route, merge.payload))
        elif merge.decision != "deny":
            asks.append(Ask(subscriber, route, merge.payload))
    if asks or tells:
        results = yield Round(tuple(asks), tuple(tells))
        for ask, result in zip(asks, results, strict=True):
            merge.add(ask.subscriber, ask.route, result, replacing=False)
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
    if result.raw == _NULL:
        return Outcome(payload=payload, parts=(_abstained(subscriber, result),))
    merge = _Merge(entry, payload)
    merge.add(subscriber, route, result, replacing=False)
    return merge.outcome()


def first_match(subscriber: Subscriber, payload: Payload) -> Route | None:
    """The first of the plugin's subscriptions that matches the payload, or None."""
    child = payload.agent_depth > 0
    for route in subscriber.routes:
        if (route.subagents or not child) and (not route.patterns or route.matches(payload)):
            return route
    return None


def prepare_tool(subscribers: Sequence[Subscriber], name: str) -> None:
    """Find out which patterns fit a tool, so that an interrupt of its call finds it known."""
    if isinstance(subscribers, Audience):
        for globs in subscribers.tool_patterns:
            globs.fits(name)


def _abstained(subscriber: Subscriber, result: Result) -> Part:
    """The part of a plugin that answered null: most answers do, and null needs no decoding."""
    return Part(plugin=subscriber.plugin, status="answered", elapsed_ms=result.elapsed_ms)


class _Merge:
    """Merges the answers of one fire, in the order of asking."""

    def __init__(self, entry: Entry, payload: Payload) -> None:
        self.entry = entry
        self.payload = payload
        self.decision: Decision | None = None
        self.parts: list[Part] = []
        self.reasons: list[Reason] = []
        self.context: list[Context] = []
        self.substitute: Any = None
        self.substituted_by: str | None = None
        self.continues: list[str] = []

    def add(self, subscriber: Subscriber, route: Route, result: Result, *, replacing: bool) -> None:
        if result.raw == _NULL:
            self.parts.append(_abstained(subscriber, result))
            return
        if result.status != "answered" or result.raw is None:
            self._fail(subscriber, route, result, result.status, result.error or result.status)
            return
        try:
            answer = read_answer(result.raw)
            replaced, substituted = check_answer(self.entry, answer, replacing=replacing)
        except AnswerError as error:
            self._fail(subscriber, route, result, "refused_answer", str(error))
            return
        # ignore `allow` from a replacing plugin: later plugins may still change the payload
        decision = None if replacing and answer.decision == "allow" else answer.decision
        self._count(decision)
        plugin = subscriber.plugin
        if answer.reason or decision == "deny":
            self.reasons.append(Reason(plugin, answer.reason or "denied without a reason"))
        if replaced:
            self.payload = msgspec.structs.replace(self.payload, **replaced)
        if substituted and self.substituted_by is None:  # the first one counts
            (self.substitute,) = substituted.values()  # no entry has more than one such field
            self.substituted_by = plugin
        if answer.context:
            self.context += cut_context(plugin, answer.context)
        if answer.continue_with is not None:
            self.continues.append(answer.continue_with)
        self.parts.append(
            Part(
                plugin=plugin,
                status="answered",
                decision=decision,
                reason=answer.reason,
                elapsed_ms=result.elapsed_ms,
                answer=None if answer is ABSTAINED else answer,
            )
        )

    def _fail(
        self, subscriber: Subscriber, route: Route, result: Result, status: Status, error: str
    ) -> None:
        closed = route.on_failure == "closed"
        if closed:
            self._count("deny")
            self.reasons.append(Reason(subscriber.plugin, error))
        self.parts.append(
            Part(
                plugin=subscriber.plugin,
                status=status,
                decision="deny" if closed else None,
                reason=error if closed else None,
                elapsed_ms=result.elapsed_ms,
                error=error,
            )
        )

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
            substituted_by=None if denied else self.substituted_by,
            continue_with="\n\n".join(self.continues) if self.continues else None,
            parts=tuple(self.parts),
        )
