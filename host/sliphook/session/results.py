"""What an agent gets for the user's text, a model call, a tool call and an interrupt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import msgspec
import trio
from msgspec.structs import replace

from sliphook.dispatch.outcome import Context, Outcome, Reason
from sliphook.wire import envelope
from sliphook.wire.json_value import not_as_written
from sliphook.wire.sendable import bytes_in_json, encode_value, excess_of, too_much_of
from sliphook.wire.surrogates import whole_text
from sliphook_sdk.protocol import Message, ModelRoute, ModelTool, Part, ToolResult, Usage, parts
from sliphook_sdk.protocol.limits import MAX_DEPTH, MAX_HOST_MESSAGE_BYTES, MAX_HOST_PARAMS_BYTES
from sliphook_sdk.protocol.payloads import PostToolCall, PreLlmCall, UserPromptSubmit

from .open_tool import OpenTool, ToolStatus
from .questions.question import Settlement

_PART: Final = msgspec.json.Decoder(Part)
_MAX_RESULT_BYTES: Final = MAX_HOST_PARAMS_BYTES - 64 * 1024
"""Of a result as plugins are told it: there is room for its call beside it."""
_SHORT_BYTES: Final = 32 * 1024
"""For so much beside a result there is room, too."""
_WHY: Final[Mapping[str, str]] = {
    "nobody": "nobody can be asked",
    "timed_out": "nobody has answered",
    "failed": "the question failed",
    "interrupted": "the turn has ended",
}


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


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a question of the agent's.

    Attributes:
        allowed: yes. Without an answer it is no.
        by: `user`, a plugin's name, or `none`.
        why: if no one has answered, why; else "".
    """

    allowed: bool
    by: str
    why: str

    @classmethod
    def of(cls, settled: Settlement) -> Verdict:
        """Of a question whose answers are yes and no."""
        return cls(allowed=settled.allows, by=settled.by, why=_WHY.get(settled.outcome, ""))


class LlmGate(msgspec.Struct, frozen=True, kw_only=True):
    """What the plugins made of a model call before it is made.

    Attributes:
        denied: the call must not be made.
        reason: why, one line for each plugin.
        model, messages, tools: what to call with, after replacements.
        context: texts for this call only.
        substitute: the response that a plugin gives instead of the model, or None.
        substituted_by: that plugin.
        usage, finish_reason: of the substitute, as that plugin says.
        shown: the text that plugins have sent for the substitute, which `on_text` was given.
        route: where to send the call, after replacements; what is null in it is the agent's choice.
        routed_by: the plugin that gave the route, or None.
        api_key: that plugin's key for the server of the route. None: none is sent to a server that
            is not the agent's own or a provider's. It is in no `repr`.
        asks_again: some plugin is asked before another attempt, so what it can mend is tried again.
    """

    denied: bool
    reason: str
    model: str | None
    messages: list[Message]
    tools: list[ModelTool]
    context: list[Context]
    substitute: Message | None
    substituted_by: str | None
    usage: Usage = Usage()
    finish_reason: str | None = None
    shown: str = ""
    route: ModelRoute | None = None
    routed_by: str | None = None
    api_key: str | None = None
    asks_again: bool = False

    @classmethod
    def of(cls, outcome: Outcome, *, api_key: str | None, shown: str, asks_again: bool) -> LlmGate:
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
            usage=outcome.beside.get("usage", Usage()),
            finish_reason=outcome.beside.get("finish_reason"),
            shown=shown,
            route=payload.route,
            routed_by=outcome.routed_by,
            api_key=api_key,
            asks_again=asks_again,
        )

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        """What `repr` shows, too: a key may not reach a log."""
        shown = msgspec.structs.replace(self, api_key="***") if self.api_key is not None else self
        return [(name, getattr(shown, name)) for name in self.__struct_fields__]

    def __repr__(self) -> str:
        """The fields, without the key."""
        return f"LlmGate({', '.join(f'{name}={value!r}' for name, value in self.__rich_repr__())})"


class ToolOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a tool call came to, for the model and for people.

    Attributes:
        call_id: the host's id of the call.
        status: how it ended.
        result: what came back, after replacements.
        context: texts of plugins, for the model to read after the result.
        duration_ms: how long the tool ran.
        still_running: the plugin was told to stop the tool, and it had not ended: it may still act.
            Never so for the agent's own tool: that has ended when its call returns.
        denied_by: the reasons, if it was denied.
        substituted_by: the plugin that gave the result instead of the tool, or None.
        error: what the agent's own tool raised, or None. `result` has its text for the model and
            the plugins; an agent that would rather see the exception raises it again.
    """

    call_id: str
    status: ToolStatus
    result: ToolResult
    context: list[Context] = []
    duration_ms: float | None = None
    still_running: bool = False
    denied_by: tuple[Reason, ...] = ()
    substituted_by: str | None = None
    error: Exception | None = None

    def text(self) -> str:
        """What the model reads: the result, then the labelled texts of plugins."""
        return "\n\n".join([self.result.content, *(context.labelled() for context in self.context)])

    def in_parts(self) -> list[Part] | None:
        """The same in parts, for a model that takes them; None if the result has none."""
        added = [Part(type="text", text=context.labelled()) for context in self.context]
        return [*self.result.parts, *added] if self.result.parts else None


class Interruption(msgspec.Struct, frozen=True, kw_only=True):
    """A turn was interrupted, by the agent, the user or a plugin.

    Attributes:
        session_id: the session.
        turn_id: the turn; a child's if the child alone was interrupted.
        reason: why, one of the protocol's words; `plugin` if a plugin has asked for it.
        invalidation_reason: why exactly, in the words of who interrupted it.
    """

    session_id: str
    turn_id: str
    reason: str
    invalidation_reason: str


async def seen(
    tool: OpenTool, common: dict[str, Any], status: ToolStatus, result: ToolResult
) -> tuple[ToolStatus, ToolResult]:
    """How a call has ended; an error if no plugin could look at its result beside all else."""
    if status not in ("ok", "error"):
        return status, result
    size = len(envelope.encode(common | tool.before()))
    if size <= _SHORT_BYTES:
        return status, result
    await trio.lowlevel.cancel_shielded_checkpoint()
    size += len(envelope.encode(result))
    await trio.lowlevel.cancel_shielded_checkpoint()
    if size <= _MAX_RESULT_BYTES:
        return status, result
    return "error", failed(
        f"the result of {tool.name} is withheld: with its call and the session's meta it has"
        f" {size:,} bytes in JSON, and {_MAX_RESULT_BYTES:,} are the most; write long texts to"
        " files and pass their paths"
    )


def passed(
    name: str, status: ToolStatus, result: ToolResult, after: Outcome
) -> tuple[ToolStatus, ToolResult]:
    """The same, as `post_tool_call` has left it; an error if a plugin could not look at it."""
    for part in after.parts:
        if part.status == "payload_too_large" and status in ("ok", "error"):
            why = f"{part.plugin} cannot look at it: {part.error}"
            return "error", failed(f"the result of {name} is withheld: {why}")
    return status, cast(PostToolCall, after.payload).result or result


def failed(content: str) -> ToolResult:
    """A result that says why there is no other."""
    return ToolResult(content=content, is_error=True)


def result_of(returned: object) -> ToolResult:
    """The result of the agent's own tool, from what its function returned, as in the Python SDK.

    None is an empty text, a text is itself, any other value is JSON for the model and `data` for
    programs; it is no `data` if a message may not have so many values, or both are too long for it.

    Raises:
        TypeError: JSON cannot hold it, or no plugin could be told of it; the message says which.
            The function's fault.
    """
    if isinstance(returned, ToolResult):
        if not isinstance(cast(object, returned.content), str):
            raise TypeError(f"its content is {type(returned.content).__name__}, and no text")
        if not isinstance(cast(object, returned.is_error), bool):
            raise TypeError(f"its is_error is {type(returned.is_error).__name__}, and no bool")
        content = _told(returned.content)
        if (unfit := parts.why_not(returned.parts)) is not None:
            raise TypeError(unfit)
        told, size = _told_parts(returned.parts) if returned.parts else (returned.parts, 0)
        # raises if the plugins could not be told of it
        data = encode_value(returned.data)
        if (odd := not_as_written(returned.data, data)) is not None:
            raise TypeError(f"its data cannot be told: {odd}")
        _check_length(content, len(data) + size)
        return replace(returned, content=content, parts=told)
    if returned is None or isinstance(returned, str):
        return ToolResult(content=_told(returned or ""))
    if isinstance(returned, (bytes, bytearray, memoryview)):
        # msgspec would write them in base64, which no model asked for
        raise TypeError(f"it returned {_type_of(cast(object, returned))}; return a text")
    try:
        body = envelope.encode(returned)
    except TypeError as error:
        raise TypeError(
            f"it returned {_type_of(returned)}, which JSON cannot hold: {error}"
        ) from None
    content = body.decode()
    _check_length(content)
    too_much = too_much_of(body) is not None
    excess = None if too_much else excess_of(body, MAX_DEPTH)
    if excess is not None:
        raise TypeError(f"it returned {_type_of(returned)}, which JSON cannot hold: it {excess}")
    if (odd := not_as_written(returned, body)) is not None:
        raise TypeError(f"it returned {_type_of(returned)}, which JSON cannot hold: {odd}")
    if too_much or bytes_in_json(content) + len(body) > _MAX_RESULT_BYTES:
        return ToolResult(content=content)
    return ToolResult(content=content, data=msgspec.json.decode(body))


def _told(content: str) -> str:
    """The text as plugins are told of it: plain, with U+FFFD for each lone surrogate."""
    _check_chars(len(content))
    told = whole_text(str.__str__(content))
    _check_length(told)
    return told


def _told_parts(given: Sequence[Part]) -> tuple[list[Part], int]:
    """The same of parts that `parts.why_not` has found nothing wrong with; and bytes in JSON."""
    _check_chars(sum(map(_chars_of, given)))
    # before it is encoded: that takes long where much has to be escaped
    _check_length(whole_text("".join(map(_text_of, given))))
    told: list[Part] = []
    size = 0
    for index, part in enumerate(given):
        # an image is long, and plain already
        data = part.data if part.type in ("image", "audio") else None
        body = envelope.encode(part if data is None else replace(part, data=None))
        size += len(body) + len(data or "")
        try:
            told.append(replace(_PART.decode(body), data=data))
        except msgspec.ValidationError as error:
            raise TypeError(f"parts[{index}]: {error}") from None
    return told, size


def _chars_of(part: Part) -> int:
    held = part.resource
    return len(part.data or _text_of(part) or (held and held.blob) or "")


def _text_of(part: Part) -> str:
    return part.text or (part.resource and part.resource.text) or ""


def _check_chars(chars: int) -> None:
    """Plugins are told all of it: one that hides secrets must see it."""
    if chars > MAX_HOST_MESSAGE_BYTES:
        raise TypeError(
            f"it returned {chars:,} characters, and {MAX_HOST_MESSAGE_BYTES:,} are the most;"
            " write them to a file and return its path"
        )


def _check_length(content: str, beside: int = 0) -> None:
    """The same for what a text takes in JSON, with so many bytes beside it."""
    _check_chars(len(content))
    # no character takes more than six
    if 6 * len(content) + beside <= _MAX_RESULT_BYTES:
        return
    size = bytes_in_json(content) + beside
    if size > _MAX_RESULT_BYTES:
        raise TypeError(
            f"it returned {size:,} bytes in JSON, and {_MAX_RESULT_BYTES:,} are the most;"
            " write them to a file and return its path"
        )


def _type_of(value: object) -> str:
    return type(value).__name__
