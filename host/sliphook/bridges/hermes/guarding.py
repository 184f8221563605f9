"""What is said if the bridge itself fails where a guard would have been asked: always a denial."""

from __future__ import annotations

from sliphook.blocking import Interrupted


def why_failed(error: BaseException) -> str:
    """One line for the model and for people."""
    if isinstance(error, Interrupted):
        return "the turn was interrupted"
    return f"sliphook failed: {type(error).__name__}: {error}"
