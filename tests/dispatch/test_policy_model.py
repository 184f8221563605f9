"""Any fire: a model of the rules in a few lines, and random fires that both must agree on."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Final

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sliphook.dispatch.outcome import Outcome
from sliphook.dispatch.policy import Policy, Round, dispatch, merge_one
from sliphook.dispatch.shares import Result, Share
from sliphook_sdk.protocol import CATALOGUE, Entry

from .fires import FAILURES, Fired, answered, failed, payload, subscriber

TEXTS = ["x", "xy", "zz"]


@st.composite
def subscriptions(draw: st.DrawFn, event: str) -> dict[str, Any]:
    entry = CATALOGUE[event]
    mode = draw(st.sampled_from(["hook", "hook", "hook", "event"]))
    fields: dict[str, Any] = {"mode": mode, "priority": draw(st.integers(-1, 1))}
    if mode == "hook" and entry.replace:
        fields["replaces"] = draw(st.booleans())
    if "deny" in entry.decisions:
        fields["on_failure"] = draw(st.sampled_from(["open", "closed"]))
    if event == "pre_llm_call" and draw(st.booleans()):
        fields["match"] = {"model": draw(st.sampled_from(["x*", "z*", "?", "*"]))}
    return fields


def no_guard_is_hidden(subs: list[dict[str, Any]]) -> bool:
    """A manifest with a closed subscription that is never asked is refused."""
    asked = [sub for sub in subs if sub["mode"] == "hook"]
    texts = [None if "match" not in sub else sub["match"]["model"] for sub in asked]
    return all(
        sub.get("on_failure") != "closed" or not {None, "*", texts[at]} & {*texts[:at]}
        for at, sub in enumerate(asked)
    )


@st.composite
def answers(draw: st.DrawFn, event: str) -> Any:
    if draw(st.integers(0, 4)) == 0:
        return failed(draw(st.sampled_from(FAILURES)))
    fields: dict[str, Any] = {
        "decision": draw(st.sampled_from([None, "allow", "ask", "deny", "nonsense"])),
        "reason": draw(st.sampled_from([None, "because"])),
        "context": draw(st.sampled_from([None, ["c1"], ["c2", "c3"]])),
        "continue_with": draw(st.sampled_from([None, None, None, "more"])),
    }
    replace = {
        "pre_llm_call": {"model": draw(st.sampled_from(TEXTS))},
        "pre_tool_call": {"arguments": {"n": draw(st.integers(0, 3))}},
    }
    fields["replace"] = draw(st.sampled_from([None, replace.get(event, {})]))
    fields["substitute"] = draw(st.sampled_from([None, None, {"result": "s"}]))
    kept = draw(st.sets(st.sampled_from(sorted(fields))))
    return {name: fields[name] for name in kept}


@st.composite
def fires(draw: st.DrawFn) -> tuple[str, list[tuple[str, list[dict[str, Any]], Any]]]:
    event = draw(st.sampled_from(["pre_tool_call", "pre_llm_call", "stop"]))
    count = draw(st.integers(0, 5))
    return event, [
        (
            f"p{number}",
            draw(st.lists(subscriptions(event), min_size=1, max_size=3).filter(no_guard_is_hidden)),
            draw(answers(event)),
        )
        for number in range(count)
    ]


def fails(event: str, answer: Any, *, first_phase: bool) -> bool:
    """Written after the catalogue, not after the code."""
    if isinstance(answer, Result):
        return True
    allowed = {
        "pre_tool_call": ["allow", "ask", "deny"],
        "pre_llm_call": ["deny"],
        "stop": [],
    }[event]
    if answer.get("decision") is not None and answer["decision"] not in allowed:
        return True
    if answer.get("continue_with") is not None and event != "stop":
        return True
    if answer.get("context") and event == "stop":
        return True
    if answer.get("substitute") and (event != "pre_tool_call" or not first_phase):
        return True
    return bool(answer.get("replace")) and (event == "stop" or not first_phase)


def glob_matches(pattern: str, text: str) -> bool:
    return {"x*": text.startswith("x"), "z*": text.startswith("z"), "?": len(text) == 1, "*": True}[
        pattern
    ]


class Model:
    """The rules of section 6 of the protocol, once more and plainly."""

    def __init__(
        self, event: str, plugins: list[tuple[str, list[dict[str, Any]], Any]], text: str
    ) -> None:
        self.event, self.plugins = event, plugins
        self.text: str = text
        self.arguments: Any = {"command": "ls"}
        self.decisions: list[str] = []
        self.context: list[str] = []
        self.reasons: list[str] = []
        self.continues: list[str] = []
        self.substituted_by: str | None = None
        self.rounds: list[tuple[list[str], list[str]]] = []
        self._run()

    def _first(self, subs: list[dict[str, Any]]) -> int | None:
        """To be told never takes the place of being asked."""
        fitting = [
            i
            for i, sub in enumerate(subs)
            if all(glob_matches(glob, self.text) for glob in sub.get("match", {}).values())
        ]
        asked = [i for i in fitting if subs[i]["mode"] == "hook"]
        return next(iter(asked or fitting), None)

    def _run(self) -> None:
        order = sorted(
            (
                (sub["priority"], number, index)
                for number, (_, subs, _) in enumerate(self.plugins)
                for index, sub in enumerate(subs)
            ),
            key=lambda one: (-one[0], one[1], one[2]),
        )
        done: set[int] = set()
        for _, number, index in order:
            name, subs, answer = self.plugins[number]
            if number not in done and subs[index].get("replaces") and self._first(subs) == index:
                done.add(number)
                self.rounds.append(([name], []))
                self._take(name, subs[index], answer, first_phase=True)
                if "deny" in self.decisions:
                    break
        denied = "deny" in self.decisions
        asked: list[tuple[str, dict[str, Any], Any]] = []
        told: list[str] = []
        for _, number, index in order:
            name, subs, answer = self.plugins[number]
            if number not in done and self._first(subs) == index:
                done.add(number)
                if subs[index]["mode"] == "event":
                    told.append(name)
                elif not denied:
                    asked.append((name, subs[index], answer))
        if asked or told:
            self.rounds.append(([name for name, _, _ in asked], told))
        for name, sub, answer in asked:
            self._take(name, sub, answer, first_phase=False)

    def _take(self, name: str, sub: dict[str, Any], answer: Any, *, first_phase: bool) -> None:
        if fails(self.event, answer, first_phase=first_phase):
            if sub.get("on_failure") == "closed":
                self.decisions.append("deny")
                self.reasons.append(name)
            return
        decision = answer.get("decision")
        if decision is not None and not (first_phase and decision == "allow"):
            self.decisions.append(decision)
        if answer.get("reason") or decision == "deny":
            self.reasons.append(name)
        self.context += answer.get("context") or []
        if answer.get("continue_with"):
            self.continues.append(answer["continue_with"])
        replace: dict[str, Any] = answer.get("replace") or {}
        self.text = replace.get("model", self.text)
        self.arguments = replace.get("arguments", self.arguments)
        if answer.get("substitute") and self.substituted_by is None:
            self.substituted_by = name


def play(
    entry: Entry,
    policy: Policy,
    answer_of: Callable[[str], Result],
    arrival: Callable[[int], list[int]],
) -> tuple[Outcome, list[Round]]:
    """Play a fire as a host does: a round's answers arrive in any order, and count together."""
    rounds: list[Round] = []
    shares: list[Share] | None = None
    while True:
        try:
            todo = next(policy) if shares is None else policy.send(shares)
        except StopIteration as stop:
            return stop.value, rounds
        rounds.append(todo)
        arrived: dict[int, Share] = {}
        for index in arrival(len(todo.asks)):
            ask = todo.asks[index]
            arrived[index] = ask.share(entry, answer_of(ask.subscriber.plugin))
        shares = [arrived[index] for index in range(len(todo.asks))]


