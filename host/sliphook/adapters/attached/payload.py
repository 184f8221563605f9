"""What an agent says to its hook, as values: decoded in steps, what is too large in part."""

from __future__ import annotations

from typing import Any, Final

import msgspec
import trio

from sliphook.adapters.dialects.shape import IDENTIFYING
from sliphook.errors import SliphookError
from sliphook_sdk.protocol.limits import MAX_MESSAGE_BYTES, MAX_MESSAGE_VALUES
from sliphook_sdk.protocol.weight import Weight, weigh

_STEP_BYTES: Final = 256 * 1024
"""Counted in 2 ms at worst."""

_Envelope = msgspec.defstruct(
    "_Envelope", [(name, msgspec.Raw | msgspec.UnsetType, msgspec.UNSET) for name in IDENTIFYING]
)
_envelopes: Final = msgspec.json.Decoder(_Envelope)


class NoJson(SliphookError):
    """The agent said no JSON."""


class HookPayload(msgspec.Struct, frozen=True):
    """One decoded payload.

    Attributes:
        value: what the agent said; if there is too much of it, the fields of `IDENTIFYING` alone.
        excess: what there is too much of, as in "it has more than 20,000 values", or None.
    """

    value: Any
    excess: str | None = None


async def read_payload(body: bytes) -> HookPayload:
    """Decode it; other tasks run meanwhile.

    Raises:
        NoJson: it is none.
    """
    try:
        excess = await _excess(body)
        if excess is None:
            return HookPayload(msgspec.json.decode(body))
        # 2 ns a byte, and no object is made of what is skipped
        return HookPayload(await _identified(_envelopes.decode(body)), excess)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        raise NoJson from None


async def _excess(body: bytes) -> str | None:
    if len(body) > MAX_MESSAGE_BYTES:
        most = f"{MAX_MESSAGE_BYTES:,}"
        return f"it has {len(body):,} bytes, and plugins are told of {most} at most"
    if len(body) <= _STEP_BYTES:
        return weigh(body).excess
    weight = Weight()
    for at in range(0, len(body), _STEP_BYTES):
        weight.add(body[at : at + _STEP_BYTES])
        await trio.lowlevel.checkpoint()
    return weight.excess


async def _identified(envelope: Any) -> dict[str, Any]:
    """The fields that are not too large themselves, nor all together."""
    found: dict[str, Any] = {}
    bytes_left, values_left = MAX_MESSAGE_BYTES, MAX_MESSAGE_VALUES
    for name in IDENTIFYING:
        raw = getattr(envelope, name)
        await trio.lowlevel.checkpoint()
        if raw is msgspec.UNSET or len(text := bytes(raw)) > bytes_left:
            continue
        weight = weigh(text)
        if weight.excess is None and weight.values <= values_left:
            found[name] = msgspec.json.decode(text)
            bytes_left -= len(text)
            values_left -= weight.values
    return found
