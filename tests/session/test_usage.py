"""Token counts add up although some are not known."""

from __future__ import annotations

import pytest

from sliphook.session.usage import add_usage
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
    added = add_usage(
        Usage(input_tokens=total[0], output_tokens=total[1], cached_tokens=total[2]),
        Usage(input_tokens=more[0], output_tokens=more[1], cached_tokens=more[2]),
    )
    assert (added.input_tokens, added.output_tokens, added.cached_tokens) == sum_