@given(fires(), st.sampled_from(TEXTS), st.randoms(use_true_random=False), st.data())
def test_any_fire_comes_out_as_the_rules_say(
    what: tuple[str, list[tuple[str, list[dict[str, Any]], Any]]],
    text: str,
    random: Random,
    data: st.DataObject,
) -> None:
    event, plugins = what
    about = payload(event, model=text) if event == "pre_llm_call" else payload(event)
    answer_by_name = {
        name: answer if isinstance(answer, Result) else answered(answer)
        for name, _, answer in plugins
    }
    subscribers = [
        subscriber(name, *subs, event=event, order=order)
        for order, (name, subs, _) in enumerate(plugins)
    ]

    def shuffled(count: int) -> list[int]:
        order = list(range(count))
        random.shuffle(order)
        return order

    given_order = data.draw(st.permutations(subscribers))
    entry = CATALOGUE[event]
    outcome, rounds = play(
        entry, dispatch(entry, about, given_order), answer_by_name.__getitem__, shuffled
    )
    again, _ = play(
        entry,
        dispatch(entry, about, subscribers),
        answer_by_name.__getitem__,
        lambda count: list(range(count)),
    )
    assert outcome == again, (
        "who answers first, and in what order the subscribers are listed, does not matter"
    )

    model = Model(event, plugins, text)
    assert [
        (
            [ask.subscriber.plugin for ask in todo.asks],
            [tell.subscriber.plugin for tell in todo.tells],
        )
        for todo in rounds
    ] == model.rounds
    ranked = [decision for decision in ("deny", "ask", "allow") if decision in model.decisions]
    assert outcome.decision == (ranked[0] if ranked else None)
    assert [reason.plugin for reason in outcome.reasons] == model.reasons
    denied = outcome.decision == "deny"
    assert [text.text for text in outcome.context] == ([] if denied else model.context)
    assert outcome.substituted_by == (None if denied else model.substituted_by)
    assert (outcome.continue_with or "") == "\n\n".join(model.continues)
    assert getattr(outcome.payload, "model", model.text) == model.text
    assert getattr(outcome.payload, "arguments", model.arguments) == model.arguments

    met = [plugin for asked, told in model.rounds for plugin in (*asked, *told)]
    assert len(met) == len(set(met)), "at most one delivery a plugin"
    assert [part.plugin for part in outcome.parts] == met
    for todo in rounds:
        for tell in todo.tells:
            assert tell.payload == outcome.payload, "who is told gets the final payload"
    failed_closed = [
        part for part in outcome.parts if part.error is not None and part.decision == "deny"
    ]
    assert not failed_closed or denied, "a closed failure is never permissive"


