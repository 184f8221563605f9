"""Says what is wrong with JSON that does not fit the envelope. Pure."""

from __future__ import annotations

from typing import Final

import msgspec

from sliphook.quoting import quote
from sliphook_sdk.protocol import ErrorCode, limits

from .faults import PEEK_BYTES, InvalidMessage, NotJson, refusal

_NULL = b"null"


class _Fields(msgspec.Struct, frozen=True):
    """The fields of a message: none is looked into, and no other is kept."""

    jsonrpc: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    id: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    method: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    result: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    error: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


_FIELDS: Final = msgspec.json.Decoder(_Fields)


def diagnose(body: bytes, error: msgspec.ValidationError) -> InvalidMessage | NotJson:
    """Say what is wrong with a body that does not fit the envelope.

    It may be no JSON further on, which comes first.
    """
    try:
        msgspec.json.decode(body, type=msgspec.Raw)
        fields = _FIELDS.decode(body)
    except msgspec.ValidationError:
        batch = body.lstrip().startswith(b"[")
        return _invalid(
            "a batch; each message is sent on its own"
            if batch
            else f"JSON that is no object: {quote(body)}",
            None,
        )
    except msgspec.DecodeError as malformed:
        return not_json(malformed)

    except RecursionError:
        why = f"it is nested over {limits.MAX_DEPTH} levels deep"
        return refusal(body[:PEEK_BYTES], body[-PEEK_BYTES:], why)

    # `method` of null is absent: some libraries write all fields of a reply
    is_reply = is_absent(fields.method) and (
        fields.result is not msgspec.UNSET or fields.error is not msgspec.UNSET
    )
    id: int | str | None = None
    wrong_id = False
    if fields.id is not msgspec.UNSET:
        shown = _start_of(fields.id)
        try:
            id = msgspec.json.decode(shown, type=int | str)
        except msgspec.DecodeError:
            wrong_id = True
        if isinstance(id, str) and len(id) > limits.MAX_ID_CHARS:
            id, wrong_id = None, True
    if fields.jsonrpc is msgspec.UNSET:
        why = 'a message without "jsonrpc":"2.0"'
    elif _start_of(fields.jsonrpc) != b'"2.0"':
        why = f'"jsonrpc" is not "2.0" but {quote(_start_of(fields.jsonrpc))}'
    elif wrong_id and is_reply and fields.error is not msgspec.UNSET:
        why = "an error reply without a usable id, so the plugin could not read a message: "
        why += quote(_start_of(fields.error))
    elif wrong_id and fields.id is not msgspec.UNSET:
        why = f"an id is an integer or a string, not {quote(_start_of(fields.id))}"
    else:
        why = f"a message with a wrong field: {quote(str(error))}"
    return _invalid(why, id, is_reply=is_reply)


def _start_of(value: msgspec.Raw) -> bytes:
    """As much of a value as can be an id, or be shown; never a number cut short."""
    return bytes(memoryview(value)[:PEEK_BYTES]) + b"\xe2\x80\xa6" * (
        len(memoryview(value)) > PEEK_BYTES
    )


def not_json(error: msgspec.DecodeError) -> NotJson:
    """What the decoder found, as the fault that it is."""
    return NotJson(str(error).removeprefix("JSON is malformed: "))


def is_absent(result: msgspec.Raw | msgspec.UnsetType) -> bool:
    """True if a field of a message is absent, or null."""
    # cut, as bytes() would copy all of it
    return result is msgspec.UNSET or bytes(memoryview(result)[:5]) == _NULL


def _invalid(why: str, id: int | str | None, *, is_reply: bool = False) -> InvalidMessage:
    return InvalidMessage(ErrorCode.INVALID_REQUEST, why, id, is_reply=is_reply)
