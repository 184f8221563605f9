"""How a block was left: by a fault, a signal, a cancellation, or at its end."""

from __future__ import annotations

from typing import Literal, cast

import trio


def exit_kind(error: BaseException | None) -> Literal["none", "cancelled", "signal", "error"]:
    """What left a block; in a group a fault counts first, then a signal, then a cancellation."""
    if error is None:
        return "none"
    if isinstance(error, BaseExceptionGroup):
        inside = cast("BaseExceptionGroup[BaseException]", error).exceptions
        kinds = {exit_kind(inner) for inner in inside}
        return "error" if "error" in kinds else "signal" if "signal" in kinds else "cancelled"
    if isinstance(error, trio.Cancelled):
        return "cancelled"
    return "signal" if isinstance(error, KeyboardInterrupt) else "error"
