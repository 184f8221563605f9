"""Pure: token counts that add up although some are not known."""

from __future__ import annotations

from sliphook_sdk.protocol import Usage


def add_usage(total: Usage, more: Usage) -> Usage:
    """The sum, field by field; what is unknown on both sides stays unknown."""
    return Usage(
        input_tokens=_add(total.input_tokens, more.input_tokens),
        output_tokens=_add(total.output_tokens, more.output_tokens),
        cached_tokens=_add(total.cached_tokens, more.cached_tokens),
    )


def _add(total: int | None, more: int | None) -> int | None:
    return more if total is None else total if more is None else total + more
