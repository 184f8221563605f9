"""What is wrong with a message of a plugin, and whose call or request it would have been. Pure."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from sliphook.errors import SliphookError
from sliphook.quoting import quote
from sliphook_sdk.protocol import ErrorCode, limits
from sliphook_sdk.protocol.names import DoubledName

from .decoding import DECODE_ERRORS


class NotJson(SliphookError):
    """The bytes are no JSON text in UTF-8. The plugin's fault.

    Attributes:
        why: What is wrong and at which byte, without a full stop.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class InvalidMessage(SliphookError):
    """JSON that is no valid message. The plugin's fault; the stream itself is sound.

    Attributes:
        code: What to answer.
        why: What is wrong, a sentence for people.
        id: The id to echo, or None if there is none that can be used.
        is_reply: It was meant as a reply, so `id` is one of the host's: its call has failed, and
            nothing is to be answered.
        may_be_reply: It has nothing but an id. Where that is under way it was a reply: some
            libraries leave out a result of nothing.
        in_content: The envelope is sound, and what is in it cannot be taken.
    """

    in_content = False

    def __init__(
        self,
        code: ErrorCode,
        why: str,
        id: int | str | None,
        *,
        is_reply: bool = False,
        may_be_reply: bool = False,
    ) -> None:
        super().__init__(why)
        self.code = code
        self.why = why
        self.id = id
        self.is_reply = is_reply
        self.may_be_reply = may_be_reply


class OverLimit(InvalidMessage):
    """A message over a limit, refused before it is decoded. The plugin's fault."""

    in_content = True

    def __init__(self, why: str, id: int | str | None, *, is_reply: bool = False) -> None:
        super().__init__(ErrorCode.INVALID_PARAMS, why, id, is_reply=is_reply)


class NameTwice(InvalidMessage):
    """A message in which an object has a name twice. The plugin's fault.

    Which of the two values is meant cannot be known, and decoders take the last without a word.
    """

    in_content = True

    def __init__(self, doubled: DoubledName, id: int | str | None, *, is_reply: bool) -> None:
        in_envelope = doubled.level == 1
        super().__init__(
            ErrorCode.INVALID_REQUEST if in_envelope else ErrorCode.INVALID_PARAMS,
            f"it has the name '{quote(doubled.name, 60)}' twice in one object",
            None if in_envelope and doubled.name == "id" else id,
            is_reply=is_reply,
        )


def why_no_json(body: bytes, error: NotJson) -> str:
    """Why a framed body is no JSON. One that is cut too short behind long characters shows it."""
    why = f"a framed body of {len(body):,} bytes is no JSON ({error.why})"
    is_cut = body[:1] == b"{" and body.rstrip()[-1:] != b"}"
    if is_cut and not body.isascii():
        return f"Content-Length counts bytes, not characters: {why}"
    return why


PEEK_BYTES: Final = 512
_FIRST_FIELDS: Final = re.compile(
    rb'\s*\{(?:\s*"(?:(?:jsonrpc|id|method|traceparent)"\s*:\s*(?:"[^"\\]*"|-?[0-9]+)'
    rb'|(?:method|params|result|error)"\s*:\s*null)\s*,)*'
    rb'\s*"(result|error)?'
)
_FIRST_ID: Final = re.compile(rb'"id"\s*:\s*(-?[0-9]{1,18}\b|"[^"\\]{1,%d}")' % limits.MAX_ID_CHARS)
_LAST_ID: Final = re.compile(
    rb',\s*"id"\s*:\s*(-?[0-9]{1,18}|"[^"\\]{1,%d}")\s*'
    rb'(?:,\s*"(?:jsonrpc"\s*:\s*"2\.0"|(?:method|params|result|error)"\s*:\s*null)\s*)*\}\s*\Z'
    % limits.MAX_ID_CHARS
)


def id_in(text: bytes) -> int | str | None:
    """What looks like an id, read; None if it is no JSON, such as 007."""
    try:
        return msgspec.json.decode(text, type=int | str)
    except DECODE_ERRORS:
        return None


def refusal(head: bytes, tail: bytes, why: str) -> OverLimit:
    """The refusal of a message that cannot be decoded, from its beginning and its end.

    Its id is found where libraries write it: before what is large, or behind it.

    Args:
        head: the first `PEEK_BYTES`.
        tail: the last ones.
        why: what is too much.
    """
    first = _FIRST_FIELDS.match(head)
    found = first and _FIRST_ID.search(head, 0, first.end())
    # a nested object may end in an id too, but a message with no method needs one of its own
    found = found or (None if first and b'"method"' in first[0] else _LAST_ID.search(tail))
    id = found and id_in(found[1])
    return OverLimit(why, id, is_reply=first is not None and first[1] is not None)
