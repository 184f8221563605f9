"""What decoding raises if bytes are not what they should be: msgspec alone raises three kinds."""

from __future__ import annotations

from typing import Final

import msgspec

__all__ = ["DECODE_ERRORS"]

DECODE_ERRORS: Final = (msgspec.MsgspecError, UnicodeError, RecursionError)
"""Catch these around every decoding of foreign input: no JSON, wrong shape, no UTF-8, too deep."""
