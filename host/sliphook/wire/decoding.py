"""What decoding raises if bytes are not what they should be: msgspec alone raises three kinds."""

from __future__ import annotations

from typing import Any, Final

import msgspec

__all__ = ["DECODE_ERRORS", "read_types"]

DECODE_ERRORS: Final = (msgspec.MsgspecError, UnicodeError, RecursionError)
"""Catch these around every decoding of foreign input: no JSON, wrong shape, no UTF-8, too deep."""


def read_types(*types: Any) -> None:
    """Have msgspec read these types now, at import, for `msgspec.convert`.

    It reads a type at its first use, and not safely in two threads: the process may crash.
    """
    for one in types:
        msgspec.json.Decoder(one)
