"""One tool call: arguments, `pre_tool_call`, approval, the tool itself, `post_tool_call`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, cast

import trio

from sliphook.agent_log import agent_log
from sliphook.dispatch.audience import prepare_tool
from sliphook.dispatch.outcome import Context, Outcome, Reason, joined_reasons
from sliphook.errors import HostError
from sliphook.ids import new_id
from sliphook.schemas import compile_in_steps, why_arguments_do_not_fit
from sliphook.wire.json_value import NotPlainJson, plain_with_text
from sliphook_sdk.protocol import ToolKind, ToolResult
from sliphook_sdk.protocol.payloads import PreToolCall

from .arguments.plain import check_error, check_flag
from .asking import approve
from .hooks import Hooks
from .open_tool import OpenTool, ToolStatus
from .results import ToolOutcome, failed, passed, result_of, seen
from .state import TurnState

MAX_ERROR_CHARS: Final = 10_000
"""Of what the agent's own tool raises, as the model reads it."""

_log = agent_log(__name__)


class BegunTool:
    """One tool call that the agent ends itself. Made by `Turn.begin_tool`.

    If `outcome` is None, the tool is to run, with `arguments`: the agent runs its own one and calls
    `end`, a plugin's runs by `run`. Otherwise the call is over: it was denied, a plugin has given
    the result, or it could not begin. A call that is still open when its turn ends is told as
    cancelled.
    """

    def __init__(
        self,
        hooks: Hooks,
        turn: TurnState,
        name: str,
        arguments: dict[str, Any],
        model_call_id: str | None,
        kind: ToolKind | None,
        origin: str,
        *,
        own: bool,
        ask: bool = False,
    ) -> None:
        self._ask = ask
        self._outcome: ToolOutcome | None = None
        self._hooks = hooks
        self._turn = turn
        self._own = own
        # until `open_tool` no plugin is told: it is asked only about calls that can run
        self._offer = None if own else hooks.host.plugin_calls.find(name, hooks.state.session_id)
        owner: str | None = None
        if self._offer is not None:
            owner, origin = self._offer.plugin, hooks.host.plugin_calls.origin_of(self._offer)
        self._tool = OpenTool(new_id(), model_call_id, name, kind, origin, arguments, owner)
        self._context: Sequence[Context] = ()
        self._has_opened = False
        self._settled: trio.Event | None = None

    @property
    def outcome(self) -> ToolOutcome | None:
        """What the call came to; None while it is open."""
        if self._settled is not None:
            over = self._settled.is_set()
        else:
            # an interrupt or the end of the turn has told it
            over = self._has_opened and self._tool.call_id not in self._turn.open_tools
        if self._outcome is None and over:
            self._outcome = self._cancelled()
        return self._outcome

    @property
    def call_id(self) -> str:
        """The host's id of the call."""
        return self._tool.call_id

    @property
    def name(self) -> str:
        """The tool."""
        return self._tool.name

    @property
    def arguments(self) -> dict[str, Any]:
        """What the tool is to run with: plugins may have replaced it. Each time another copy."""
        return self._tool.copy_of_arguments()

    @trio.lowlevel.enable_ki_protection
    async def begin(self, input_schema: dict[str, Any] | None) -> None:
        """Check the call, put it to the plugins and, if they say so, to a person."""
        hooks, turn, tool = self._hooks, self._turn, self._tool
        schema = self._offer.input_schema if self._offer is not None else input_schema
        why = await self._why_not(schema)
        if why is not None:
            # a loop of calls that all fail so early must not hold the agent
            await trio.lowlevel.checkpoint()
            self._outcome = ToolOutcome(call_id=tool.call_id, status="error", result=failed(why))
            return
        if turn.ended:
            await trio.lowlevel.checkpoint_if_cancelled()
            self._outcome = self._cancelled()
            return
        # before the hook: an interrupt meanwhile tells `post_tool_call` for what it finds here
        turn.open_tool(tool)
        self._has_opened = True
        prepare_tool(hooks.host.subscribers("post_tool_call"), tool.name)
        hooks.state.count(tool_calls=1)
        with self._told_if_it_raises():
            before = await hooks.ask("pre_tool_call", turn, **tool.before())
            decided = await self._decide(before, schema)
        self._context = before.context
        if decided is not None:
            await self._settle(*decided)
        await turn.raise_if_ended()

    @trio.lowlevel.enable_ki_protection
    async def run(self) -> ToolOutcome:
        """Have the plugin run its tool, and end the call.

        Raises:
            HostError: the tool is the agent's own, or it runs already.
        """
        if self.outcome is not None:
            return self.outcome
        hooks, tool = self._hooks, self._tool
        if self._offer is None:
            raise HostError(f"{tool.name} is the agent's own tool: run it, and call end")
        if tool.request is not None:
            raise HostError(f"{tool.name} runs already")
        # its names alone: the tool holds the call, so a call that held the tool would be a cycle
        named = (tool.call_id, tool.name, tool.origin)
        on_end = partial(hooks.tell_late_end, named, hooks.state.session_id)
        with self._told_if_it_raises():
            status, result = await hooks.host.plugin_calls.call(
                hooks.state, self._turn, self._offer, tool, on_end
            )
        tool.end()
        return await self._settle(status, result)

    async def run_own(self, run: Callable[[dict[str, Any]], Awaitable[object]]) -> ToolOutcome:
        """Run the agent's own tool, and end the call."""
        with self._told_if_it_raises():
            returned, error = await _have_run(run, self._tool)
        return await self.end(returned, error=error)

    @trio.lowlevel.enable_ki_protection
    async def end(
        self, result: object = None, *, error: Exception | None = None, cancelled: bool = False
    ) -> ToolOutcome:
        """Tell what came of the agent's own tool; fires `post_tool_call`, once.

        If the call is over already, nothing is told: after an interrupt the outcome is `cancelled`,
        else what it was.

        Args:
            result: what `run` of `Turn.call_tool` may return.
            error: what the tool raised, in place of a result; a TypeError if it is no exception.
            cancelled: the agent has stopped the tool, so there is no result.
        """
        check_error("error", error)
        check_flag("cancelled", cancelled)
        self._tool.end()
        if cancelled:
            return await self._settle("cancelled", failed("cancelled"))
        given, unfit = _read(result, self.name) if error is None else (None, error)
        if given is not None:
            return await self._settle("error" if given.is_error else "ok", given)
        assert unfit is not None
        why = f"the tool {self.name} failed: {_text_of(unfit)}"
        return await self._settle("error", failed(why), error=unfit)

    async def _why_not(self, schema: dict[str, Any] | None) -> str | None:
        """Why the call cannot begin, or None."""
        tool, session_id = self._tool, self._hooks.state.session_id
        if not tool.name:
            return "a call needs the name of a tool"
        if not self._own and self._offer is None:
            known = ", ".join(sorted(self._hooks.host.plugin_calls.names(session_id)))
            there = f"; there is {known}" if known else ""
            return f"there is no tool named {tool.name}{there}"
        try:
            # one value for the guards and the tool: what is asked is what is done
            tool.arguments, text = plain_with_text(tool.arguments)
        except NotPlainJson as error:
            return f"the arguments of {tool.name} are no JSON: {error}"
        # as a model may write them, and an agent may hand them on
        if not isinstance(cast(object, tool.arguments), dict):
            return f"the arguments of {tool.name} are no object"
        self._hooks.keep_arguments(tool, text)
        for _ in compile_in_steps(schema):
            await trio.lowlevel.checkpoint()
        unfit = why_arguments_do_not_fit(tool.arguments, schema) if schema is not None else None
        return f"the arguments do not fit the tool {tool.name}: {unfit}" if unfit else None

    async def _decide(
        self, before: Outcome, schema: dict[str, Any] | None
    ) -> tuple[ToolStatus, ToolResult, tuple[Reason, ...]] | None:
        """What the call comes to without the tool; None if that is to run."""
        turn, tool, asked = self._turn, self._tool, self._tool.arguments
        # as plugins replaced them: `post_tool_call` tells what the tool really got
        tool.arguments = cast(PreToolCall, before.payload).arguments
        if tool.arguments is not asked:
            self._hooks.keep_arguments(tool)
        reasons, denied = before.reasons, before.denied
        if before.decision == "ask" or (self._ask and not denied and before.substitute is None):
            denied, more = await approve(self._hooks, turn, tool, before)
            reasons = (*reasons, *more)
        # ended: a task outside the turn's block is not cancelled, and must not start the tool
        if denied or turn.ended:
            why = f"the call of {tool.name} was denied: {joined_reasons(reasons)}"
            return "denied", failed(why), reasons
        if before.substitute is not None:
            # without `tool_begins`: the tool itself never ran, which `started` tells
            tool.substituted_by = before.substituted_by
            result: ToolResult = before.substitute
            return ("error" if result.is_error else "ok"), result, ()
        # once more if a plugin has replaced them: the tool relies on its schema
        if schema is not None and tool.arguments is not asked:
            unfit = why_arguments_do_not_fit(tool.arguments, schema)
            if unfit is not None:
                why = f"the arguments, as a plugin replaced them, do not fit {tool.name}: {unfit}"
                return "error", failed(why), ()
        turn.tool_begins(tool)
        return None

    async def _settle(
        self,
        status: ToolStatus,
        result: ToolResult,
        denied_by: tuple[Reason, ...] = (),
        *,
        error: Exception | None = None,
    ) -> ToolOutcome:
        """Fire `post_tool_call`, unless that was done, and keep the outcome."""
        tool = self._tool
        # the call is still open: an interrupt meanwhile tells its end
        status, result = await seen(tool, self._hooks.state.common(self._turn), status, result)
        if self._settled is not None:
            # the agent ends it twice, perhaps in two threads: the first one counts
            await self._settled.wait()
        elif self._turn.close_tool(tool):
            self._settled = trio.Event()
            try:
                after = await self._hooks.ask(
                    "post_tool_call", self._turn, **tool.over(status, result)
                )
                # else the result stays unseen: plugins might have taken secrets out of it
                if not after.cancelled:
                    status, result = passed(tool.name, status, result, after)
                    # a fire that is denied loses its context
                    self._outcome = ToolOutcome(
                        call_id=tool.call_id,
                        status=status,
                        result=result,
                        context=[] if status == "denied" else [*self._context, *after.context],
                        duration_ms=tool.duration_ms(),
                        still_running=tool.still_running,
                        denied_by=denied_by,
                        substituted_by=tool.substituted_by,
                        error=error,
                    )
            finally:
                self._settled.set()
        assert self.outcome is not None, "it is over"
        return self.outcome

    @contextmanager
    def _told_if_it_raises(self) -> Generator[None]:
        try:
            yield
        # also if cancelled: a plugin that has seen `pre_tool_call` must see `post_tool_call`
        except BaseException:
            self._hooks.tell_cancelled(self._turn, self._tool)
            self._outcome = self._cancelled()
            raise

    def _cancelled(self) -> ToolOutcome:
        tool = self._tool
        return ToolOutcome(
            call_id=tool.call_id,
            status="cancelled",
            result=failed("cancelled" if tool.has_begun else "never began"),
            still_running=tool.still_running,
        )


