"""The known name that a misspelt one is told with."""

from __future__ import annotations

import time

import pytest

from sliphook_sdk.protocol import nearest


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("get_wether", "get_weather"),
        ("Get-Weather", "get_weather"),
        ("thing_get_7", "thing_get_7_"),
        ("quite another", None),
        ("get_weather" * 10, None),
    ],
)
def test_among_few_and_among_many(name: str, expected: str | None) -> None:
    known = ["get_weather", "thing_get_7_"]
    assert nearest(name, known) == expected
    assert nearest(name, [*(f"do_{number}_it" for number in range(300)), *known]) == expected


def test_many_long_names_take_no_time_each() -> None:
    known = ["a" * 60 + f"{number:04}" for number in range(5_000)]
    began = time.thread_time()
    nearest("a" * 100, known)
    # each compared with all of its letters it is two seconds
    assert time.thread_time() - began < 0.5
