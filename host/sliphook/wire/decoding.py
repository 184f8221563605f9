"""What decoding raises where bytes are not what they should be: msgspec alone raises three kinds, and none is to be forgotten."""

from __future__ import annotations

from typing import Final

import msgspec

__all__ = ["DECODE_ERRORS"]

DECODE_ERRORS: Final = (msgspec.MsgspecError, UnicodeError, RecursionError)
"""To be caught around every decoding of what somebody else wrote: no JSON or another shape, no UTF-8, nested too deeply."""
