"""One tool call with all that belongs to it, and what of the host it needs."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast

import msgspec
import trio

from sliphook.dispatch.outcome import Context, Outcome, Reason
from sliphook.plugin.json_schema import why_arguments_do_not_fit
from sliphook.wire import envelope
from sliphook_sdk.protocol import ToolResult
from sliphook_sdk.protocol.payloads import PostToolCall, PreToolCall

from .ids import new_id

if TYPE_CHECKING:
    from sliphook.plugin.tools import ToolOffer

    from .session import Session
    from .turn import Turn

_log = logging.getLogger(__name__)

ToolStatus = Literal["ok", "error", "denied", "cancelled", "timed_out"]


class ToolOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a tool call came to, for the model and for people.

    Attributes:
        call_id: the host's id of the call.
        status: how it ended.
        result: what came back, after replacements.
        context: texts of plugins, to stand behind the result.
        duration_ms: how long the tool ran.
        denied_by: the reasons, where it was denied.
    """

    call_id: str
    status: ToolStatus
    result: ToolResult
    context: list[Context] = []
    duration_ms: float | None = None
    denied_by: tuple[Reason, ...] = ()

    def text(self) -> str:
        """What the model reads: the result, then the labelled texts of plugins."""
        return "\n\n".join([self.result.content, *(context.labelled() for context in self.context)])


class ApprovalRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a person is asked to decide."""

    session_id: str
    turn_id: str
    call_id: str
    tool_name: str
    arguments: dict[str, Any]
    reasons: tuple[Reason, ...]
    prompt: str


Approver = Callable[[ApprovalRequest], Awaitable[bool]]
"""Asks a person; True allows. Runs inside the turn, so an interrupt cancels it.

One question of a session at a time.
"""


class ToolHost(Protocol):
    """What a tool call needs of the host."""

    @property
    def approver(self) -> Approver | None:
        """Asks a person."""
        ...

    def find(self, name: str, session_id: str) -> ToolOffer | None:
        """The plugin's tool of that name."""
        ...

    def names(self, session_id: str) -> list[str]:
        """The names of all plugins' tools."""
        ...

    async def call(
        self, offer: ToolOffer, tool: OpenTool, turn: Turn
    ) -> tuple[ToolStatus, ToolResult]:
        """Have the plugin run its tool."""
        ...

    async def run_command(self, session: Session, name: str, arguments: str) -> str:
        """Run a plugin's slash command."""
        ...


class OpenTool:
    """A tool call whose `pre_tool_call` has been fired and whose `post_tool_call` has not."""

    def __init__(
        self,
        call_id: str,
        model_call_id: str | None,
        name: str,
        origin: str,
        arguments: dict[str, Any],
    ) -> None:
        self.call_id = call_id
        self.model_call_id = model_call_id
        self.name = name
        self.origin = origin
        self.arguments = arguments
        self.started = False
        self.substituted_by: str | None = None
        self._began_s = 0.0
        self._ended_s: float | None = None

    def begin(self) -> None:
        """The tool begins to run."""
        self.started = True
        self._began_s = trio.current_time()

    def end(self) -> None:
        """The tool has run."""
        self._ended_s = trio.current_time()

    def duration_ms(self) -> float | None:
        """How long it has run, or None."""
        if not self.started:
            return None
        return round(((self._ended_s or trio.current_time()) - self._began_s) * 1000, 3)

    def before(self) -> dict[str, Any]:
        """The fields of `pre_tool_call`."""
        return {
            "call_id": self.call_id,
            "model_call_id": self.model_call_id,
            "tool_name": self.name,
            "origin": self.origin,
            "arguments": self.arguments,
        }

    def over(self, status: ToolStatus, result: ToolResult | None) -> dict[str, Any]:
        """The fields of `post_tool_call`."""
        return {
            **self.before(),
            "started": self.started,
            "status": status,
            "duration_ms": self.duration_ms(),
            "substituted_by": self.substituted_by,
            "result": result,
        }


@trio.lowlevel.enable_ki_protection
async def call_tool(
    turn: Turn,
    name: str,
    arguments: dict[str, Any],
    *,
    model_call_id: str | None,
    run: Callable[[dict[str, Any]], Awaitable[ToolResult | str]] | None,
    input_schema: dict[str, Any] | None,
) -> ToolOutcome:
    """See `Turn.call_tool`."""
    session = turn.session
    host = session.host.tool_host
    call_id = new_id()
    offer = host.find(name, session.session_id) if run is None else None
    if run is None and offer is None:
        known = ", ".join(sorted(host.names(session.session_id)))
        return _failed(
            call_id,
            f"there is no tool named {name}; there is {known}"
            if known
            else f"there is no tool named {name}",
        )
    schema = offer.input_schema if offer is not None else input_schema
    unfit = why_arguments_do_not_fit(arguments, schema) if schema is not None else None
    if unfit is not None:
        return _failed(call_id, f"the arguments do not fit the tool {name}: {unfit}")

    if turn.ended:
        await trio.lowlevel.checkpoint_if_cancelled()
        return _cancelled(call_id)
    tool = OpenTool(
        call_id, model_call_id, name, offer.plugin if offer is not None else "agent", arguments
    )
    turn.open_tools[call_id] = tool
    session.count(tool_calls=1)
    try:
        before = await session.ask("pre_tool_call", turn, **tool.before())
        tool.arguments = cast(PreToolCall, before.payload).arguments
        status, result, reasons = await _decide_and_run(turn, tool, before, offer, run, schema)
    except BaseException:
        turn.close_tool(tool)
        raise
    if turn.open_tools.pop(call_id, None) is None:
        # interrupted, in a task that the interrupt does not reach: it has been told as cancelled
        return _cancelled(call_id)
    after = await session.ask("post_tool_call", turn, **tool.over(status, result))
    final = cast(PostToolCall, after.payload).result or result
    context = [] if status == "denied" else [*before.context, *after.context]
    return ToolOutcome(
        call_id=call_id,
        status=status,
        result=final,
        context=context,
        duration_ms=tool.duration_ms(),
        denied_by=reasons,
    )


