"""A fire of the policy alone: its subscribers, what each answers, and what was sent to whom."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from sliphook.dispatch.audience import Subscriber
from sliphook.dispatch.outcome import Outcome, Status
from sliphook.dispatch.policy import Ask, Policy, Round, dispatch
from sliphook.dispatch.shares import Result, Share
from sliphook.plugin.manifest import read_manifest
from sliphook_sdk.protocol import CATALOGUE, Payload
from sliphook_sdk.protocol.describe import example_of

FAILURES: Final[tuple[Status, ...]] = (
    "timed_out",
    "crashed",
    "protocol_error",
    "refused_answer",
    "failed_to_start",
    "queue_full",
    "payload_too_large",
)


def payload(event: str, **fields: Any) -> Payload:
    entry = CATALOGUE[event]
    return msgspec.structs.replace(
        msgspec.convert(example_of(entry.payload), entry.payload), **fields
    )


def subscriber(
    plugin: str, *subscriptions: dict[str, Any], event: str = "pre_tool_call", order: int = 0
) -> Subscriber:
    declared = [{"event": event, **fields} for fields in subscriptions or ({},)]
    manifest = read_manifest(
        json.dumps({"protocol_version": 1, "name": plugin, "subscriptions": declared}).encode()
    )
    return Subscriber(plugin=plugin, order=order, routes=manifest.routes[event])


def answered(answer: object) -> Result:
    return Result(status="answered", raw=json.dumps(answer).encode(), elapsed_ms=1.0)


def failed(status: Status = "timed_out", error: str = "no answer within 5 s") -> Result:
    return Result(status=status, error=error, elapsed_ms=5000.0)


class Fired:
    """One fire, played to its end. `lines` is the transcript: one line a round."""

    def __init__(
        self,
        event: str,
        subscribers: Sequence[Subscriber],
        answers: dict[str, Any],
        *,
        about: Payload | None = None,
        shows: str = "",
        streams: dict[str, bool] | None = None,
    ) -> None:
        self.lines: list[str] = []
        self._streams = streams if streams is not None else {}
        self._shows = shows
        self._answers = answers
        self._entry = CATALOGUE[event]
        self.outcome = self._play(dispatch(self._entry, about or payload(event), subscribers))

    def _play(self, policy: Policy) -> Outcome:
        shares: list[Share] | None = None
        while True:
            try:
                todo = next(policy) if shares is None else policy.send(shares)
            except StopIteration as stop:
                outcome: Outcome = stop.value
                return outcome
            self.lines.append(self._line(todo))
            shares = [ask.share(self._entry, self._result(ask)) for ask in todo.asks]

    def _result(self, ask: Ask) -> Result:
        self._streams[ask.subscriber.plugin] = ask.streams
        answer = self._answers.get(ask.subscriber.plugin)
        return answer if isinstance(answer, Result) else answered(answer)

    def _line(self, todo: Round) -> str:
        parts = [
            f"{word} {' '.join(self._one(one.subscriber, one.payload) for one in some)}"
            for word, some in (("ask", todo.asks), ("tell", todo.tells))
            if some
        ]
        return ", ".join(parts)

    def _one(self, who: Subscriber, what: Payload) -> str:
        return f"{who.plugin}({getattr(what, self._shows)})" if self._shows else who.plugin


def fire(
    event: str,
    answers: dict[str, Any],
    *subscribers: Subscriber,
    among: Sequence[Subscriber] | None = None,
    about: Payload | None = None,
    shows: str = "",
    streams: dict[str, bool] | None = None,
) -> Fired:
    return Fired(
        event,
        subscribers if among is None else among,
        answers,
        about=about,
        shows=shows,
        streams=streams,
    )
