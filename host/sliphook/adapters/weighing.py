"""Long JSON texts of others, weighed while other tasks run."""

from __future__ import annotations

from typing import Final

import trio

from sliphook_sdk.protocol.weight import Weight, weigh

STEP_BYTES: Final = 256 * 1024
"""Counted in 2 ms at worst."""


async def excess_of(body: bytes) -> str | None:
    """The first limit of all messages that is passed; see `Weight`."""
    if len(body) <= STEP_BYTES:
        return weigh(body).excess
    weight = Weight()
    for at in range(0, len(body), STEP_BYTES):
        weight.add(body[at : at + STEP_BYTES])
        await trio.lowlevel.checkpoint()
    return weight.excess
