"""Pure: the bodies of the records that are no messages."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from sliphook_sdk.protocol.describe import doc

__all__ = ["Header", "Lost", "OutcomeBody", "PartBody"]


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """The body of a `header`, the first line of each file."""

    format: Annotated[
        int,
        doc("the version of the format; another number: fields or kinds have another meaning", 1),
    ]
    sliphook: Annotated[str, doc("the version of the host that wrote the file", "0.1.0")]
    part: Annotated[int, doc("from 1; it rises when a trace goes on in another file", 1)]


class Lost(msgspec.Struct, frozen=True, kw_only=True):
    """The body of a `lost` record, which takes the place of records that are missing."""

    count: Annotated[int, doc("how many", 12)]
    why: Annotated[str, doc("what kept them from being written", "No space left on device")]


class PartBody(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One plugin's part in an `outcome`."""

    plugin: Annotated[str, doc("its name", "guard")]
    status: Annotated[
        str, doc("how it ended: answered, told, timed_out, crashed, refused_answer …", "answered")
    ]
    decision: Annotated[
        str | None, doc("what it counted as, a failure by `on_failure`", "deny")
    ] = None
    reason: Annotated[
        str | None, doc("why, in the plugin's words, or the failure", "not on a Friday")
    ] = None
    elapsed_ms: Annotated[
        float | None,
        doc("from the request's queueing to its end; absent if it was only told", 0.8),
    ] = None
    error: Annotated[str | None, doc("what went wrong")] = None
    gives: Annotated[
        tuple[str, ...],
        doc("what else its answer has: replace, substitute, context, continue_with", ["replace"]),
    ] = ()


class OutcomeBody(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The body of an `outcome`: the merged answers to one hook, and each plugin's part in it."""

    parts: Annotated[list[PartBody], doc("every plugin that was asked or told, in order", [])]
    decision: Annotated[
        str | None, doc("deny, ask, allow; absent if no plugin decided", "deny")
    ] = None
    cancelled: Annotated[bool, doc("the turn ended before all had answered", True)] = False
    substituted_by: Annotated[str | None, doc("the plugin whose answer replaces the call")] = None
    continue_with: Annotated[str | None, doc("in `stop`: the text to go on with")] = None


# made once, at import: msgspec reads a type at its first use, and not safely in two threads
HEADER: Final = msgspec.json.Decoder(Header)
LOST: Final = msgspec.json.Decoder(Lost)
OUTCOME_BODY: Final = msgspec.json.Decoder(OutcomeBody)
