"""Pure: detects a model that goes in circles, by the tool calls of one turn and their results."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final

import msgspec

from sliphook_sdk.protocol import ToolCallRequest

TIMES: Final = 4
"""A round that repeats so often in a row is a circle."""
LONGEST_CIRCLE: Final = 3
"""Answers in one round: A A A A is a circle, and so are A B and A B C four times over."""

_Step = tuple[tuple[str, bytes, object], ...]


class Repeats:
    """The answers of one turn.

    Two answers are the same if they call the same tools with the same arguments and get the same
    results. The order of keys and the model's text do not count. So a model that polls is out of
    the circle when the result changes, and a model that writes, tests, and writes something else
    is never in one.
    """

    def __init__(self) -> None:
        self._steps: deque[_Step] = deque(maxlen=TIMES * LONGEST_CIRCLE)

    def add(self, calls: Sequence[ToolCallRequest], results: Sequence[object]) -> list[str]:
        """Add the calls of one answer and what the model reads for each.

        Returns:
            The tools of one round if the model goes in circles, and the count restarts; else an
            empty list.
        """
        self._steps.append(
            tuple(
                (call.name, _canonical(call), result)
                for call, result in zip(calls, results, strict=True)
            )
        )
        steps = list(self._steps)
        for length in range(1, LONGEST_CIRCLE + 1):
            last = steps[-length:]
            if steps[-length * TIMES :] == last * TIMES:
                # the user may let it go on: the next report comes after TIMES more rounds
                self._steps.clear()
                return [name for step in last for name, _, _ in step]
        return []


def _canonical(call: ToolCallRequest) -> bytes:
    return msgspec.json.encode(call.arguments, order="sorted")
