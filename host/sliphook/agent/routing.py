"""Where a model call goes: to the agent's own server, or to one that a plugin has named."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Any

from sliphook.agent.models.base import Model
from sliphook.agent.models.choice import Models
from sliphook.agent.models.pool import ServedModel

from .turn import AgentTurn

if TYPE_CHECKING:
    from sliphook.session.results import LlmGate


@asynccontextmanager
async def models_of(now: AgentTurn) -> AsyncGenerator[Models]:
    """The agent's models; an agent without any gets some for one call."""
    if now.models is not None:
        yield now.models
        return
    async with aclosing(Models()) as models:
        yield models


def destination(
    now: AgentTurn, models: Models, own: Model, gate: LlmGate
) -> tuple[Model, dict[str, Any] | None]:
    """Whom to ask, and the parameters; the user is told if the server is another than before.

    Args:
        now: the turn.
        models: make the model of a route.
        own: the agent's own.
        gate: what the plugins made of the call.

    Raises:
        ModelError: the route leads nowhere. The plugin's fault or the user's.
    """
    if gate.routed_by is None or gate.route is None:
        model, parameters = own, None
    else:
        model = models.routed(gate.route, own, plugin=gate.routed_by, api_key=gate.api_key)
        parameters = gate.route.parameters
    place = None if model is own else _place(model)
    if place != now.conversation.routed_to:
        now.conversation.routed_to = place
        if place is None:
            now.tell("info", f"model calls go to {_place(own)} again")
        else:
            now.tell("info", f"{gate.routed_by} sends model calls to {place}")
    return model, parameters


def _place(model: Model) -> str:
    if not isinstance(model, ServedModel):
        return f"the {model.provider} model"
    url = model.endpoint.url
    return f"{model.provider} at {url}" if model.is_configured else url