@trio.lowlevel.enable_ki_protection
async def call_tool(
    hooks: Hooks,
    turn: TurnState,
    name: str,
    arguments: dict[str, Any],
    model_call_id: str | None,
    kind: ToolKind | None,
    origin: str,
    run: Callable[[dict[str, Any]], Awaitable[object]] | None,
    input_schema: dict[str, Any] | None,
    ask: bool,
) -> ToolOutcome:
    """See `Turn.call_tool`."""
    what = name, arguments, model_call_id, kind, origin
    call = BegunTool(hooks, turn, *what, own=run is not None, ask=ask)
    await call.begin(input_schema)
    if call.outcome is None:
        await (call.run() if run is None else call.run_own(run))
    await turn.raise_if_ended()
    assert call.outcome is not None, "it has ended"
    return call.outcome


# the agent's own code: Ctrl+C must reach it as it would without the host
@trio.lowlevel.disable_ki_protection
async def _have_run(
    run: Callable[[dict[str, Any]], Awaitable[object]], tool: OpenTool
) -> tuple[object, Exception | None]:
    # no method: the error's traceback holds this frame, and the call holds the error
    try:
        return await run(tool.copy_of_arguments()), None
    except Exception as error:
        _log.exception("the agent's own tool %s failed", tool.name)
        return None, error


def _read(returned: object, name: str) -> tuple[ToolResult | None, Exception | None]:
    # no method, as above
    try:
        return result_of(returned), None
    except Exception as error:
        _log.exception("the result of the agent's own tool %s cannot be told", name)
        return None, error


def _text_of(error: Exception) -> str:
    """The error's text, or its type: the agent's own code may raise one that has no text."""
    try:
        text = str(error) or type(error).__name__
        return text if len(text) <= MAX_ERROR_CHARS else f"{text[:MAX_ERROR_CHARS]}…"
    except Exception:
        return type(error).__name__
