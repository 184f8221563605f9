"""Leaves out the tools for which the model's provider would refuse the whole request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sliphook.agent.models.base import Model, ModelError
from sliphook.agent.models.pool import api_of
from sliphook.schemas import blamed_tool, why_tool_is_refused
from sliphook_sdk.protocol import ModelTool

from .turn import AgentTurn

MAX_LEFT_OUT: Final = 8
"""The most tools that one model call leaves out after errors, each of which names one."""

_BAD_REQUEST: Final = (400, 422)


def without_refused(now: AgentTurn, model: Model, tools: Sequence[ModelTool]) -> list[ModelTool]:
    """The tools that the model's provider takes; the user is told once of each that it does not."""
    taken: list[ModelTool] = []
    for tool in tools:
        if (model.provider, tool.name) in now.conversation.left_out:
            continue
        why = why_tool_is_refused(api_of(model), tool.name, tool.input_schema)
        if why is None:
            taken.append(tool)
        else:
            why = f"{model.provider} refuses requests with it, since {why}"
            _leave_out(now, model, tool.name, why)
    return taken


def leave_out_blamed(
    now: AgentTurn, model: Model, tools: Sequence[ModelTool], error: ModelError
) -> bool:
    """Leave out the tool that the provider's error names; False if it names none."""
    if error.status not in _BAD_REQUEST:
        return False
    name = blamed_tool(error.message, [tool.name for tool in tools])
    if name is None:
        return False
    _leave_out(now, model, name, error.message)
    return True


def _leave_out(now: AgentTurn, model: Model, name: str, why: str) -> None:
    now.conversation.left_out.add((model.provider, name))
    offers = now.host.tools(now.turn.session.session_id)
    owner = next((offer.plugin for offer in offers if offer.name == name), None)
    whose = "the agent's own tool" if owner is None or name in now.tools else f"{owner}'s tool"
    now.tell("warning", f"{whose} {name} is left out: {why}")
