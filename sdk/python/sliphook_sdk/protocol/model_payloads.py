"""The payloads of model calls, field by field, in the order of the wire."""

from __future__ import annotations

from typing import Annotated, Optional

import msgspec

from .describe import doc
from .shapes import (
    LlmFailure,
    Message,
    ModelRoute,
    ModelTool,
    Payload,
    TimeoutLeft,
    Truncated,
    Usage,
)

_USAGE = {"input_tokens": 120, "output_tokens": 40, "cached_tokens": None}


class PreLlmCall(Payload, frozen=True, kw_only=True):
    """The model is about to be called."""

    call_index: Annotated[int, doc("from 1, counted in the turn", 1)]
    attempt: Annotated[
        Optional[int], doc("from 1, counted in the call; more only with `attempts`", 1)
    ] = 1
    provider: Annotated[Optional[str], doc("who serves the model", "scripted")]
    timeout_s: TimeoutLeft = msgspec.UNSET
    truncated: Truncated = msgspec.UNSET
    model: Annotated[Optional[str], doc("the model", "scripted")]
    failure: Annotated[
        Optional[LlmFailure], doc("why the attempt before failed; null in the first one")
    ] = None
    route: Annotated[
        Optional[ModelRoute],
        doc("where the call goes; null if the agent does not say", {"provider": "scripted"}),
    ] = None
    tools: Annotated[Optional[list[ModelTool]], doc("the tools on offer; null unless included", [])]
    messages: Annotated[
        Optional[list[Message]],
        doc(
            "the conversation as it will be sent; null unless included",
            [{"role": "user", "content": "hello"}],
        ),
    ]


class PostLlmCall(Payload, frozen=True, kw_only=True):
    """A model call succeeded."""

    call_index: Annotated[int, doc("from 1, counted in the turn", 1)]
    provider: Annotated[Optional[str], doc("who serves the model", "scripted")]
    model: Annotated[Optional[str], doc("the model", "scripted")]
    finish_reason: Annotated[
        Optional[str], doc("why the model ended, in the provider's words", "stop")
    ]
    usage: Annotated[Usage, doc("tokens of this call", _USAGE)]
    duration_ms: Annotated[Optional[float], doc("how long the call took", 812.5)]
    substituted_by: Annotated[Optional[str], doc("the plugin that answered instead of the model")]
    routed_by: Annotated[
        Optional[str], doc("the plugin that said where the call goes; null if none did")
    ] = None
    truncated: Truncated = msgspec.UNSET
    response: Annotated[
        Optional[Message],
        doc("what the model said; null unless included", {"role": "assistant", "content": "done"}),
    ]


class LlmCallFailed(Payload, frozen=True, kw_only=True):
    """An attempt to call the model failed."""

    call_index: Annotated[int, doc("from 1, counted in the turn", 1)]
    attempt: Annotated[int, doc("from 1, counted in the call", 1)]
    kind: Annotated[
        str,
        doc(
            "what failed: connection, timeout, http, refused, rate_limited, stream, malformed, "
            "denied or cancelled",
            "rate_limited",
        ),
    ]
    status: Annotated[Optional[int], doc("the HTTP status, if there was one", 429)]
    message: Annotated[str, doc("what happened, for people", "the server is busy", match=False)]
    will_retry: Annotated[bool, doc("another attempt follows", True)]
