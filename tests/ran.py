"""What the tests of the command line know of a command that has ended."""

from __future__ import annotations

import json
from typing import Any, NamedTuple


class Ran(NamedTuple):
    """How a command ended."""

    status: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)
