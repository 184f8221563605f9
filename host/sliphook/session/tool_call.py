"""One tool call: arguments, `pre_tool_call`, approval, the tool itself, `post_tool_call`."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, cast

import trio

from sliphook.dispatch.audience import prepare_tool
from sliphook.dispatch.outcome import Outcome, Reason
from sliphook.ids import new_id
from sliphook.plugin.tools import ToolOffer
from sliphook.schemas import compile_in_steps, why_arguments_do_not_fit
from sliphook.wire.json_value import NotPlainJson, plain
from sliphook_sdk.protocol import ToolResult
from sliphook_sdk.protocol.payloads import PostToolCall, PreToolCall

from .hooks import Hooks
from .host import ApprovalRequest
from .open_tool import OpenTool, ToolStatus
from .results import ToolOutcome, result_of
from .state import TurnState

_log = logging.getLogger(__name__)


@trio.lowlevel.enable_ki_protection
async def call_tool(
    hooks: Hooks,
    turn: TurnState,
    name: str,
    arguments: dict[str, Any],
    model_call_id: str | None,
    run: Callable[[dict[str, Any]], Awaitable[object]] | None,
    input_schema: dict[str, Any] | None,
) -> ToolOutcome:
    """See `Turn.call_tool`."""
    session, plugins = hooks.state, hooks.host.plugin_calls
    # not the model's id, which may be missing
    call_id = new_id()
    # until `open_tool` no plugin is told: it is asked only about calls that can run
    offer = plugins.find(name, session.session_id) if run is None else None
    if run is None and offer is None:
        known = ", ".join(sorted(plugins.names(session.session_id)))
        return await _failed(
            call_id,
            f"there is no tool named {name}; there is {known}"
            if known
            else f"there is no tool named {name}",
        )
    try:
        # one value for the guards and the tool: what is asked is what is done
        arguments = plain(arguments)
    except NotPlainJson as error:
        return await _failed(call_id, f"the arguments of {name} are no JSON: {error}")
    schema = offer.input_schema if offer is not None else input_schema
    for _ in compile_in_steps(schema):
        await trio.lowlevel.checkpoint()
    unfit = why_arguments_do_not_fit(arguments, schema) if schema is not None else None
    if unfit is not None:
        return await _failed(call_id, f"the arguments do not fit the tool {name}: {unfit}")

    if turn.ended:
        await trio.lowlevel.checkpoint_if_cancelled()
        return _cancelled(call_id)
    tool = OpenTool(
        call_id, model_call_id, name, offer.plugin if offer is not None else "agent", arguments
    )
    # before the hook: an interrupt meanwhile tells `post_tool_call` for what it finds here
    turn.open_tool(tool)
    prepare_tool(hooks.host.subscribers("post_tool_call"), name)
    session.count(tool_calls=1)
    try:
        before = await hooks.ask("pre_tool_call", turn, **tool.before())
        # as plugins replaced them: `post_tool_call` tells what the tool really got
        tool.arguments = cast(PreToolCall, before.payload).arguments
        status, result, reasons = await _decide_and_run(
            hooks, turn, tool, before, offer, run, schema
        )
    # also if cancelled: a plugin that has seen `pre_tool_call` must see `post_tool_call`
    except BaseException:
        hooks.tell_cancelled(turn, tool)
        raise
    if not turn.close_tool(tool):
        # interrupted, in a task that the interrupt does not cancel: told as cancelled already
        return _cancelled(call_id, tool)
    after = await hooks.ask("post_tool_call", turn, **tool.over(status, result))
    final = cast(PostToolCall, after.payload).result or result
    # a fire that is denied loses its context (protocol.md, Answers and how they merge)
    context = [] if status == "denied" else [*before.context, *after.context]
    return ToolOutcome(
        call_id=call_id,
        status=status,
        result=final,
        context=context,
        duration_ms=tool.duration_ms(),
        still_running=tool.still_running,
        denied_by=reasons,
    )


async def _decide_and_run(
    hooks: Hooks,
    turn: TurnState,
    tool: OpenTool,
    before: Outcome,
    offer: ToolOffer | None,
    run: Callable[[dict[str, Any]], Awaitable[object]] | None,
    schema: dict[str, Any] | None,
) -> tuple[ToolStatus, ToolResult, tuple[Reason, ...]]:
    reasons = before.reasons
    denied = before.denied
    if before.decision == "ask":
        denied, more = await _approve(hooks, turn, tool, before)
        reasons = (*reasons, *more)
    # ended: a task outside the turn's block is not cancelled, and must not start the tool
    if denied or turn.ended:
        why = "; ".join(f"{reason.plugin}: {reason.text}" for reason in reasons)
        return (
            "denied",
            ToolResult(content=f"the call of {tool.name} was denied: {why}", is_error=True),
            reasons,
        )
    if before.substitute is not None:
        # without `tool_begins`: the tool itself never ran, which `started` tells
        tool.substituted_by = before.substituted_by
        result: ToolResult = before.substitute
        return ("error" if result.is_error else "ok"), result, ()
    # once more: a plugin may have replaced them, and the tool relies on its schema
    unfit = why_arguments_do_not_fit(tool.arguments, schema) if schema is not None else None
    if unfit is not None:
        return (
            "error",
            ToolResult(
                content=f"the arguments, as a plugin replaced them, do not fit {tool.name}: "
                f"{unfit}",
                is_error=True,
            ),
            (),
        )
    turn.tool_begins(tool)
    if offer is not None:
        # its names alone: the tool holds the call, so a call that held the tool would be a cycle
        named = (tool.call_id, tool.name, tool.origin)
        on_end = partial(hooks.tell_late_end, named, hooks.state.session_id)
        status, result = await hooks.host.plugin_calls.call(hooks.state, turn, offer, tool, on_end)
    else:
        assert run is not None
        status, result = await _run_own(run, tool)
    tool.end()
    return status, result, ()


# the agent's own code: Ctrl+C must reach it as it would without the host
@trio.lowlevel.disable_ki_protection
async def _run_own(
    run: Callable[[dict[str, Any]], Awaitable[object]], tool: OpenTool
) -> tuple[ToolStatus, ToolResult]:
    try:
        result = result_of(await run(tool.arguments))
    except Exception as error:
        _log.exception("the agent's own tool %s failed", tool.name)
        why = f"the tool {tool.name} failed: {_text_of(error)}"
        return "error", ToolResult(content=why, is_error=True)
    return ("error" if result.is_error else "ok"), result


def _text_of(error: Exception) -> str:
    """The error's text, or its type: the agent's own code may raise one that has no text."""
    try:
        return str(error) or type(error).__name__
    except Exception:
        return type(error).__name__


@trio.lowlevel.disable_ki_protection
async def _approve(
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


async def _failed(call_id: str, why: str) -> ToolOutcome:
    # a loop of calls that all fail so early must not hold the agent
    await trio.lowlevel.checkpoint()
    return ToolOutcome(
        call_id=call_id, status="error", result=ToolResult(content=why, is_error=True)
    )


def _cancelled(call_id: str, tool: OpenTool | None = None) -> ToolOutcome:
    begun = tool is not None and tool.has_begun
    return ToolOutcome(
        call_id=call_id,
        status="cancelled",
        result=ToolResult(content="cancelled" if begun else "never began", is_error=True),
        still_running=tool is not None and tool.still_running,
    )