ANSWERS: Final[list[Any]] = [
    None,
    {},
    {"decision": "allow"},
    {"decision": "ask", "reason": "hm"},
    {"decision": "deny"},
    {"decision": "deny", "reason": "no", "context": ["x"]},
    {"context": ["a", "b"]},
    {"replace": {"arguments": {}}},
    {"desicion": "deny"},
    [],
    failed(),
    failed("crashed", "it died"),
]


@pytest.mark.parametrize("answer", ANSWERS, ids=repr)
@pytest.mark.parametrize("on_failure", ["open", "closed"])
def test_one_answer_merged_alone_is_what_the_whole_policy_makes_of_it(
    answer: Any, on_failure: str
) -> None:
    one, about = subscriber("guard", {"on_failure": on_failure}), payload("pre_tool_call")
    result = answer if isinstance(answer, Result) else answered(answer)
    alone = merge_one(
        CATALOGUE["pre_tool_call"],
        about,
        one,
        one.routes[0],
        msgspec.structs.replace(result, raw=raw(result)),
    )
    assert alone == Fired("pre_tool_call", [one], {"guard": answer}, about=about).outcome


def raw(result: Result) -> msgspec.Raw | None:
    """As it comes from a connection."""
    return msgspec.Raw(result.raw) if result.raw is not None else None
