"""Answers to `pre_llm_call`: who may route a call, the parts of a substitute, later attempts."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sliphook.dispatch.audience import Audience, Subscriber
from sliphook.plugin.model_servers import ModelServers
from sliphook_sdk.protocol import Message, ModelRoute, Payload, Usage
from tests.docs.protocol_sentences.says import says

from .fires import failed, fire, payload, subscriber

LOCAL = {"base_url": "http://127.0.0.1:8080/v1", "key_env": "KEY"}


def router(plugin: str, *, order: int = 0, **fields: Any) -> Subscriber:
    """A plugin that may route to two servers."""
    one = subscriber(plugin, {"replaces": True, **fields}, event="pre_llm_call", order=order)
    servers = ModelServers(
        plugin=plugin,
        wanted=True,
        granted=True,
        servers=("127.0.0.1:8080", "gpu.lan"),
        variables=frozenset({"KEY"}),
        providers={"openai": "https://api.openai.com/v1"},
    )
    return msgspec.structs.replace(one, servers=servers)


def guard(plugin: str, *, order: int = 9, **fields: Any) -> Subscriber:
    return subscriber(plugin, fields, event="pre_llm_call", order=order)


def routes_to(route: Any, **more: Any) -> dict[str, Any]:
    return {"replace": {"route": route, **more}}


def attempt(number: int) -> Payload:
    return payload("pre_llm_call", attempt=number)


def route_in(about: Payload) -> Any:
    return getattr(about, "route")  # noqa: B009


def test_a_route_is_in_the_payload_and_its_key_is_not() -> None:
    fired = fire(
        "pre_llm_call",
        {"switch": routes_to(LOCAL, model="small")},
        router("switch"),
        guard("guard"),
        shows="route",
    )
    assert fired.lines == [
        "ask switch(ModelRoute(provider='scripted', base_url=None, api=None, key_env=None,"
        " parameters=None))",
        "ask guard(ModelRoute(provider=None, base_url='http://127.0.0.1:8080/v1', api=None,"
        " key_env=None, parameters=None))",
    ]
    outcome = fired.outcome
    assert (outcome.routed_by, outcome.key_env) == ("switch", "KEY")
    assert route_in(outcome.payload) == ModelRoute(base_url="http://127.0.0.1:8080/v1")
    assert getattr(outcome.payload, "model") == "small"  # noqa: B009


def test_the_provider_of_a_route_is_the_payload_s_provider() -> None:
    fired = fire(
        "pre_llm_call",
        {"switch": routes_to({"provider": "openai"})},
        router("switch"),
        guard("guard", match={"provider": "openai"}),
    )
    assert fired.lines == ["ask switch", "ask guard"]
    assert route_in(fired.outcome.payload).base_url == "https://api.openai.com/v1"


def test_the_last_route_counts_with_its_own_key() -> None:
    fired = fire(
        "pre_llm_call",
        {"a": routes_to(LOCAL), "b": routes_to({"base_url": "http://127.0.0.1:8080/v1"})},
        router("a"),
        router("b", order=1),
    )
    assert (fired.outcome.routed_by, fired.outcome.key_env) == ("b", None)


def test_a_refused_route_is_a_failed_answer_of_which_nothing_counts() -> None:
    for on_failure, decision in (("open", None), ("closed", "deny")):
        fired = fire(
            "pre_llm_call",
            {"switch": routes_to({"base_url": "http://evil.example"}, model="small")},
            router("switch", on_failure=on_failure),
        )
        outcome = fired.outcome
        assert (outcome.decision, outcome.routed_by) == (decision, None)
        assert outcome.payload == payload("pre_llm_call")
        (part,) = outcome.parts
        assert part.status == "refused_answer"
        assert part.error == (
            "the user has not let switch send model calls to evil.example:80;"
            " to let it: sliphook config switch --server evil.example:80"
        )


def test_a_plugin_without_the_grant_routes_nothing() -> None:
    one = subscriber("switch", {"replaces": True}, event="pre_llm_call")
    outcome = fire("pre_llm_call", {"switch": routes_to(LOCAL)}, one).outcome
    assert route_in(outcome.payload) == ModelRoute(provider="scripted")
    assert outcome.parts[0].error == "replace.route needs 'route' in the manifest's uses"


def test_a_guard_routes_nothing() -> None:
    one = msgspec.structs.replace(router("switch"), routes=guard("switch").routes)
    outcome = fire("pre_llm_call", {"switch": routes_to(LOCAL)}, one).outcome
    assert outcome.routed_by is None
    assert outcome.parts[0].status == "refused_answer"


def test_a_misspelt_field_of_a_route_is_refused() -> None:
    for wrong, why in (
        (
            {"base_ulr": "http://gpu.lan"},
            "replace.route has an unknown field 'base_ulr'; did you mean base_url?",
        ),
        (
            {"api": "gemini"},
            "replace.route does not fit: Invalid enum value 'gemini' - at `$.api`",
        ),
        ("http://gpu.lan", "replace.route does not fit: Expected `object | null`, got `str`"),
    ):
        outcome = fire("pre_llm_call", {"switch": routes_to(wrong)}, router("switch")).outcome
        assert outcome.parts[0].error == why


def test_a_substitute_has_its_usage_and_its_reason_to_finish() -> None:
    whole = {
        "response": {"role": "assistant", "content": "42"},
        "usage": {"input_tokens": 7, "output_tokens": 1},
        "finish_reason": "stop",
    }
    outcome = fire(
        "pre_llm_call",
        {"cache": {"substitute": whole}, "late": {"substitute": {"response": whole["response"]}}},
        router("cache"),
        router("late", order=1),
    ).outcome
    assert outcome.substitute == Message(role="assistant", content="42")
    assert outcome.beside == {
        "usage": Usage(input_tokens=7, output_tokens=1),
        "finish_reason": "stop",
    }
    assert outcome.substituted_by == "cache"


def test_usage_that_is_none_substitutes_nothing() -> None:
    wrongs: tuple[tuple[dict[str, Any], str], ...] = (
        ({"usage": {}}, "substitute.usage needs substitute.response"),
        (
            {"response": None, "finish_reason": "stop"},
            "substitute.finish_reason needs substitute.response",
        ),
        (
            {"response": {"role": "assistant", "content": "x"}, "usage": {"input_token": 1}},
            "substitute.usage has an unknown field 'input_token'; did you mean input_tokens?",
        ),
        (
            {"response": {"role": "assistant", "content": "x"}, "usage": {"output_tokens": -1}},
            "substitute.usage does not fit: output_tokens is -1; it must be 0 to 2**53 - 1",
        ),
        (
            {"response": {"role": "assistant", "content": "x"}, "usage": {"cached_tokens": 2**53}},
            "substitute.usage does not fit: cached_tokens is 9007199254740992; it must be 0 to"
            " 2**53 - 1",
        ),
    )
    for wrong, why in wrongs:
        outcome = fire("pre_llm_call", {"cache": {"substitute": wrong}}, router("cache")).outcome
        assert (outcome.substitute, outcome.parts[0].error) == (None, why)


def audience() -> Audience:
    return Audience(
        [
            router("first"),
            router("mender", order=1, attempts=True),
            guard("guard"),
            guard("judge", order=10, attempts=True),
            guard("told", order=11, mode="event"),
        ]
    )


def test_before_another_attempt_those_are_asked_that_want_it() -> None:
    every = audience()
    assert fire("pre_llm_call", {}, *every).lines == [
        "ask first",
        "ask mender",
        "ask guard judge, tell told",
    ]
    fired = fire("pre_llm_call", {}, among=every.again, about=attempt(2))
    assert fired.lines == ["ask mender", "ask judge"]


@says("if it replaces something, so are those that fail closed or do not replace.")
def test_a_guard_sees_what_another_attempt_sends_elsewhere() -> None:
    denies = {"decision": "deny", "reason": "not there"}
    fired = fire(
        "pre_llm_call",
        {"mender": routes_to({"base_url": "http://gpu.lan"}), "guard": denies},
        among=audience().again,
        about=attempt(2),
    )
    assert fired.lines == ["ask mender", "ask guard judge, tell told"]
    assert fired.outcome.denied


def test_a_closed_guard_that_replaces_sees_it_too_and_may_mend_it() -> None:
    closed = {"on_failure": "closed", "priority": 9}
    every = Audience(
        [
            router("mender", attempts=True),
            router("hider", order=1, **closed),
            router("other", order=2, match={"model": "big"}, **closed),
            guard("guard"),
        ]
    )
    answers: dict[str, Any] = {
        "mender": {"replace": {"model": "big"}},
        "hider": {"replace": {"model": "small"}},
    }
    fired = fire("pre_llm_call", answers, among=every.again, about=attempt(2), shows="model")
    assert fired.lines == ["ask mender(scripted)", "ask hider(big)", "ask guard(small)"]
    answers["hider"] = {"decision": "deny", "reason": "not there"}
    assert fire("pre_llm_call", answers, among=every.again, about=attempt(2)).outcome.denied
    unchanged = fire("pre_llm_call", {}, among=every.again, about=attempt(2))
    assert unchanged.lines == ["ask mender"]


@pytest.mark.parametrize("wants", [{"on_failure": "closed"}, {"attempts": True}])
def test_one_that_fits_only_what_another_makes_of_it_is_asked_last(wants: dict[str, Any]) -> None:
    """Its place among those that replace is past by then."""
    every = Audience(
        [
            router("mender", attempts=True),
            router("hider", order=1, on_failure="closed"),
            router("judge", order=2, match={"model": "small"}, priority=9, **wants),
        ]
    )
    answers: dict[str, Any] = {
        "mender": {"replace": {"model": "big"}},
        "hider": {"replace": {"model": "small"}},
        "judge": {"decision": "deny", "reason": "not that one"},
    }
    for among in (every, every.again):
        fired = fire("pre_llm_call", answers, among=among, about=attempt(2), shows="model")
        assert fired.lines == ["ask mender(scripted)", "ask hider(big)", "ask judge(small)"]
        assert fired.outcome.denied


def test_a_failure_before_another_attempt_counts_as_always() -> None:
    every = Audience([guard("judge", attempts=True, on_failure="closed")])
    outcome = fire("pre_llm_call", {"judge": failed()}, among=every.again, about=attempt(2)).outcome
    assert outcome.denied


def test_who_may_send_text_while_it_answers() -> None:
    """Those that may substitute, until one has."""
    streams: dict[str, bool] = {}
    said = {"substitute": {"response": {"role": "assistant", "content": "x"}}}
    fire(
        "pre_llm_call",
        {"b": said},
        router("a"),
        router("b", order=1),
        router("c", order=2),
        guard("guard"),
        streams=streams,
    )
    assert streams == {"a": True, "b": True, "c": False, "guard": False}
