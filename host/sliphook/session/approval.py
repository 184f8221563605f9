"""Puts an `ask` of plugins about a tool call to a person."""

from __future__ import annotations

import logging
from typing import cast

import trio

from sliphook.dispatch.outcome import Outcome, Reason

from .hooks import Hooks
from .host import ApprovalRequest
from .open_tool import OpenTool
from .state import TurnState

_log = logging.getLogger(__name__)


@trio.lowlevel.disable_ki_protection
async def approve(
    hooks: Hooks, turn: TurnState, tool: OpenTool, before: Outcome
) -> tuple[bool, tuple[Reason, ...]]:
    """Put an `ask` to a person; returns whether it is denied, and why."""
    approver = hooks.host.approver
    request = ApprovalRequest(
        session_id=hooks.state.session_id,
        turn_id=turn.turn_id,
        call_id=tool.call_id,
        tool_name=tool.name,
        arguments=tool.arguments,
        reasons=before.reasons,
        prompt=f"Run {tool.name}?" + (f" {before.reason}" if before.reasons else ""),
    )
    if approver is None:
        _tell_question(hooks, turn, request)
        _tell_choice(hooks, turn, request, "deny", "none")
        return True, (Reason("host", "a person must approve this, and nobody can be asked"),)
    async with hooks.state.asking:
        # it may have ended while this call waited for another one's question
        if turn.ended:
            return True, (Reason("host", "the turn has ended"),)
        _tell_question(hooks, turn, request)
        try:
            allowed = cast(object, await approver(request))
            if not isinstance(allowed, bool):  # a text such as "no" would count as yes
                raise TypeError(f"the approver returned {type(allowed).__name__}, and no bool")
        except Exception:
            # fails closed: a question that was not answered allows nothing
            _log.exception("the approver failed")
            _tell_choice(hooks, turn, request, "deny", "none")
            return True, (Reason("host", "the person could not be asked"),)
        _tell_choice(hooks, turn, request, "allow" if allowed else "deny", "user")
    return (False, ()) if allowed else (True, (Reason("user", "declined"),))


def _tell_question(hooks: Hooks, turn: TurnState, request: ApprovalRequest) -> None:
    hooks.tell_if_open(
        "user_input_required",
        turn,
        kind="approval",
        call_id=request.call_id,
        prompt=request.prompt,
    )


def _tell_choice(
    hooks: Hooks, turn: TurnState, request: ApprovalRequest, choice: str, by: str
) -> None:
    hooks.tell_if_open(
        "user_input_received", turn, kind="approval", call_id=request.call_id, choice=choice, by=by
    )
