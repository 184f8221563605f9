"""What an agent says to its hook, as values: decoded in steps, what is too large in part.

And what the model reads of a result that plugins are not told.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
import trio

from sliphook import PluginHost
from sliphook.adapters.dialects.answer import HookAnswer
from sliphook.adapters.dialects.reading import loads_finite
from sliphook.adapters.dialects.shape import IDENTIFYING, RESULT, RESULT_FLAGS, RESULT_TEXTS
from sliphook.adapters.dialects.told import ToolDone
from sliphook.adapters.weighing import STEP_BYTES, excess_of
from sliphook.errors import SliphookError
from sliphook_sdk.protocol.limits import MAX_MESSAGE_BYTES, MAX_MESSAGE_VALUES
from sliphook_sdk.protocol.weight import weigh

from .request import MAX_STDIN_BYTES

_TOO_LONG: Final = (
    f"it has more than {MAX_STDIN_BYTES:,} bytes, and plugins are told of"
    f" {MAX_MESSAGE_BYTES:,} at most"
)

_Envelope = msgspec.defstruct(
    "_Envelope",
    [(name, msgspec.Raw | msgspec.UnsetType, msgspec.UNSET) for name in (*IDENTIFYING, RESULT)],
)
_envelopes: Final = msgspec.json.Decoder(_Envelope)
_Result = msgspec.defstruct(
    "_Result",
    [
        (name, msgspec.Raw | msgspec.UnsetType, msgspec.UNSET)
        for name in (*RESULT_TEXTS, *RESULT_FLAGS)
    ],
)
_results: Final = msgspec.json.Decoder(_Result)
_FLAGS: Final = {b"true": True, b"false": False}


class NoJson(SliphookError):
    """The agent said no JSON."""


class HookPayload(msgspec.Struct, frozen=True):
    """One decoded payload.

    Attributes:
        value: what the agent said; if there is too much of it, the fields of `IDENTIFYING` alone,
            and a result without its texts.
        excess: what there is too much of, as in "it has more than 20,000 values", or None.
    """

    value: Any
    excess: str | None = None


async def read_payload(body: bytes, *, shortened: bool = False) -> HookPayload:
    """Decode it; other tasks run meanwhile.

    Args:
        body: the JSON.
        shortened: it is what the client has left of a longer one.

    Raises:
        NoJson: it is none.
    """
    try:
        excess = _TOO_LONG if shortened else await _excess(body)
        if excess is None:
            value = _decoded(body)
            if len(body) > STEP_BYTES:
                await trio.lowlevel.checkpoint()
            return HookPayload(value)
        # 2 ns a byte, and no object is made of what is skipped
        envelope = _envelopes.decode(body)
        return HookPayload({**await _identified(envelope), **await _emptied(envelope)}, excess)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        raise NoJson from None


def _decoded(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except msgspec.DecodeError:
        if b"\\u" not in body:
            raise
    # an agent in JavaScript writes half a character, as of a text that was cut, as an escape; what
    # is told to plugins has U+FFFD in its place
    return loads_finite(body)


async def _excess(body: bytes) -> str | None:
    if len(body) > MAX_MESSAGE_BYTES:
        most = f"{MAX_MESSAGE_BYTES:,}"
        return f"it has {len(body):,} bytes, and plugins are told of {most} at most"
    return await excess_of(body)


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
            found[name] = _decoded(text)
            bytes_left -= len(text)
            values_left -= weight.values
    return found


async def _emptied(envelope: Any) -> dict[str, Any]:
    """The result without its texts: the shape in which the agent takes another."""
    raw = getattr(envelope, RESULT)
    await trio.lowlevel.checkpoint()
    if raw is msgspec.UNSET:
        return {}
    text = bytes(raw)
    if text.startswith(b'"'):
        return {RESULT: ""}
    if not text.startswith(b"{"):
        return {}
    result = _results.decode(text)
    await trio.lowlevel.checkpoint()
    texts = {name: "" for name in RESULT_TEXTS if getattr(result, name) is not msgspec.UNSET}
    flags = {name: _FLAGS.get(bytes(getattr(result, name) or b"")) for name in RESULT_FLAGS}
    return {RESULT: texts | {name: flag for name, flag in flags.items() if flag is not None}}


def unheard(plugins: PluginHost, told: ToolDone, why: str) -> HookAnswer:
    """The answer to such a result; if a plugin could have changed it, the model reads why.

    Args:
        plugins: the host.
        told: the result.
        why: ends the sentence `plugins that may change results ...`.
    """
    may_change = plugins.hears(
        "post_tool_call",
        replaces=True,
        tool_name=told.tool_name,
        tool_kind=told.tool_kind,
        origin=told.origin,
    )
    if not may_change:
        return HookAnswer()
    return HookAnswer(result=f"sliphook: withheld, since plugins that may change results {why}")
