"""Pure: why Hermes interrupts a run, in the protocol's words.

Every interrupt of Hermes is one call of `AIAgent.interrupt(message)`, and the message alone tells
the reason. What is not in the table is a text of the user's, which must not reach plugins as a
reason.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Literal

Why = tuple[Literal["user_stop", "reset", "new_message", "signal", "shutdown", "timeout"], str]
"""`reason` and `invalidation_reason` of an interrupt."""

REASONS: Final[Mapping[str | None, Why]] = {
    None: ("user_stop", "cli_interrupt"),
    "Stop requested": ("user_stop", "stop_command"),
    "Stop requested via API": ("user_stop", "api_stop"),
    "Session reset requested": ("reset", "new_command"),
    "keyboard interrupt": ("signal", "sigint"),
    "Execution timed out (inactivity)": ("timeout", "inactivity"),
    "Gateway shutting down": ("shutdown", "gateway_shutdown"),
    "Gateway restarting": ("shutdown", "gateway_restart"),
    "Cron job timed out (inactivity)": ("timeout", "inactivity"),
    "Async delegation cancelled": ("user_stop", "delegation_cancelled"),
    "SSE client disconnected": ("user_stop", "client_disconnected"),
    "SSE task cancelled": ("user_stop", "client_disconnected"),
}
BY_HAND: Final[Why] = ("user_stop", "one_subagent")
NEW_MESSAGE: Final[Why] = ("new_message", "new_message")
_SIGNAL: Final = re.compile(r"received signal (\d{1,3})")
_BY_HAND: Final = re.compile(r"Interrupted via TUI \([\w-]{1,80}\)")
"""One subagent, which the user has chosen."""


def why_interrupted(message: object) -> Why:
    """The reason for a message of `AIAgent.interrupt`; any other text is a new message."""
    if message is not None and not isinstance(message, str):
        return NEW_MESSAGE
    known = REASONS.get(message)
    if known is not None:
        return known
    signal = _SIGNAL.fullmatch(message or "")
    if signal is not None:
        return ("signal", f"signal_{signal[1]}")
    return BY_HAND if _BY_HAND.fullmatch(message or "") else NEW_MESSAGE
