"""Pure: whether the model goes in circles, told from the tool calls of one turn and what came of them."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Sequence
from typing import Final

from sliphook_sdk.protocol import ToolCallRequest

TIMES: Final = 4
"""So often in a row is a circle."""
LONGEST_CIRCLE: Final = 3
"""Answers in one round: A A A A, and A B A B A B A B, and A B C four times over."""

_Step = tuple[tuple[str, str, str | None], ...]


class Repeats:
    """Watches one turn.

    Two answers are the same if they call the same tools with the same arguments (whatever the order
    of their keys) and get the same results; what the model says beside them does not count. So a
    model that polls until a result changes is no circle once it does, and one that writes, tests,
    and writes something else never is.
    """

    def __init__(self) -> None:
        self._steps: deque[_Step] = deque(maxlen=TIMES * LONGEST_CIRCLE)

    def add(self, calls: Sequence[ToolCallRequest], results: Sequence[str | None]) -> list[str]:
        """Take the calls of one answer and what the model reads for each.

        Returns:
            The tools of one round where the model goes in circles, otherwise nothing. After that
            the count begins anew.
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
                self._steps.clear()
                return [name for step in last for name, _, _ in step]
        return []


def _canonical(call: ToolCallRequest) -> str:
    return json.dumps(call.arguments, sort_keys=True)
