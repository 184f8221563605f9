"""`AgentTurn`: all that the loop needs in one turn. `AgentTool`: a tool of the agent's own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from sliphook.agent.models.base import Model
from sliphook.agent.ui.display import Display
from sliphook_sdk.protocol import AlertLevel, ModelTool, ToolKind

from .conversation import Conversation

if TYPE_CHECKING:
    from sliphook.agent.models.choice import Models
    from sliphook.dispatch.outcome import Context
    from sliphook.host.host import PluginHost
    from sliphook.session.turn import Turn


class AgentTool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool of the agent's own; plugins guard it like any other tool.

    Attributes:
        name: the name by which the model calls it.
        description: the description for the model.
        input_schema: JSON Schema of the arguments.
        run: takes the arguments and returns the result (see `Turn.call_tool`).
        kind: what it does, for guards that match `tool_kind`; None: it is not said.
        asks: a person approves each call, after the guards.
    """

    name: str
    description: str
    input_schema: dict[str, Any]
    run: Callable[[dict[str, Any]], Awaitable[object]]
    kind: ToolKind | None = None
    asks: bool = False


class Ending(msgspec.Struct, frozen=True):
    """Why a turn ends before the model is done.

    Attributes:
        outcome: a value of `turn_end.outcome`.
        why: one line for the user, and for the parent of a child agent.
    """

    outcome: Literal["failed", "denied", "max_iterations", "loop_detected"]
    why: str


class AgentTurn(msgspec.Struct, frozen=True, kw_only=True):
    """A turn of the host and the agent that works in it: the user's agent, or a child.

    Attributes:
        host: its plugins' tools are on offer.
        turn: the host's turn.
        models: where routes of plugins lead.
        chosen: the model that answers now; the user may change it while the turn is open.
        conversation: the messages that the model reads.
        system: texts of plugins for the system text.
        display: shows things as they happen.
        tools: the agent's own tools, by name.
    """

    host: PluginHost
    turn: Turn
    chosen: Callable[[], Model]
    models: Models | None
    conversation: Conversation
    system: Sequence[Context]
    display: Display
    tools: Mapping[str, AgentTool]

    def on_offer(self) -> list[ModelTool]:
        """The tools that the model may call now: the plugins', then the agent's own.

        A tool of a plugin is left out if the agent has one of that name.
        """
        own = [
            ModelTool(name=tool.name, description=tool.description, input_schema=tool.input_schema)
            for tool in self.tools.values()
        ]
        offers = [
            offer
            for offer in self.host.tools(self.turn.session.session_id)
            if offer.name not in self.tools
        ]
        return [
            ModelTool(
                name=offer.name, description=offer.description, input_schema=offer.input_schema
            )
            for offer in offers
        ] + own

    def tell(self, level: AlertLevel, message: str) -> None:
        """Show an error or a warning to the user, and tell the plugins about it."""
        self.display.notice(level, message)
        self.turn.session.notification(level, message)
