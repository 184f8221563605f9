"""Pure: what one plugin has to do with the outcome of a hook: its answer, read and checked.

An answer is read in the step in which its message is: fifty plugins may answer at once, each with
as much as is allowed, and only a reader knows how long it may work. What is left then is small, or
taken over as it is, so to merge the shares costs nothing for what is in them.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from sliphook.plugin.model_servers import ModelServers, RouteRefused, allowed_route
from sliphook.plugin.route import Route
from sliphook_sdk.protocol import Entry, ModelRoute, Payload

from .answers import ABSTAINED, AnswerError, check_answer, cut_context, read_answer
from .audience import Subscriber
from .outcome import Context, Part, Reason, Status


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


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """What one ask came to.

    Attributes:
        part: the plugin's part, with the decision that counts.
        reason: the reason for that, or None.
        replaced: the values to replace, by field.
        substituted: the values to substitute, by field.
        context: the texts for the model.
        key_env: the variable that holds the key for the `route` in `replaced`, or None.
    """

    part: Part
    reason: Reason | None = None
    replaced: dict[str, Any] = {}
    substituted: dict[str, Any] = {}
    context: tuple[Context, ...] = ()
    key_env: str | None = None


_NULL: Final = msgspec.Raw(b"null")


def share_of(
    entry: Entry,
    payload: Payload,
    subscriber: Subscriber,
    route: Route,
    result: Result,
    *,
    replacing: bool = False,
) -> Share:
    """Read what one plugin answered.

    Args:
        entry: the hook.
        payload: what the plugin was asked with.
        subscriber: the plugin.
        route: the subscription by which it was asked.
        result: how that ended.
        replacing: it was asked in the first phase, where an answer may replace and substitute.
    """
    if (part := abstained(subscriber, result)) is not None:
        return Share(part=part)
    if result.status != "answered" or result.raw is None:
        return _failed(subscriber, route, result, result.status, result.error or result.status)
    try:
        answer = read_answer(result.raw, replacing=replacing)
        replaced, substituted = check_answer(entry, answer, payload, replacing=replacing)
        key_env = _take_route(subscriber, payload, replaced) if "route" in replaced else None
    except (AnswerError, RouteRefused) as error:
        return _failed(subscriber, route, result, "refused_answer", str(error))
    # ignore `allow` from a replacing plugin: later plugins may still change the payload
    decision = None if replacing and answer.decision == "allow" else answer.decision
    plugin, reason = subscriber.plugin, None
    if answer.reason or decision == "deny":
        reason = Reason(plugin, answer.reason or "denied without a reason")
    context: tuple[Context, ...] = ()
    if answer.context:
        context = tuple(cut_context(plugin, answer.context))
        texts = [one.text for one in context]
        if sum(map(len, texts)) != sum(map(len, answer.context)):
            # to let go of thousands of texts takes time, too, and all would go together
            answer = msgspec.structs.replace(answer, context=texts)
    part = Part(
        plugin=plugin,
        status="answered",
        decision=decision,
        reason=answer.reason,
        elapsed_ms=result.elapsed_ms,
        answer=None if answer is ABSTAINED else answer,
    )
    return Share(
        part=part,
        reason=reason,
        replaced=replaced,
        substituted=substituted,
        context=context,
        key_env=key_env,
    )


def abstained(subscriber: Subscriber, result: Result) -> Part | None:
    """The part of a plugin that answered null, else None: most do, and it needs no decoding."""
    if result.raw != _NULL:
        return None
    return Part(plugin=subscriber.plugin, status="answered", elapsed_ms=result.elapsed_ms)


def _failed(
    subscriber: Subscriber, route: Route, result: Result, status: Status, error: str
) -> Share:
    plugin, closed = subscriber.plugin, route.on_failure == "closed"
    part = Part(
        plugin=plugin,
        status=status,
        decision="deny" if closed else None,
        reason=error if closed else None,
        elapsed_ms=result.elapsed_ms,
        error=error,
    )
    return Share(part=part, reason=Reason(plugin, error) if closed else None)


def _take_route(subscriber: Subscriber, payload: Payload, replaced: dict[str, Any]) -> str | None:
    """Take a plugin's route as far as the user has let it, and return the name of its key.

    Raises:
        RouteRefused: the plugin may not, or the agent takes none.
    """
    rights = subscriber.servers or ModelServers(plugin=subscriber.plugin)
    now: ModelRoute | None = getattr(payload, "route", None)
    if now is None:
        # it would call its own server all the same, and the plugin would not know
        raise RouteRefused("this agent does not say where its model calls go, so it takes no route")
    route = allowed_route(replaced["route"], rights, now)
    # the others are not told which key it is
    replaced["route"] = msgspec.structs.replace(route, key_env=None)
    if route.provider is not None:
        replaced["provider"] = route.provider
    return route.key_env
