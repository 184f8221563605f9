"""Pure: which plugins are asked in which order, and how the answers merge.

`dispatch` is a generator. It yields a `Round`: the plugins to ask at the same time, and the plugins
to tell. It is sent the results in the order of the asks, and returns the `Outcome`. It gets the
results of a round all at once, so the outcome cannot depend on which plugin answered first.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, Final, Literal

import msgspec

from sliphook.plugin.model_servers import ModelServers, RouteRefused, allowed_route
from sliphook.plugin.route import Route
from sliphook_sdk.protocol import Decision, Entry, ModelRoute, Payload

from .answers import ABSTAINED, AnswerError, check_answer, cut_context, read_answer
from .audience import Audience, Subscriber, first_match
from .outcome import Context, Outcome, Part, Reason, Status

KEPT_SHARE: Final = 0.25
"""The share of a fire's time that is kept for the second phase, and the share of the rest that one
replacing plugin leaves to the next. Most guards need milliseconds; a plugin that hangs must not
take away that they are asked."""


class Ask(msgspec.Struct, frozen=True):
    """A plugin to ask, by the subscription `route`; the payload's heavy fields are not cut yet.

    Attributes:
        before: what is asked in later rounds: `replacing` plugins, and `others`.
        streams: it may send the text of its substitute while it makes it.
    """

    subscriber: Subscriber
    route: Route
    payload: Payload
    before: frozenset[Literal["replacing", "others"]] = frozenset()
    streams: bool = False

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

    Before another attempt (`Audience.again`), those are asked alone that asked for it. But if one
    of them replaces something, phase 2 is for all: a guard sees what is sent.
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
        streams = merge.substituted_by is None
        results = yield Round((Ask(subscriber, route, merge.payload, before, streams),))
        merge.add(subscriber, route, results[0], replacing=True)
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
        self.beside: dict[str, Any] = {}
        self.substituted_by: str | None = None
        self.routed_by: str | None = None
        self.key_env: str | None = None
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
            replaced, substituted = check_answer(
                self.entry, answer, self.payload, replacing=replacing
            )
            if "route" in replaced:
                self._route(subscriber, replaced)
        except (AnswerError, RouteRefused) as error:
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
            self.substitute = substituted.pop(self.entry.substitute[0])
            self.beside = substituted
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

    def _route(self, subscriber: Subscriber, replaced: dict[str, Any]) -> None:
        """Take a plugin's route as far as the user has let it; raises RouteRefused."""
        rights = subscriber.servers or ModelServers(plugin=subscriber.plugin)
        now: ModelRoute | None = getattr(self.payload, "route", None)
        if now is None:
            # it would call its own server all the same, and the plugin would not know
            raise RouteRefused(
                "this agent does not say where its model calls go, so it takes no route"
            )
        route = allowed_route(replaced["route"], rights, now)
        self.routed_by, self.key_env = subscriber.plugin, route.key_env
        # the others are not told which key it is
        replaced["route"] = msgspec.structs.replace(route, key_env=None)
        if route.provider is not None:
            replaced["provider"] = route.provider

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
            beside={} if denied else self.beside,
            substituted_by=None if denied else self.substituted_by,
            routed_by=self.routed_by,
            key_env=self.key_env,
            continue_with="\n\n".join(self.continues) if self.continues else None,
            parts=tuple(self.parts),
        )
