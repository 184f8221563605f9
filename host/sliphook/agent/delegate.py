"""The built-in tool `delegate`: a child agent with its own conversation works towards one goal."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec
import trio

from sliphook.agent.ui.display import Display
from sliphook_sdk.protocol import ToolResult

from .conversation import Conversation
from .turn import AgentTool, AgentTurn, Ending

DELEGATE: Final = "delegate"

_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "goal": {
            "type": "string",
            "minLength": 1,
            "description": "All that it needs to know: it has not read this conversation.",
        }
    },
    "required": ["goal"],
    "additionalProperties": False,
}

CHILD_SYSTEM: Final = (
    "Another agent has given you this one goal. Nobody answers questions. "
    "Your last message is all that it will read of you."
)
"""Added to the agent's own system text for a child."""


def delegate_tool(run: Callable[[dict[str, Any]], Awaitable[ToolResult]]) -> AgentTool:
    """The tool as the model sees it.

    Args:
        run: runs a child agent on the arguments.
    """
    return AgentTool(
        name=DELEGATE,
        description="Have another agent with the same tools work towards a goal, and get its"
        " report. Several may work at the same time.",
        input_schema=_SCHEMA,
        run=run,
        kind="agent",
    )


async def delegate(
    parent: AgentTurn,
    goal: str,
    *,
    system: str | None,
    display: Display,
    work: Callable[[AgentTurn], Awaitable[Ending | None]],
) -> ToolResult:
    """Run a child agent on `goal`, in a turn that is interrupted with its parent's.

    Args:
        parent: the agent that delegates.
        goal: the child's prompt, and all that it knows.
        system: the agent's own system text.
        display: shows the child.
        work: the loop.

    Returns:
        The child's last message; an error if the child did not finish.
    """
    ending: Ending | None = None
    async with parent.turn.subagent(goal) as turn:
        conversation = Conversation(f"{system}\n\n{CHILD_SYSTEM}" if system else CHILD_SYSTEM)
        # of that the user has been told
        conversation.routed_to = parent.conversation.routed_to
        conversation.add_user(goal)
        ending = await work(
            msgspec.structs.replace(
                parent,
                turn=turn,
                conversation=conversation,
                system=tuple(turn.context),
                display=display,
            )
        )
        # inside of the block: `subagent_stop`, which tells it, is sent when the block ends
        turn.summary = turn.last_assistant_message
    said = turn.summary
    # the child's block swallows an interrupt, but it is the parent's interrupt too
    await trio.lowlevel.checkpoint_if_cancelled()
    if turn.interrupted:
        return ToolResult(content="the child agent was interrupted", is_error=True)
    if ending is not None:
        return ToolResult(
            content=f"the child agent did not finish: {ending.why}"
            + (f"\nIts last message: {said}" if said else ""),
            is_error=True,
        )
    return ToolResult(content=said or "the child agent finished without a word")
