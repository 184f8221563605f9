"""One turn: from the user's message until control is back with the user."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any

import trio

from sliphook.errors import HostError, TurnOpen, opened_twice
from sliphook_sdk.protocol import ToolKind
from sliphook_sdk.protocol.limits import MAX_CONTINUES_PER_TURN

from .arguments.functions import check_function
from .arguments.plain import check_flag, check_origin, check_schema, check_text, check_word
from .asking import TurnQuestions
from .hooks import Hooks
from .interrupt import InterruptReason, close_turn, exit_kind, interrupt_turns
from .results import Prompt, ToolOutcome
from .state import TurnOutcome
from .submission import Submission
from .tool_call import BegunTool, call_tool
from .turn_session import TurnSession


class Turn(TurnQuestions):
    """One turn. Made by `Session.turn` or `Turn.subagent`, used as `async with`.

    Entering tells `turn_start`; leaving tells `turn_end` exactly once, in whatever way it happens.
    An interrupt cancels the block (trio's Cancelled, which stops at the end of the block);
    afterwards `interrupted` is true.

    Attributes:
        turn_id: unique.
        index: from 1, in the session.
        agent_depth: 0 for the root agent.
        outcome: how it ended; None while it is open.
        ended: its end has been told: nothing more is asked for it.
        context: in a child: its system text, from `subagent_start`.
        summary: in a child: what it reports; the agent sets it.
        tools_begun: `model_call_id` of the tool calls that began to run; an interrupted call that
            is not among them has done nothing.
        continued_by: the plugins because of which the turn last went on, see `stop`.
    """

    def __init__(
        self,
        session: TurnSession,
        hooks: Hooks,
        text: str,
        *,
        source: str,
        interrupt: bool = False,
        parent: Turn | None = None,
        submission: Submission | None = None,
    ) -> None:
        super().__init__(hooks, parent, submission)
        self.session = session
        self.text = text
        self.source = source
        self.continued_by: tuple[str, ...] = ()
        self._interrupt_first = interrupt
        self._finish: TurnOutcome | None = None
        self._stop_count = 0

    @trio.lowlevel.enable_ki_protection
    async def __aenter__(self) -> Turn:
        if self.began:
            raise opened_twice("turn", "session.turn()")
        state = self.hooks.state
        if state.ended:
            raise HostError("the session has ended, so no turn can begin in it")
        if self.parent is None:
            if state.open_root is not None:
                if not self._interrupt_first:
                    raise TurnOpen(
                        "a turn of this session is open; interrupt it first, or pass interrupt=True"
                    )
                self.session.interrupt("new_message", "new_message")
            self.hooks.keep_meta()
            state.root_opened(self)
        self.mark_begun(state.turn_count)
        parent_id = self.parent.turn_id if self.parent is not None else None
        began: dict[str, Any] = {"parent_turn_id": parent_id, "submitted_by": self.submitted_by}
        self.hooks.tell("turn_start", self, index=self.index, **began)
        self.scope.__enter__()
        return self

    @trio.lowlevel.enable_ki_protection
    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        if not self.ended and not self.hooks.host.home.is_elsewhere:
            how = exit_kind(error)
            # left by force: plugins must be told to stop, so `turn_end` alone is not enough
            if how == "cancelled" and self.parent is None:
                self.session.interrupt("shutdown", "host_interrupt")
            elif how == "signal" and self.parent is None:
                self.session.interrupt("signal", "sigint")
            elif how in ("cancelled", "signal"):
                close_turn(self.hooks, self, "interrupted")
            else:
                outcome = "failed" if how == "error" else self._finish or "completed"
                close_turn(self.hooks, self, outcome)
        self.leave()
        return bool(self.scope.__exit__(kind, error, traceback))  # True: it was the interrupt

    @property
    def interrupted(self) -> bool:
        """Whether the turn was interrupted."""
        return self.outcome == "interrupted"

    def finish(self, outcome: TurnOutcome) -> None:
        """Set how the turn ends when its block is left; a ValueError if it is no such word."""
        check_word("outcome", outcome, TurnOutcome)
        self._finish = outcome

    @trio.lowlevel.enable_ki_protection
    def interrupt(
        self, reason: InterruptReason = "user_stop", invalidation_reason: str = "host_interrupt"
    ) -> bool:
        """Abandon this turn at once, with its children's; never waits (see `Session.interrupt`).

        A child's turn is interrupted alone: its parent's goes on.

        Returns:
            False if it is not open.

        Raises:
            ValueError: there is no such reason.
        """
        self.hooks.host.home.refuse_elsewhere()
        check_word("reason", reason, InterruptReason)
        check_text("invalidation_reason", invalidation_reason)
        if self.ended or not self.began:
            return False
        interrupt_turns(self.hooks, self, reason, invalidation_reason)
        return True

    async def submit(self) -> Prompt:
        """Put the user's text to the plugins as soon as the session is ready.

        If it is denied, the turn's outcome will be `denied`.
        """
        await self.session.ready()
        came: dict[str, Any] = {"source": self.source, "submitted_by": self.submitted_by}
        outcome = await self.hooks.ask("user_prompt_submit", self, **came, text=self.text)
        if outcome.denied and not outcome.cancelled:
            self.finish("denied")
        return Prompt.of(outcome)

    async def call_tool(
        self,
        name: str,
        arguments: dict[str, Any],
        *,
        model_call_id: str | None = None,
        run: Callable[[dict[str, Any]], Awaitable[object]] | None = None,
        input_schema: dict[str, Any] | None = None,
        tool_kind: ToolKind | None = None,
        origin: str = "agent",
        ask: bool = False,
    ) -> ToolOutcome:
        """Make one tool call, with all its checks and hooks.

        The steps: the schema, `pre_tool_call`, the approver, the tool itself, `post_tool_call`.

        Args:
            name: the tool.
            arguments: parsed.
            model_call_id: the model's own id of the call.
            run: runs the agent's own tool, and returns what a tool of the Python SDK may return:
                a `ToolResult`, a text, None, a value for JSON. None: the tool is a plugin's.
            input_schema: the schema of the agent's own tool.
            tool_kind: what the tool does, for guards that match it; None: it is not known, and then
                they are asked too.
            origin: from where the agent has its own tool, as `mcp:github`; a plugin's tool has its
                plugin there.
            ask: a person must approve the call, whatever the plugins say.

        Returns:
            What the model reads. A plugin's fault, an unknown tool and arguments that do not fit
            are results too, never exceptions.

        Raises:
            TypeError, ValueError: an argument but `arguments` has a wrong type; there is no such
                kind; a plugin could be called as the origin is.
            trio.Cancelled: the turn was interrupted, before or while this waited. A task outside
                the turn's block, which nothing may cancel, gets the status `cancelled`.
        """
        check_text("name", name)
        check_text("model_call_id", model_call_id, none=True)
        check_word("tool_kind", tool_kind, ToolKind, none=True)
        check_origin(origin)
        check_function("run", run)
        check_schema("input_schema", input_schema)
        check_flag("ask", ask)
        what = name, arguments, model_call_id, tool_kind, origin
        return await call_tool(self.hooks, self, *what, run, input_schema, ask)

    async def begin_tool(
        self,
        name: str,
        arguments: dict[str, Any],
        *,
        model_call_id: str | None = None,
        own: bool = True,
        input_schema: dict[str, Any] | None = None,
        tool_kind: ToolKind | None = None,
        origin: str = "agent",
    ) -> BegunTool:
        """Begin a tool call which the agent ends itself: `call_tool` in two halves.

        The plugins and the person have decided when this returns.

        Args:
            name: the tool.
            arguments: parsed.
            model_call_id: the model's own id of the call.
            own: the tool is the agent's; False: a plugin's.
            input_schema: the schema of the agent's own tool.
            tool_kind: what the tool does, for guards that match it; None: it is not known, and then
                they are asked too.
            origin: as `call_tool`.

        Raises:
            TypeError, ValueError, trio.Cancelled: as `call_tool`.
        """
        check_text("name", name)
        check_text("model_call_id", model_call_id, none=True)
        check_word("tool_kind", tool_kind, ToolKind, none=True)
        check_origin(origin)
        check_flag("own", own)
        check_schema("input_schema", input_schema)
        what = name, arguments, model_call_id, tool_kind, origin
        call = BegunTool(self.hooks, self, *what, own=own)
        await call.begin(input_schema)
        return call

    async def stop(self) -> str | None:
        """The model is done: ask the plugins whether the turn may end.

        Returns:
            The text to go on with, at most eight times a turn; or None.
        """
        outcome = await self.hooks.ask(
            "stop",
            self,
            turn_count=self.hooks.state.turn_count,
            stop_count=self._stop_count,
            last_assistant_message=self.last_assistant_message,
        )
        if outcome.continue_with is None or outcome.cancelled:
            return None
        if self._stop_count >= MAX_CONTINUES_PER_TURN:
            self.hooks.host.refused_to_go_on(outcome, MAX_CONTINUES_PER_TURN)
            return None
        self._stop_count += 1
        self.continued_by = outcome.continued_by
        return outcome.continue_with

    def subagent(self, goal: str, *, background: bool = False) -> ChildTurn:
        """The turn of a child agent, used as `async with`; it is interrupted with its parent.

        Args:
            goal: what the child is asked to do.
            background: the child may outlive this turn: neither the end nor an interrupt of this
                turn ends it, only its own, or the end of the session. Enter it in a task outside
                this turn's block.

        Raises:
            HostError: on entering, if this turn has ended and the caller runs outside its block.
            TypeError: an argument has a wrong type.
        """
        check_text("goal", goal)
        check_flag("background", background)
        return ChildTurn(self, goal, background=background)


class ChildTurn:
    """The block of a child agent: `subagent_start`, its turn, `subagent_stop`."""

    def __init__(self, parent: Turn, goal: str, *, background: bool) -> None:
        self._parent = parent
        self._goal = goal
        self._background = background
        self._turn = Turn(parent.session, parent.hooks, goal, source="user", parent=parent)

    @trio.lowlevel.enable_ki_protection
    async def __aenter__(self) -> Turn:
        if self._turn.began:
            raise opened_twice("turn", "turn.subagent()")
        if not self._parent.ended:
            await self._ask()
        if self._parent.ended or self._turn.ended:
            await trio.lowlevel.checkpoint_if_cancelled()
            raise HostError("the turn has ended, so no child agent can begin in it")
        return await self._turn.__aenter__()

    async def _ask(self) -> None:
        child, parent, hooks = self._turn, self._parent, self._parent.hooks
        # before its turn begins, so that an interrupt meanwhile tells `subagent_stop`
        siblings = hooks.state.background if self._background else parent.children
        child.join(siblings, background=self._background)
        try:
            outcome = await hooks.ask(
                "subagent_start", parent, child_agent_id=child.agent_id, goal=self._goal
            )
            child.context = list(outcome.context)
        except BaseException:
            self._never_begins()
            raise
        if parent.ended:
            self._never_begins()

    def _never_begins(self) -> None:
        # an interrupt has told `subagent_stop` of its children, and of none in the background
        if not self._turn.ended:
            close_turn(self._parent.hooks, self._turn, "interrupted")
        self._turn.leave()

    @trio.lowlevel.enable_ki_protection
    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        return await self._turn.__aexit__(kind, error, traceback)
