"""The types of an author's functions, for type checkers alone.

A function gets a payload, and `ctx` if it has a parameter of that name; an `async def` gets the
`ctx` whose requests are awaited. A decorator returns the function as it is, so each kind of
function is a TypeVar with a bound.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, Optional, Protocol, TypeVar, Union

from sliphook_sdk.protocol import CommandResult, answers, payloads, questions
from sliphook_sdk.registration.life import Disabled
from sliphook_sdk.runtime.contexts import AsyncContext, Context
from sliphook_sdk.runtime.plugin_context import LifeContext

GivenT = TypeVar("GivenT", contravariant=True)
ReturnedT = TypeVar("ReturnedT", covariant=True)


class Plain(Protocol[GivenT, ReturnedT]):
    """`def function(given)`."""

    def __call__(self, given: GivenT, /) -> ReturnedT: ...


class PlainWithCtx(Protocol[GivenT, ReturnedT]):
    """`def function(given, *, ctx)`."""

    def __call__(self, given: GivenT, /, *, ctx: Context[Any]) -> ReturnedT: ...


class Awaited(Protocol[GivenT, ReturnedT]):
    """`async def function(given)`."""

    def __call__(self, given: GivenT, /) -> Coroutine[Any, Any, ReturnedT]: ...


class AwaitedWithCtx(Protocol[GivenT, ReturnedT]):
    """`async def function(given, *, ctx)`."""

    def __call__(
        self, given: GivenT, /, *, ctx: AsyncContext[Any]
    ) -> Coroutine[Any, Any, ReturnedT]: ...


class Life(Protocol[ReturnedT]):
    """`def function()`, at the start or the end of the plugin."""

    def __call__(self) -> Union[ReturnedT, Coroutine[Any, Any, ReturnedT]]: ...


class LifeWithCtx(Protocol[ReturnedT]):
    """`def function(*, ctx)`, at the start or the end of the plugin."""

    def __call__(
        self, *, ctx: LifeContext[Any]
    ) -> Union[ReturnedT, Coroutine[Any, Any, ReturnedT]]: ...


_GivenT = TypeVar("_GivenT")
_ReturnedT = TypeVar("_ReturnedT")
Function = Union[
    Plain[_GivenT, _ReturnedT],
    PlainWithCtx[_GivenT, _ReturnedT],
    Awaited[_GivenT, _ReturnedT],
    AwaitedWithCtx[_GivenT, _ReturnedT],
]
Asked = Function[_GivenT, Optional[_ReturnedT]]
"""What is asked may abstain."""

CommandFunction = TypeVar("CommandFunction", bound=Function[str, Union[str, CommandResult, None]])
StartFunction = TypeVar(
    "StartFunction", bound=Union[Life[Optional[Disabled]], LifeWithCtx[Optional[Disabled]]]
)
EndFunction = TypeVar("EndFunction", bound=Union[Life[None], LifeWithCtx[None]])

# generated: handlers
SessionStartHandler = TypeVar(
    "SessionStartHandler", bound=Asked[payloads.SessionStart, answers.SessionStartAnswer]
)
SessionStartListener = TypeVar("SessionStartListener", bound=Function[payloads.SessionStart, None])
SessionResetListener = TypeVar("SessionResetListener", bound=Function[payloads.SessionReset, None])
SessionEndListener = TypeVar("SessionEndListener", bound=Function[payloads.SessionEnd, None])
TurnStartListener = TypeVar("TurnStartListener", bound=Function[payloads.TurnStart, None])
UserPromptSubmitHandler = TypeVar(
    "UserPromptSubmitHandler",
    bound=Asked[payloads.UserPromptSubmit, answers.UserPromptSubmitAnswer],
)
UserPromptSubmitReplacer = TypeVar(
    "UserPromptSubmitReplacer",
    bound=Asked[payloads.UserPromptSubmit, answers.UserPromptSubmitReplacement],
)
UserPromptSubmitListener = TypeVar(
    "UserPromptSubmitListener", bound=Function[payloads.UserPromptSubmit, None]
)
PreLlmCallHandler = TypeVar(
    "PreLlmCallHandler", bound=Asked[payloads.PreLlmCall, answers.PreLlmCallAnswer]
)
PreLlmCallReplacer = TypeVar(
    "PreLlmCallReplacer", bound=Asked[payloads.PreLlmCall, answers.PreLlmCallReplacement]
)
PreLlmCallListener = TypeVar("PreLlmCallListener", bound=Function[payloads.PreLlmCall, None])
PostLlmCallListener = TypeVar("PostLlmCallListener", bound=Function[payloads.PostLlmCall, None])
LlmCallFailedListener = TypeVar(
    "LlmCallFailedListener", bound=Function[payloads.LlmCallFailed, None]
)
PreToolCallHandler = TypeVar(
    "PreToolCallHandler", bound=Asked[payloads.PreToolCall, answers.PreToolCallAnswer]
)
PreToolCallReplacer = TypeVar(
    "PreToolCallReplacer", bound=Asked[payloads.PreToolCall, answers.PreToolCallReplacement]
)
PreToolCallListener = TypeVar("PreToolCallListener", bound=Function[payloads.PreToolCall, None])
PostToolCallHandler = TypeVar(
    "PostToolCallHandler", bound=Asked[payloads.PostToolCall, answers.PostToolCallAnswer]
)
PostToolCallReplacer = TypeVar(
    "PostToolCallReplacer", bound=Asked[payloads.PostToolCall, answers.PostToolCallReplacement]
)
PostToolCallListener = TypeVar("PostToolCallListener", bound=Function[payloads.PostToolCall, None])
StopHandler = TypeVar("StopHandler", bound=Asked[payloads.Stop, answers.StopAnswer])
StopListener = TypeVar("StopListener", bound=Function[payloads.Stop, None])
AgentLoopStoppedListener = TypeVar(
    "AgentLoopStoppedListener", bound=Function[payloads.AgentLoopStopped, None]
)
SubmissionEndListener = TypeVar(
    "SubmissionEndListener", bound=Function[payloads.SubmissionEnd, None]
)
TurnEndListener = TypeVar("TurnEndListener", bound=Function[payloads.TurnEnd, None])
NotificationListener = TypeVar("NotificationListener", bound=Function[payloads.Notification, None])
UserInputRequiredListener = TypeVar(
    "UserInputRequiredListener", bound=Function[questions.UserInputRequired, None]
)
UserInputReceivedListener = TypeVar(
    "UserInputReceivedListener", bound=Function[questions.UserInputReceived, None]
)
SubagentStartHandler = TypeVar(
    "SubagentStartHandler", bound=Asked[payloads.SubagentStart, answers.SubagentStartAnswer]
)
SubagentStartListener = TypeVar(
    "SubagentStartListener", bound=Function[payloads.SubagentStart, None]
)
SubagentStopListener = TypeVar("SubagentStopListener", bound=Function[payloads.SubagentStop, None])
# end
