"""What is said if the bridge itself fails where a guard would have been asked: always a denial."""

from __future__ import annotations

from collections.abc import Iterable

from sliphook import PluginSpec
from sliphook.blocking import Interrupted


def why_failed(error: BaseException) -> str:
    """One line for the model and for people."""
    if isinstance(error, Interrupted):
        return "the turn was interrupted"
    return f"sliphook failed: {type(error).__name__}: {error}"


def may_deny_tools(specs: Iterable[PluginSpec]) -> bool:
    """Whether one of the plugins would be asked about tool calls; so it is if none knows."""
    return any(
        spec.recorded is None
        or any(one.event == "pre_tool_call" for one in spec.recorded.subscriptions or [])
        for spec in specs
    )
