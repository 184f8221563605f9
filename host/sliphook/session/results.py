"""What an agent gets for the user's text, a model call and a tool call."""

from __future__ import annotations

from typing import cast

import msgspec

from sliphook.dispatch.outcome import Context, Outcome, Reason
from sliphook_sdk.protocol import Message, ModelTool, ToolResult
from sliphook_sdk.protocol.payloads import PreLlmCall, UserPromptSubmit

from .state import ToolStatus


class Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """What the plugins made of the user's text.

    Attributes:
        text: after replacements.
        context: texts of plugins for the model.
        denied: the text must not be answered.
        reason: why, one line for each plugin.
    """

    text: str
    context: list[Context]
    denied: bool
    reason: str

    @classmethod
    def of(cls, outcome: Outcome) -> Prompt:
        """The outcome of `user_prompt_submit`."""
        return cls(
            text=cast(UserPromptSubmit, outcome.payload).text,
            context=list(outcome.context),
            denied=outcome.denied,
            reason=outcome.reason,
        )


class LlmGate(msgspec.Struct, frozen=True, kw_only=True):
    """What the plugins made of a model call before it is made.

    Attributes:
        denied: the call must not be made.
        reason: why, one line for each plugin.
        model, messages, tools: what to call with, after replacements.
        context: texts for this call only.
        substitute: the response that a plugin gives instead of the model, or None.
        substituted_by: that plugin.
    """

    denied: bool
    reason: str
    model: str | None
    messages: list[Message]
    tools: list[ModelTool]
    context: list[Context]
    substitute: Message | None
    substituted_by: str | None

    @classmethod
    def of(cls, outcome: Outcome) -> LlmGate:
        """The outcome of `pre_llm_call`."""
        payload = cast(PreLlmCall, outcome.payload)
        return cls(
            denied=outcome.denied,
            reason=outcome.reason,
            model=payload.model,
            messages=payload.messages or [],
            tools=payload.tools or [],
            context=list(outcome.context),
            substitute=outcome.substitute,
            substituted_by=outcome.substituted_by,
        )


class ToolOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a tool call came to, for the model and for people.

    Attributes:
        call_id: the host's id of the call.
        status: how it ended.
        result: what came back, after replacements.
        context: texts of plugins, for the model to read after the result.
        duration_ms: how long the tool ran.
        denied_by: the reasons, if it was denied.
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
