"""Bytes of JSON to messages and back: the envelope, decoded strictly, and nothing inside it.

Pure. `decode` is called once for each message of a plugin (by `framing`), `encode` once for each
message of the host.
"""

from __future__ import annotations

import re
from typing import Any, Final, Literal, TypeAlias

import msgspec

from sliphook.quoting import quote
from sliphook_sdk.protocol import ErrorCode, limits
from sliphook_sdk.protocol.names import doubled_in
from sliphook_sdk.protocol.weight import Weight, weigh

from .diagnosis import diagnose, is_absent, not_json
from .faults import PEEK_BYTES, InvalidMessage, NameTwice, NotJson, OverLimit, refusal
from .surrogates import TooManySurrogates, plain_form, without_surrogates

__all__ = [
    "ErrorObject",
    "InvalidMessage",
    "Message",
    "NameTwice",
    "NotJson",
    "Notification",
    "OverLimit",
    "Reply",
    "Request",
    "TooManySurrogates",
    "decode",
    "encode",
    "request",
    "told_instead",
]

_NULL: Final = b"null"
_NO_PARAMS: Final = msgspec.Raw(b"{}")
_NO_DATA: Final = msgspec.Raw(_NULL)


class ErrorObject(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why a request failed, as the answering side says it.

    Without data, `data` is `Raw(b"null")`.
    """

    code: int
    message: str
    data: msgspec.Raw = _NO_DATA  # not `Raw | None`: msgspec decodes that as None alone


class Request(msgspec.Struct, frozen=True):
    """A question: the plugin waits for a reply with this id.

    `params` is an object, not looked into.
    """

    id: int | str
    method: str
    params: msgspec.Raw


class Notification(msgspec.Struct, frozen=True):
    """A message that wants no reply. `params` is an object, not looked into."""

    method: str
    params: msgspec.Raw


class Reply(msgspec.Struct, frozen=True):
    """The answer to a request of the host.

    `error` is None and `result` is set (null is `Raw(b"null")`), or the other way round.
    """

    id: int | str
    result: msgspec.Raw | None
    error: ErrorObject | None


Message: TypeAlias = Request | Notification | Reply


class _Envelope(msgspec.Struct, frozen=True):
    """Every field of a message. null counts as absent, but in `id` (not allowed) and `result`."""

    # Unknown fields are ignored here, as protocol.md promises: either side may gain new ones.
    jsonrpc: Literal["2.0"]
    id: int | str | msgspec.UnsetType = msgspec.UNSET
    method: str | None = None
    params: msgspec.Raw = _NO_PARAMS
    result: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    error: ErrorObject | None = None


_ENVELOPE: Final = msgspec.json.Decoder(_Envelope)
_ABSTAINS: Final = re.compile(rb'\{"jsonrpc":"2\.0","id":(0|[1-9][0-9]{0,14}),"result":null\}\n?')
"""The most frequent message by far, as SDKs write it; `decode` says the same of it either way."""
_ENCODER: Final = msgspec.json.Encoder(enc_hook=plain_form)


def decode(body: bytes, weight: Weight | None = None) -> Message:
    """Decode one message.

    The whole body is checked to be JSON in UTF-8 without lone surrogates. The `Raw` parts refer to
    `body` and keep it alive. Beside an error object a `result` of null counts as absent, and so do
    `result` and `error` of null beside a method: some libraries always write all fields.

    Args:
        body: One JSON text; white space around it is fine.
        weight: The weight of `body` if it has been weighed.

    Raises:
        NotJson: It is none.
        OverLimit: It has more in it than any message may. The message itself is the first level.
        InvalidMessage: It is JSON, but no message, or an object in it has a name twice.
    """
    if (abstains := _ABSTAINS.fullmatch(body)) is not None:
        return Reply(int(abstains[1]), _NO_DATA, None)
    # msgspec does not look at the text in `Raw` parts and in fields that it skips
    if not body.isascii():
        _check_utf8(body)
    # here for all: the `Raw` parts are decoded later, in many places
    if weight is None:
        weight = weigh(body)
    try:
        envelope = _ENVELOPE.decode(body)
    except msgspec.ValidationError as error:
        raise diagnose(body, error) from None
    except msgspec.DecodeError as error:
        raise not_json(error) from None
    except RecursionError:
        raise refusal(body[:PEEK_BYTES], body[-PEEK_BYTES:], weight.excess or "") from None
    if weight.excess is not None:
        raise OverLimit(weight.excess, _usable_id(envelope), is_reply=envelope.method is None)
    small = len(body) <= limits.UNWEIGHED_BYTES
    doubled = doubled_in(body) if small else weight.doubled_name()
    if doubled is not None:
        raise NameTwice(doubled, _usable_id(envelope), is_reply=envelope.method is None)

    id, method, result, error_object = envelope.id, envelope.method, envelope.result, envelope.error
    if method is None:
        if id is msgspec.UNSET:
            is_reply = error_object is not None or result is not msgspec.UNSET
            raise _invalid(
                "a reply without an id"
                if is_reply
                else "a message with neither a method nor an id",
                None,
                is_reply=is_reply,
            )
        if error_object is None:
            if result is msgspec.UNSET:
                why = "a message with neither a method, a result nor an error"
                raise InvalidMessage(ErrorCode.INVALID_REQUEST, why, id, may_be_reply=True)
            return Reply(id, result, None)
        if not is_absent(result):
            raise _invalid("a reply with both a result and an error", id, is_reply=True)
        return Reply(id, None, error_object)

    if isinstance(id, str) and len(id) > limits.MAX_ID_CHARS:
        raise _invalid(f"an id of {len(id):,} characters, over {limits.MAX_ID_CHARS}", None)
    shown_id = None if id is msgspec.UNSET else id
    if error_object is not None or not is_absent(result):
        raise _invalid("a message with both a method and a result or error", shown_id)
    params = envelope.params
    # a view: bytes() would copy up to 8 MiB for the sake of one byte
    if params is not _NO_PARAMS and memoryview(params)[0] != 0x7B:  # {
        if len(memoryview(params)) != len(_NULL) or bytes(params) != _NULL:
            raise _invalid(
                f'the params of "{quote(method)}" are not an object: {quote(bytes(params))}',
                shown_id,
            )
        params = _NO_PARAMS
    return Notification(method, params) if id is msgspec.UNSET else Request(id, method, params)


def encode(value: Any) -> bytes:
    r"""Encode anything as compact JSON, fit to be framed.

    No space, no raw newline, no doubled key, no `\u` escape but for control characters, `/` not
    escaped. NaN and the infinities become null, each lone surrogate U+FFFD. `msgspec.Raw` is
    written as it is, but for raw newlines: what a plugin wrote is to be decoded before it is handed
    on, as its spaces and escapes would break these promises.

    Raises:
        TypeError: Some object in it has no form in JSON, or it is nested too deep, or contains
            itself, or there are `TooManySurrogates`. The caller's fault.
    """
    try:
        try:
            body = _ENCODER.encode(value)
        # rare, so only a value with a lone surrogate pays for the search through all of it
        except UnicodeEncodeError:
            body = _ENCODER.encode(without_surrogates(value, _ENCODER))
        # a newline can only come from a `Raw` part, and would cut the line of a reader by lines
        return body if b"\n" not in body else _ENCODER.encode(msgspec.json.decode(body))
    except RecursionError:
        raise TypeError(
            f"{type(value).__name__} cannot be encoded: it is nested too deep, or contains itself"
        ) from None
    except (
        ValueError,
        msgspec.DecodeError,
    ) as error:  # an integer of more than 4,300 digits, Raw that is no JSON
        raise TypeError(f"{type(value).__name__} cannot be encoded: {error}") from None


def request(id: int, method: str, params: msgspec.Raw, traceparent: str | None = None) -> bytes:
    """A request of the host's: what `encode` makes of it, without looking through `params` again.

    Args:
        id: a new one.
        method: a word of the protocol, so nothing in it has to be escaped.
        params: an object that `encode` has written.
        traceparent: the span that it is the work of, or None.
    """
    return b"%b%b}" % (request_head(id, method, traceparent), params)


def request_head(id: int, method: str, traceparent: str | None) -> bytes:
    """What stands before the params of a request; arguments as in `request`."""
    span = b"" if traceparent is None else b'"traceparent":"%b",' % traceparent.encode()
    return b'{"jsonrpc":"2.0","id":%d,"method":"%b",%b"params":' % (id, method.encode(), span)


def notification_head(method: str, traceparent: str | None) -> bytes:
    """What stands before the params of a notification."""
    span = b"" if traceparent is None else b'"traceparent":"%b",' % traceparent.encode()
    return b'{"jsonrpc":"2.0","method":"%b",%b"params":' % (method.encode(), span)


def _usable_id(envelope: _Envelope) -> int | str | None:
    id = envelope.id
    too_long = isinstance(id, str) and len(id) > limits.MAX_ID_CHARS
    return None if id is msgspec.UNSET or too_long else id


def _invalid(why: str, id: int | str | None, *, is_reply: bool = False) -> InvalidMessage:
    return InvalidMessage(ErrorCode.INVALID_REQUEST, why, id, is_reply=is_reply)


def _check_utf8(body: bytes) -> None:
    try:
        body.decode()
    except UnicodeDecodeError as error:
        raise NotJson(f"not UTF-8 (byte {error.start})") from None


def told_instead(params: msgspec.Raw) -> msgspec.Raw:
    """The params of a hook's request as those of the event that tells the same."""
    fields = msgspec.json.decode(params, type=dict[str, msgspec.Raw])
    # an event is not waited for
    fields.pop("timeout_s", None)
    return msgspec.Raw(encode(fields))
