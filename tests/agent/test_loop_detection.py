"""When the model goes in circles, and when it does not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sliphook.agent.loop_detection import Repeats
from sliphook_sdk.protocol import Part, ToolCallRequest
from tests.heartbeat import heartbeat


def call(name: str, **arguments: Any) -> ToolCallRequest:
    return ToolCallRequest(call_id="c", name=name, arguments=arguments)


def circles(names: str) -> list[list[str]]:
    """What is found after each answer.

    Each calls the tool named by that letter, with the same result.
    """
    repeats = Repeats()
    return [repeats.add([call(name)], ["same"]) for name in names]


@pytest.mark.parametrize(
    ("names", "found_at", "circle"),
    [
        ("aaaa", 4, ["a"]),
        ("xyaaaa", 6, ["a"]),
        ("abababab", 8, ["a", "b"]),
        ("abcabcabcabc", 12, ["a", "b", "c"]),
        ("aabaabaabaab", 12, ["a", "a", "b"]),
    ],
)
def test_a_circle_is_found_when_it_was_gone_round_four_times(
    names: str, found_at: int, circle: list[str]
) -> None:
    found = circles(names)
    assert found[found_at - 1] == circle
    assert [one for one in found if one] == [circle]


@pytest.mark.parametrize(
    "names", ["aaa", "aaabaaab", "abababa", "abcdabcdabcdabcdabcd", "abacadaeaf"]
)
def test_what_is_no_circle(names: str) -> None:
    assert not any(circles(names))


def test_afterwards_the_count_begins_anew() -> None:
    assert [bool(found) for found in circles("a" * 12)] == [False, False, False, True] * 3


def test_the_order_of_keys_does_not_count() -> None:
    repeats = Repeats()
    one, other = call("read", path="a", lines=[1, 2]), call("read", lines=[1, 2], path="a")
    assert [repeats.add([each], ["text"]) for each in (one, other, one, other)][-1] == ["read"]


def test_a_poll_that_gets_something_new_is_no_circle() -> None:
    repeats = Repeats()
    assert not any(repeats.add([call("status", job=1)], [f"{percent} %"]) for percent in range(40))


def test_other_arguments_are_another_call() -> None:
    repeats = Repeats()
    assert not any(repeats.add([call("read", page=page)], ["empty"]) for page in range(40))


def test_all_calls_of_an_answer_count() -> None:
    repeats = Repeats()
    both = [call("a"), call("b")]
    assert [repeats.add(both, ["1", "2"]) for _ in range(3)] == [[], [], []]
    assert repeats.add([call("a")], ["1"]) == []
    assert [repeats.add(both, ["1", "2"]) for _ in range(4)][-1] == ["a", "b"]


@given(before=st.text("abc", max_size=20), circle=st.text("abc", min_size=1, max_size=3))
def test_every_circle_is_found_whatever_came_before(before: str, circle: str) -> None:
    assert any(circles(before + circle * 4)[len(before) :]) or any(circles(before))


@given(st.lists(st.integers(), unique=True))
def test_who_never_does_the_same_again_never_goes_in_circles(numbers: list[int]) -> None:
    repeats = Repeats()
    assert not any(repeats.add([call("read", page=number)], ["same"]) for number in numbers)


def test_other_images_are_no_circle() -> None:
    repeats = Repeats()
    for at in range(8):
        part = Part(type="image", mime_type="image/png", data=f"iVBORw0KGgo{at}")
        assert repeats.add([call("look")], [("a page", [part])]) == []
    same = [("a page", [Part(type="image", mime_type="image/png", data="iVBORw0KGgo=")])]
    assert [repeats.add([call("look")], same) for _ in range(4)][-1] == ["look"]


async def test_the_longest_answer_holds_no_loop() -> None:
    # as many values as one answer may have, of those that take long to write
    numbers = [1.1e-300 / number for number in range(1, 313)]
    calls, results = [call("a", of=numbers)] * 128, ["same"] * 128
    beyond = ["not measured"]
    for _ in range(3):  # what the code takes comes again; what a busy machine adds does not
        async with heartbeat() as beat:
            with beat.measure() as held:
                Repeats().add(calls, results)
        if not (beyond := held.beyond()):
            break
    assert beyond == []
