"""Token counts add up although some are not known."""

from __future__ import annotations

import pytest

from sliphook_sdk.protocol import Usage


@pytest.mark.parametrize(
    ("total", "more", "sum_"),
    [
        ((None, 1, 0), (None, 2, 3), (None, 3, 3)),
        ((4, None, None), (None, 5, None), (4, 5, None)),
        ((0, 0, None), (None, 0, 0), (0, 0, 0)),
    ],
)
def test_unknown_is_null_and_never_zero(
    total: tuple[int | None, int | None, int | None],
    more: tuple[int | None, int | None, int | None],
    sum_: tuple[int | None, int | None, int | None],
) -> None:
    """A provider that does not tell its usage has not used nothing."""
    assert _usage(total).plus(_usage(more)) == _usage(sum_)


def _usage(numbers: tuple[int | None, int | None, int | None]) -> Usage:
    return Usage(input_tokens=numbers[0], output_tokens=numbers[1], cached_tokens=numbers[2])
