"""The user's settings applied to subscriptions: transcripts of fires with them and without."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sliphook.dispatch.audience import Subscriber
from sliphook.dispatch.outcome import Outcome
from sliphook.dispatch.policy import Round, dispatch
from sliphook.dispatch.shares import Result
from sliphook.plugin.checks import ManifestError
from sliphook.plugin.manifest import ReadManifest, read_manifest
from sliphook.plugin.overrides import apply_overrides, recorded_manifest
from sliphook.plugin.spec import Override, PluginSpec
from sliphook_sdk.protocol import CATALOGUE, Manifest, Payload, Subscription
from sliphook_sdk.protocol.describe import example_of


def manifest(name: str, *subscriptions: dict[str, Any]) -> ReadManifest:
    return read_manifest(
        json.dumps({"protocol_version": 1, "name": name, "subscriptions": subscriptions}).encode()
    )


def spec(**fields: Any) -> PluginSpec:
    return PluginSpec(path=Path("guard"), **fields)


def payload(event: str) -> Payload:
    entry = CATALOGUE[event]
    return msgspec.convert(example_of(entry.payload), entry.payload)


def fire(
    event: str, answers: dict[str, str | None], **specs: PluginSpec
) -> tuple[list[list[str]], Outcome]:
    """Fire at plugins that all declare the hook with its defaults; None is a timeout.

    Returns who was asked in each round.
    """
    subscribers = [
        Subscriber(plugin=name, order=order, routes=read.routes[event])
        for order, (name, one) in enumerate(specs.items())
        if event in (read := apply_overrides(manifest(name, {"event": event}), one)).routes
    ]
    policy = dispatch(CATALOGUE[event], payload(event), subscribers)
    asked: list[list[str]] = []
    try:
        todo: Round = next(policy)
        while True:
            asked.append([ask.subscriber.plugin for ask in todo.asks])
            results = [_result(answers[ask.subscriber.plugin]) for ask in todo.asks]
            todo = policy.send(
                [
                    ask.share(CATALOGUE[event], result)
                    for ask, result in zip(todo.asks, results, strict=True)
                ]
            )
    except StopIteration as stop:
        outcome: Outcome = stop.value
        return asked, outcome


def _result(answer: str | None) -> Result:
    return (
        Result(status="timed_out", error="no answer")
        if answer is None
        else Result(status="answered", raw=answer.encode())
    )


def test_without_a_word_of_the_user_the_plugins_count() -> None:
    read = manifest(
        "guard", {"event": "pre_tool_call", "timeout_s": 7.0, "priority": 3}, {"event": "turn_end"}
    )
    assert apply_overrides(read, spec()) == read


def test_priority_is_the_users() -> None:
    asked, _ = fire(
        "pre_tool_call",
        {"a": "{}", "b": "{}"},
        a=spec(),
        b=spec(overrides={"pre_tool_call": Override(priority=1)}),
    )
    assert asked == [["b", "a"]]


def test_a_priority_of_zero_is_a_priority() -> None:
    read = apply_overrides(
        manifest("a", {"event": "stop", "priority": 9}),
        spec(overrides={"stop": Override(priority=0)}),
    )
    assert read.routes["stop"][0].priority == 0


def test_the_user_may_weaken_a_closed_guard() -> None:
    _, outcome = fire("pre_tool_call", {"guard": None}, guard=spec())
    assert (outcome.decision, [reason.text for reason in outcome.reasons]) == (
        "deny",
        ["no answer"],
    )
    _, outcome = fire(
        "pre_tool_call",
        {"guard": None},
        guard=spec(overrides={"pre_tool_call": Override(on_failure="open")}),
    )
    assert (outcome.decision, outcome.reasons) == (None, ())


def test_the_user_may_close_an_open_guard() -> None:
    _, outcome = fire(
        "user_prompt_submit",
        {"guard": None},
        guard=spec(overrides={"user_prompt_submit": Override(on_failure="closed")}),
    )
    assert outcome.decision == "deny"


def test_off_is_neither_asked_nor_told() -> None:
    asked, outcome = fire(
        "pre_tool_call",
        {"a": '{"decision":"deny"}'},
        a=spec(overrides={"pre_tool_call": Override(off=True)}),
    )
    assert asked == []
    assert outcome.decision is None
    assert outcome.parts == ()


def test_an_override_leaves_other_subscriptions_alone() -> None:
    read = manifest("a", {"event": "stop"}, {"event": "turn_end"})
    assert list(apply_overrides(read, spec(overrides={"stop": Override(off=True)})).routes) == [
        "turn_end"
    ]


@pytest.mark.parametrize(
    ("asked", "plugins", "hosts", "counts"),
    [
        (10.0, None, None, 10.0),
        (10.0, 2.0, None, 2.0),
        (10.0, None, 3.0, 3.0),
        (10.0, 4.0, 3.0, 3.0),
        (10.0, 2.0, 3.0, 2.0),
        (0.5, 2.0, 3.0, 0.5),
    ],
)
def test_the_smallest_of_what_is_asked_for_and_the_caps_counts(
    asked: float, plugins: float | None, hosts: float | None, counts: float
) -> None:
    read = apply_overrides(
        manifest("a", {"event": "stop", "timeout_s": asked}),
        spec(timeout_cap_s=plugins),
        timeout_cap_s=hosts,
    )
    assert read.routes["stop"][0].timeout_s == counts


@pytest.mark.parametrize("cap_s", [0.0, -1.0, 0.04, 601.0, float("nan"), float("inf")])
def test_a_cap_that_is_no_timeout_is_an_error(cap_s: float) -> None:
    with pytest.raises(
        ManifestError,
        match=r"timeout_cap_s of the plugin's settings is .*; it must be 0\.05 to 600",
    ):
        apply_overrides(manifest("a"), spec(timeout_cap_s=cap_s))
    with pytest.raises(ManifestError, match=r"timeout_cap_s of the host's settings"):
        apply_overrides(manifest("a"), spec(), timeout_cap_s=cap_s)


def test_a_misspelt_name_is_an_error_that_names_the_nearest() -> None:
    with pytest.raises(ManifestError) as caught:
        apply_overrides(manifest("a"), spec(overrides={"pre_tool_cal": Override(off=True)}))
    assert str(caught.value) == (
        "the user's settings: pre_tool_cal: there is no such hook or event; did you mean "
        "pre_tool_call?"
    )


def test_what_cannot_deny_cannot_be_closed() -> None:
    with pytest.raises(
        ManifestError,
        match=r"stop\.on_failure: closed needs a hook that can deny, and stop cannot$",
    ):
        apply_overrides(manifest("a"), spec(overrides={"stop": Override(on_failure="closed")}))


# -- the recorded manifest

RECORD = Manifest(
    protocol_version=1,
    name="guard",
    subscriptions=[Subscription(event="pre_tool_call", timeout_s=9.0)],
)


def test_nothing_is_recorded() -> None:
    assert recorded_manifest(spec()) == (None, None)


def test_the_users_word_counts_for_the_record_too() -> None:
    read, fault = recorded_manifest(
        spec(recorded=RECORD, overrides={"pre_tool_call": Override(on_failure="open")}),
        timeout_cap_s=1.0,
    )
    assert fault is None
    assert read is not None
    (route,) = read.routes["pre_tool_call"]
    assert (route.on_failure, route.timeout_s) == ("open", 1.0)


def test_a_fault_in_the_settings_leaves_the_recorded_guard_closed() -> None:
    read, fault = recorded_manifest(spec(recorded=RECORD, overrides={"nonsense": Override()}))
    assert fault is None, "the start of the plugin tells it"
    assert read is not None
    assert read.routes["pre_tool_call"][0].on_failure == "closed"


CLOSED_BY_THE_USER = {"user_prompt_submit": Override(on_failure="closed")}
OPEN = msgspec.structs.replace(
    RECORD,
    subscriptions=[
        Subscription(event="user_prompt_submit"),
        Subscription(event="user_prompt_submit", match={"source": "queued"}),
        Subscription(event="stop"),
    ],
)


@pytest.mark.parametrize(
    ("record", "settings"),
    [
        (OPEN, {"nonsense": Override()}),
        (OPEN, {"stop": Override(on_failure="closed")}),
        (OPEN, {}),  # the second would never be asked
        (msgspec.structs.replace(OPEN, protocol_version=7), {}),
    ],
    ids=["a misspelt name", "what cannot be closed", "what is covered", "a record of another host"],
)
def test_what_the_user_closes_is_closed_although_the_plugin_cannot_be_used(
    record: Manifest, settings: dict[str, Override]
) -> None:
    read, _ = recorded_manifest(spec(recorded=record, overrides=settings | CLOSED_BY_THE_USER))
    assert read is not None
    assert list(read.closed_routes()) == ["user_prompt_submit"]


def test_a_record_that_cannot_be_used_says_what_to_do_and_still_guards() -> None:
    """What it would have matched is not known, so in doubt it denies."""
    shell = Subscription(event="pre_tool_call", match={"tool_name": "shell"})
    told = Subscription(event="pre_llm_call", mode="event", on_failure="closed")
    others = [Subscription(event="stop"), Subscription(event="of_tomorrow", on_failure="closed")]
    record = msgspec.structs.replace(
        RECORD, protocol_version=7, subscriptions=[shell, *(RECORD.subscriptions or ()), *others]
    )
    read, fault = recorded_manifest(spec(recorded=record))
    assert read is not None
    assert list(read.routes) == ["pre_tool_call"]
    (route,) = read.routes["pre_tool_call"]
    assert route.guards
    assert route.patterns == ()
    harmless = msgspec.structs.replace(record, subscriptions=[told, *others])
    assert recorded_manifest(spec(recorded=harmless))[0] is None
    assert fault == (
        "its recorded manifest cannot be used: it speaks version 7 of the protocol, this "
        "host speaks 1; install it again"
    )
