"""The passes of the loop, which tests count in place of time."""

from __future__ import annotations

import trio


class Passes(trio.abc.Instrument):
    """Counts the passes of the loop inside of its block.

    Attributes:
        number: of the present one.
    """

    def __init__(self) -> None:
        self.number = 0

    def before_io_wait(self, timeout: float) -> None:
        self.number += 1

    def __enter__(self) -> Passes:
        trio.lowlevel.add_instrument(self)
        return self

    def __exit__(self, *_: object) -> None:
        trio.lowlevel.remove_instrument(self)
