"""`plugin.on`: functions that are told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from sliphook_sdk.protocol import CATALOGUE, Kind, Subscription
from sliphook_sdk.registration.handlers import Handler, HookHandler
from sliphook_sdk.registration.subscriptions import check_reachable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Literal

    from . import handler_types as types
    from . import match_types as fields


class Told:
    """The functions that are told of events.

    Attributes:
        hooks: the handlers of hooks and events, in the order of their definition.
    """

    def __init__(self) -> None:
        self.hooks: list[HookHandler] = []
        self._runs = False
        self._is_declared = False

    # generated: on
    @overload
    def on(
        self,
        name: Literal["session_start"],
        *,
        match: fields.SessionStartMatch | None = None,
        subagents: bool | None = None,
        optional: bool = False,
    ) -> Callable[[types.SessionStartListener], types.SessionStartListener]: ...

    @overload
    def on(
        self,
        name: Literal["session_reset"],
        *,
        match: fields.SessionResetMatch | None = None,
        subagents: bool | None = None,
        optional: bool = False,
    ) -> Callable[[types.SessionResetListener], types.SessionResetListener]: ...

    @overload
    def on(
        self,
        name: Literal["session_end"],
        *,
        match: fields.SessionEndMatch | None = None,
        subagents: bool | None = None,
        optional: bool = False,
    ) -> Callable[[types.SessionEndListener], types.SessionEndListener]: ...

    @overload
    def on(
        self,
        name: Literal["turn_start"],
        *,
        match: fields.TurnStartMatch | None = None,
        subagents: bool | None = None,
        optional: bool = False,
    ) -> Callable[[types.TurnStartListener], types.TurnStartListener]: ...

    @overload
    def on(
        self,
        name: Literal["user_prompt_submit"],
        *,
        match: fields.UserPromptSubmitMatch | None = None,
        subagents: bool | None = None,
        optional: bool = False,
    ) -> Callable[[types.UserPromptSubmitListener], types.UserPromptSubmitListener]: ...

    @overload
    def on(
        self,
        name: Literal["pre_llm_call"],
        *,
        match: fields.PreLlmCallMatch | None = None,
        include: Sequence[Literal["tools", "messages"]] = (),
        subagents: bool | None = None,
        optional: bool = False,
    ) -> Callable[[types.PreLlmCallListener], types.PreLlmCallListener]: ...

    @overload
    def on(
        self,
        name: Literal["post_llm_call"],
        *,
        match: fields.PostLlmCallMatch | None = None,
        include: Sequence[Literal["response"]] = (),
        subagents: bool | None = None,
        optional: bool = False,
    ) -> Callable[[types.PostLlmCallListener], types.PostLlmCallListener]: ...

    @overload
    def on(
        self,
        name: Literal["llm_call_failed"],
        *,
        match: fields.LlmCallFailedMatch | None = None,
        subagents: bool | None = None,
        optional: bool = False,
    ) -> Callable[[types.LlmCallFailedListener], types.LlmCallFailedListener]: ...

    @overload
    def on(
        self,
        name: Literal["pre_tool_call"],
        *,
        match: fields.PreToolCallMatch | None = None,
        subagents: bool | None = None,
        optional: bool = False,
    ) -> Callable[[types.PreToolCallListener], types.PreToolCallListener]: ...

    @overload
    def on(
        self,
        name: Literal["post_tool_call"],
        *,
        match: fields.PostToolCallMatch | None = None,
        subagents: bool | None = None,
        optional: bool = False,
    ) -> Callable[[types.PostToolCallListener], types.PostToolCallListener]: ...

    @overload
    def on(
        self,
        name: Literal["stop"],
        *,
        match: fields.CommonMatch | None = None,
        subagents: bool | None = None,
        optional: bool = False,
    ) -> Callable[[types.StopListener], types.StopListener]: ...

    @overload
    def on(
        self,
        name: Literal["agent_loop_stopped"],
        *,
        match: fields.AgentLoopStoppedMatch | None = None,
        subagents: bool | None = None,
        optional: bool = False,
    ) -> Callable[[types.AgentLoopStoppedListener], types.AgentLoopStoppedListener]: ...

    @overload
    def on(
        self,
        name: Literal["submission_end"],
        *,
        match: fields.SubmissionEndMatch | None = None,
        subagents: bool | None = None,
        optional: bool = False,
    ) -> Callable[[types.SubmissionEndListener], types.SubmissionEndListener]: ...

    @overload
    def on(
        self,
        name: Literal["turn_end"],
        *,
        match: fields.TurnEndMatch | None = None,
        subagents: bool | None = None,
        optional: bool = False,
    ) -> Callable[[types.TurnEndListener], types.TurnEndListener]: ...

    @overload
    def on(
        self,
        name: Literal["notification"],
        *,
        match: fields.NotificationMatch | None = None,
        subagents: bool | None = None,
        optional: bool = False,
    ) -> Callable[[types.NotificationListener], types.NotificationListener]: ...

    @overload
    def on(
        self,
        name: Literal["user_input_required"],
        *,
        match: fields.UserInputRequiredMatch | None = None,
        subagents: bool | None = None,
        optional: bool = False,
    ) -> Callable[[types.UserInputRequiredListener], types.UserInputRequiredListener]: ...

    @overload
    def on(
        self,
        name: Literal["user_input_received"],
        *,
        match: fields.UserInputReceivedMatch | None = None,
        subagents: bool | None = None,
        optional: bool = False,
    ) -> Callable[[types.UserInputReceivedListener], types.UserInputReceivedListener]: ...

    @overload
    def on(
        self,
        name: Literal["subagent_start"],
        *,
        match: fields.CommonMatch | None = None,
        subagents: bool | None = None,
        optional: bool = False,
    ) -> Callable[[types.SubagentStartListener], types.SubagentStartListener]: ...

    @overload
    def on(
        self,
        name: Literal["subagent_stop"],
        *,
        match: fields.SubagentStopMatch | None = None,
        subagents: bool | None = None,
        optional: bool = False,
    ) -> Callable[[types.SubagentStopListener], types.SubagentStopListener]: ...

    # end

    def on(
        self,
        name: str,
        *,
        match: Mapping[str, Any] | None = None,
        include: Sequence[str] = (),
        subagents: bool | None = None,
        optional: bool = False,
    ) -> Callable[[Any], Any]:
        """Register a function that is told of an event: `(payload, *, ctx)`.

        It may be an `async def`, and `ctx` may be left out. Its return value is ignored. Several
        functions may be told of one event, one after the other, in the order of the messages; none
        is told of a hook that another function of this plugin is asked about.

        Args:
            name: an event, such as `turn_end`, or a hook that the plugin observes without
                answering it.
            match: as in `hook`.
            include: as in `hook`.
            subagents: as in `hook`.
            optional: as in `hook`.

        Raises:
            RegistrationError: an argument or the function is not allowed; the message has the
                function's file and line.
        """
        entry = CATALOGUE.get(name)
        subscription = Subscription(
            event=name,
            mode="event" if entry is not None and entry.kind == "hook" else None,
            match=dict(match) if match else None,
            include=list(include) or None,
            subagents=subagents,
            optional=optional or None,
        )
        return self._subscriber(subscription, "event")

    def declared(self) -> None:
        """The host is told what the plugin declares."""
        self._is_declared = True

    def _check_in_time(self, handler: Handler, *, in_on_start: bool, instead: str = "") -> None:
        """Check that a function is registered before it would have no effect.

        Args:
            handler: the function.
            in_on_start: it may be registered in `on_start`, too.
            instead: what to do if it comes later.

        Raises:
            RegistrationError: it is too late.
        """
        if self._is_declared if in_on_start else self._runs:
            raise handler.wrong(
                f"is registered too late, when the plugin runs: do it before plugin.run(){instead}"
            )

    def _subscriber(self, subscription: Subscription, kind: Kind) -> Callable[[Any], Any]:
        name: object = subscription.event
        if callable(name):  # else it would be taken for the name, and never be asked
            word = "hook" if kind == "hook" else "on"
            raise Handler(name).wrong(
                f"is given to @plugin.{word} in place of a name, "
                f'as in @plugin.{word}("pre_tool_call")'
            )

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            handler = HookHandler(function, subscription, kind)
            self._check_in_time(handler, in_on_start=False)
            check_reachable(handler, self.hooks)
            self.hooks.append(handler)
            return function

        return register
