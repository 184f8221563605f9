"""Pure: the arguments of a tool call, to be compared with those of others without being kept."""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

import msgspec

from sliphook.wire.json_value import copied
from sliphook_sdk.protocol.weight import weigh

_DIGEST_BYTES: Final = 16
_VALUE_BYTES: Final = 64
"""What a value takes in memory beside its text; a small object takes more, a number less."""
_WHOLE_BELOW: Final = 2**53


def _number(text: str) -> float:
    number = float(text)
    is_whole = number.is_integer() and abs(number) < _WHOLE_BELOW
    return int(number) if is_whole else number


_encoder: Final = msgspec.json.Encoder(order="deterministic")
_decoder: Final = msgspec.json.Decoder(float_hook=_number)


class Fingerprint(msgspec.Struct, frozen=True):
    """Of one call's arguments.

    Attributes:
        digest: the same for the same JSON: in any order of keys, and 1.0 is 1, as JavaScript says
            it again.
        size: about how many bytes of memory the arguments take.
    """

    digest: bytes
    size: int


def fingerprint(arguments: dict[str, object]) -> Fingerprint:
    """In one pass over what one message may have; some 10 ms at worst.

    What has too many halves of characters to be told to a plugin is like nothing else, and small.
    """
    try:
        text = _encoded(arguments)
    except (TypeError, RecursionError):
        return Fingerprint(b"", 0)
    if b".0" in text:
        text = _encoder.encode(_decoder.decode(text))
    digest = blake2b(text, digest_size=_DIGEST_BYTES).digest()
    return Fingerprint(digest, len(text) + _VALUE_BYTES * weigh(text).values)


def _encoded(arguments: dict[str, object]) -> bytes:
    try:
        return _encoder.encode(arguments)
    except UnicodeEncodeError:
        return _encoder.encode(copied(arguments))
