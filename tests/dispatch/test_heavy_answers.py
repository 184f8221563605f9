"""Many plugins answer one hook at once, each with as much as is allowed."""

from __future__ import annotations

import gc
import json
import sys
from types import FrameType
from typing import Any, Final

import msgspec
import pytest
import trio

from sliphook import PluginHost, Turn
from sliphook.dispatch.answers import AnswerError, read_answer
from sliphook.dispatch.outcome import Outcome
from sliphook.dispatch.policy import dispatch
from sliphook.dispatch.shares import Result
from sliphook.testing import HANGS, FakePlugin
from sliphook_sdk.protocol import CATALOGUE

from .fires import payload, subscriber
from .one_plugin import ask

_OBJECTS: Final = ",".join(['{"":{}}'] * 6_600)
_LONG: Final = "x" * 1_000_000

HEAVY: Final = {
    "meta": ("pre_tool_call", f'{{"_meta":[{_OBJECTS}]}}'),
    "replace": ("pre_tool_call", f'{{"replace":{{"arguments":{{"a":[{_OBJECTS}]}}}}}}'),
    "substitute": ("pre_tool_call", f'{{"substitute":{{"result":[{_OBJECTS}]}}}}'),
    "unknown field": ("pre_tool_call", f'{{"x":[{_OBJECTS}]}}'),
    "texts": ("pre_tool_call", json.dumps({"context": [f"{n:06}" for n in range(19_000)]})),
    "a long text": ("pre_tool_call", json.dumps({"context": [_LONG]})),
    "reason": ("pre_tool_call", json.dumps({"decision": "deny", "reason": _LONG})),
    "continue_with": ("stop", json.dumps({"continue_with": _LONG})),
}
heavy = pytest.mark.parametrize(("event", "answer"), HEAVY.values(), ids=list(HEAVY))


def outcome_of(event: str, answer: str, count: int) -> Outcome:
    entry, result = CATALOGUE[event], Result(status="answered", raw=answer.encode())
    subscribers = [subscriber(f"p{number}", event=event, order=number) for number in range(count)]
    policy = dispatch(entry, payload(event), subscribers)
    shares = [ask.share(entry, result) for ask in next(policy).asks]
    with pytest.raises(StopIteration) as stop:
        policy.send(shares)
    outcome: Outcome = stop.value.value
    return outcome


@heavy
def test_what_is_kept_of_many_answers_is_bounded_by_a_sum(event: str, answer: str) -> None:
    outcome = outcome_of(event, answer, 20)
    assert len(outcome.reason) < 1_100_000
    assert len(outcome.continue_with or "") < 1_100_000
    assert sum(len(one.text) for one in outcome.context) <= 20 * 10_100
    for part in outcome.parts:
        assert part.answer is None or len(part.answer.context or ()) <= 64


def test_the_joined_texts_say_what_is_left_out() -> None:
    note = "[the rest is left out: over 1,048,576 characters together]"
    denied = outcome_of(*HEAVY["reason"], 20)
    assert denied.reason == f"p0: {_LONG}; {note}"
    assert [len(one.text) for one in denied.reasons] == [1_000_000] * 20
    assert outcome_of(*HEAVY["continue_with"], 20).continue_with == f"{_LONG}\n\n{note}"
    alone = outcome_of("stop", json.dumps({"continue_with": _LONG * 2}), 1)
    assert alone.continue_with == _LONG * 2


@pytest.mark.parametrize("kind", ["meta", "replace", "substitute", "unknown field"])
def test_what_nobody_reads_does_not_wake_the_garbage_collector(kind: str) -> None:
    raw = HEAVY[kind][1].encode()
    collections = 0

    def count(phase: str, _: object) -> None:
        nonlocal collections
        collections += phase == "start"

    gc.collect()
    gc.callbacks.append(count)
    try:
        read_answer(raw, replacing=False)
    except AnswerError:
        assert kind == "unknown field"
    finally:
        gc.callbacks.remove(count)
    assert collections == 0


@pytest.mark.parametrize("number", ["1e400", "-1E+0400", "9" * 250 + "e99"])
@pytest.mark.parametrize("field", ['"_meta":[{}]', '"replace":{{"arguments":{}}}'])
def test_a_number_that_no_double_can_be_is_an_error_where_nobody_reads_it(
    field: str, number: str
) -> None:
    for replacing in (True, False):
        with pytest.raises(AnswerError, match=r"^the answer does not fit: Number out of range"):
            read_answer(f"{{{field.format(number)}}}".encode(), replacing=replacing)
        read_answer(f"{{{field.format('1e300')}}}".encode(), replacing=replacing)


def test_meta_is_json_and_null_is_none() -> None:
    assert read_answer(b'{"_meta":{"a": 1}}').meta_ == msgspec.Raw(b'{"a": 1}')
    assert read_answer(b'{"_meta":null}').meta_ is None
    assert read_answer(b"{}").meta_ is None


@pytest.mark.parametrize("answer", [{"context": ["x"]}, {"zzz": 1}], ids=repr)
async def test_an_answer_is_read_when_it_comes_and_not_with_the_last_one(
    answer: dict[str, Any],
) -> None:
    """Its reader has a time for that; who is last would do the work of all."""
    read = 0

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal read
        read += event == "call" and frame.f_code is read_answer.__code__

    quick = [FakePlugin(f"p{n}", hooks={"pre_tool_call": answer}) for n in range(3)]
    slow = FakePlugin("slow", hooks={"pre_tool_call": HANGS})
    outcomes: list[Outcome] = []

    async def asked(turn: Turn) -> None:
        outcomes.append(await ask(turn))

    async with (
        PluginHost([*quick, slow]) as host,
        host.session() as session,
        session.turn("x") as turn,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(asked, turn)
        sys.setprofile(count)
        try:
            # until the slow one's timeout: then the last answer is there
            while read < 3 and not outcomes:
                await trio.lowlevel.checkpoint()
        finally:
            sys.setprofile(None)
        for _ in range(3):
            await trio.lowlevel.checkpoint()
        assert (read, outcomes) == (3, [])
        nursery.cancel_scope.cancel()