async def _decide_and_run(
    turn: Turn,
    tool: OpenTool,
    before: Outcome,
    offer: ToolOffer | None,
    run: Callable[[dict[str, Any]], Awaitable[ToolResult | str]] | None,
    schema: dict[str, Any] | None,
) -> tuple[ToolStatus, ToolResult, tuple[Reason, ...]]:
    reasons = before.reasons
    denied = before.denied
    if before.decision == "ask":
        denied, more = await _approve(turn, tool, before)
        reasons = (*reasons, *more)
    if denied or turn.ended:
        why = "; ".join(f"{reason.plugin}: {reason.text}" for reason in reasons)
        return (
            "denied",
            ToolResult(content=f"the call of {tool.name} was denied: {why}", is_error=True),
            reasons,
        )
    if before.substitute is not None:
        tool.substituted_by = before.substituted_by
        result: ToolResult = before.substitute
        return ("error" if result.is_error else "ok"), result, ()
    unfit = why_arguments_do_not_fit(tool.arguments, schema) if schema is not None else None
    if unfit is not None:
        return (
            "error",
            ToolResult(
                content=f"the arguments, as a plugin replaced them, do not fit {tool.name}: {unfit}",
                is_error=True,
            ),
            (),
        )
    tool.begin()
    if tool.model_call_id is not None:
        turn.tools_begun.add(tool.model_call_id)
    if offer is not None:
        status, result = await turn.session.host.tool_host.call(offer, tool, turn)
    else:
        assert run is not None
        status, result = await _run_own(run, tool)
    tool.end()
    return status, result, ()


@trio.lowlevel.disable_ki_protection
async def _run_own(
    run: Callable[[dict[str, Any]], Awaitable[ToolResult | str]], tool: OpenTool
) -> tuple[ToolStatus, ToolResult]:
    try:
        result = await run(tool.arguments)
        if isinstance(result, ToolResult):
            envelope.encode(result.data)  # the plugins must be told of it
    except Exception as error:
        _log.exception("the agent's own tool %s failed", tool.name)
        return "error", ToolResult(content=f"the tool {tool.name} failed: {error}", is_error=True)
    if isinstance(result, str):
        result = ToolResult(content=result)
    return ("error" if result.is_error else "ok"), result


@trio.lowlevel.disable_ki_protection
async def _approve(turn: Turn, tool: OpenTool, before: Outcome) -> tuple[bool, tuple[Reason, ...]]:
    """Put an `ask` to a person; returns whether it is denied, and why."""
    approver = turn.session.host.tool_host.approver
    prompt = f"Run {tool.name}?" + (f" {before.reason}" if before.reasons else "")
    if approver is None:
        turn.user_input_required("approval", prompt, tool.call_id)
        turn.user_input_received("approval", "deny", "none", tool.call_id)
        return True, (Reason("host", "a person must approve this, and nobody can be asked"),)
    request = ApprovalRequest(
        session_id=turn.session.session_id,
        turn_id=turn.turn_id,
        call_id=tool.call_id,
        tool_name=tool.name,
        arguments=tool.arguments,
        reasons=before.reasons,
        prompt=prompt,
    )
    async with turn.session.asking:
        if turn.ended:
            return True, (Reason("host", "the turn has ended"),)
        turn.user_input_required("approval", prompt, tool.call_id)
        try:
            allowed = await approver(request)
        except Exception:
            _log.exception("the approver failed")
            turn.user_input_received("approval", "deny", "none", tool.call_id)
            return True, (Reason("host", "the person could not be asked"),)
        turn.user_input_received("approval", "allow" if allowed else "deny", "user", tool.call_id)
    return (False, ()) if allowed else (True, (Reason("user", "declined"),))


def _failed(call_id: str, why: str) -> ToolOutcome:
    return ToolOutcome(
        call_id=call_id, status="error", result=ToolResult(content=why, is_error=True)
    )


def _cancelled(call_id: str) -> ToolOutcome:
    return ToolOutcome(
        call_id=call_id, status="cancelled", result=ToolResult(content="cancelled", is_error=True)
    )
