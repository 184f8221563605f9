"""`plugin.hook`: functions that are asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from sliphook_sdk.protocol import OnFailure, Subscription

from .events import Told

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Literal

    from . import handler_types as types
    from . import match_types as fields


class Asked(Told):
    """The functions that answer hooks, and those that are told of events."""

    # generated: hook
    @overload
    def hook(
        self,
        name: Literal["session_start"],
        *,
        match: fields.SessionStartMatch | None = None,
        timeout_s: float | None = None,
        on_failure: Literal["open"] | None = None,
        priority: int | None = None,
        subagents: bool | None = None,
        optional: bool = False,
    ) -> Callable[[types.SessionStartHandler], types.SessionStartHandler]: ...

    @overload
    def hook(
        self,
        name: Literal["user_prompt_submit"],
        *,
        match: fields.UserPromptSubmitMatch | None = None,
        timeout_s: float | None = None,
        on_failure: OnFailure | None = None,
        priority: int | None = None,
        replaces: Literal[False] = False,
        subagents: bool | None = None,
        optional: bool = False,
    ) -> Callable[[types.UserPromptSubmitHandler], types.UserPromptSubmitHandler]: ...

    @overload
    def hook(
        self,
        name: Literal["user_prompt_submit"],
        *,
        match: fields.UserPromptSubmitMatch | None = None,
        timeout_s: float | None = None,
        on_failure: OnFailure | None = None,
        priority: int | None = None,
        replaces: Literal[True],
        subagents: bool | None = None,
        optional: bool = False,
    ) -> Callable[[types.UserPromptSubmitReplacer], types.UserPromptSubmitReplacer]: ...

    @overload
    def hook(
        self,
        name: Literal["pre_llm_call"],
        *,
        match: fields.PreLlmCallMatch | None = None,
        timeout_s: float | None = None,
        on_failure: OnFailure | None = None,
        priority: int | None = None,
        replaces: Literal[False] = False,
        include: Sequence[Literal["tools", "messages"]] = (),
        subagents: bool | None = None,
        attempts: bool = False,
        optional: bool = False,
    ) -> Callable[[types.PreLlmCallHandler], types.PreLlmCallHandler]: ...

    @overload
    def hook(
        self,
        name: Literal["pre_llm_call"],
        *,
        match: fields.PreLlmCallMatch | None = None,
        timeout_s: float | None = None,
        on_failure: OnFailure | None = None,
        priority: int | None = None,
        replaces: Literal[True],
        include: Sequence[Literal["tools", "messages"]] = (),
        subagents: bool | None = None,
        attempts: bool = False,
        optional: bool = False,
    ) -> Callable[[types.PreLlmCallReplacer], types.PreLlmCallReplacer]: ...

    @overload
    def hook(
        self,
        name: Literal["pre_tool_call"],
        *,
        match: fields.PreToolCallMatch | None = None,
        timeout_s: float | None = None,
        on_failure: OnFailure | None = None,
        priority: int | None = None,
        replaces: Literal[False] = False,
        subagents: bool | None = None,
        optional: bool = False,
    ) -> Callable[[types.PreToolCallHandler], types.PreToolCallHandler]: ...

    @overload
    def hook(
        self,
        name: Literal["pre_tool_call"],
        *,
        match: fields.PreToolCallMatch | None = None,
        timeout_s: float | None = None,
        on_failure: OnFailure | None = None,
        priority: int | None = None,
        replaces: Literal[True],
        subagents: bool | None = None,
        optional: bool = False,
    ) -> Callable[[types.PreToolCallReplacer], types.PreToolCallReplacer]: ...

    @overload
    def hook(
        self,
        name: Literal["post_tool_call"],
        *,
        match: fields.PostToolCallMatch | None = None,
        timeout_s: float | None = None,
        on_failure: Literal["open"] | None = None,
        priority: int | None = None,
        replaces: Literal[False] = False,
        subagents: bool | None = None,
        optional: bool = False,
    ) -> Callable[[types.PostToolCallHandler], types.PostToolCallHandler]: ...

    @overload
    def hook(
        self,
        name: Literal["post_tool_call"],
        *,
        match: fields.PostToolCallMatch | None = None,
        timeout_s: float | None = None,
        on_failure: Literal["open"] | None = None,
        priority: int | None = None,
        replaces: Literal[True],
        subagents: bool | None = None,
        optional: bool = False,
    ) -> Callable[[types.PostToolCallReplacer], types.PostToolCallReplacer]: ...

    @overload
    def hook(
        self,
        name: Literal["stop"],
        *,
        match: fields.CommonMatch | None = None,
        timeout_s: float | None = None,
        on_failure: Literal["open"] | None = None,
        priority: int | None = None,
        subagents: bool | None = None,
        optional: bool = False,
    ) -> Callable[[types.StopHandler], types.StopHandler]: ...

    @overload
    def hook(
        self,
        name: Literal["subagent_start"],
        *,
        match: fields.CommonMatch | None = None,
        timeout_s: float | None = None,
        on_failure: Literal["open"] | None = None,
        priority: int | None = None,
        subagents: bool | None = None,
        optional: bool = False,
    ) -> Callable[[types.SubagentStartHandler], types.SubagentStartHandler]: ...

    # end

    def hook(
        self,
        name: str,
        *,
        match: Mapping[str, Any] | None = None,
        timeout_s: float | None = None,
        on_failure: OnFailure | None = None,
        priority: int | None = None,
        replaces: bool = False,
        include: Sequence[str] = (),
        subagents: bool | None = None,
        attempts: bool = False,
        optional: bool = False,
    ) -> Callable[[Any], Any]:
        """Register a function that answers a hook: `(payload, *, ctx) -> Answer | None`.

        It may be an `async def`, and `ctx` may be left out.

        Args:
            name: the hook, such as `pre_tool_call`.
            match: fields of the payload, each with a pattern (`*` and `?`) or a list of patterns;
                the function is asked only if all fields fit.
            timeout_s: seconds to answer, 0.05 to 600; 5 if None.
            on_failure: `closed`: a failed answer denies; `open`: it abstains; if None, the hook's
                default.
            priority: plugins with a high priority are asked first.
            replaces: the answers may `replace` and `substitute`.
            include: heavy fields of the payload to fill in.
            subagents: ask for child agents too; if None, the hook's default.
            attempts: in `pre_llm_call`: ask before each attempt, with the `failure` of the last.
            optional: if the host does not know the hook, it is no error.

        Raises:
            RegistrationError: an argument or the function is not allowed; the message has the
                function's file and line.
        """
        subscription = Subscription(
            event=name,
            match=dict(match) if match else None,
            timeout_s=timeout_s,
            on_failure=on_failure,
            priority=priority,
            replaces=replaces or None,
            include=list(include) or None,
            subagents=subagents,
            attempts=attempts or None,
            optional=optional or None,
        )
        return self._subscriber(subscription, "hook")
