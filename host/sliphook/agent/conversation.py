"""The conversation as the model reads it, with the texts of plugins in their places."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import TYPE_CHECKING, Final, Literal, Protocol

import msgspec

from sliphook_sdk.protocol import Message, Part, ToolCallRequest

if TYPE_CHECKING:
    from sliphook.dispatch.outcome import Context

INTERRUPTED: Final = "interrupted before it had finished"
"""The result of a call that was interrupted: servers refuse a conversation with open calls."""
NOT_RUN: Final = "not run: interrupted before it had begun"
"""The same for a call that still waited for a plugin or the user, so that it had no effect."""

MessageState = Literal["whole", "interrupted", "abandoned"]
"""How a message ended. An abandoned one is not in the conversation: its attempt failed."""


class Recorder(Protocol):
    """Records a conversation as it happens, so that it can be continued later. It never raises."""

    def message(self, message: Message, state: MessageState = "whole") -> None:
        """Record a message; an assistant's replaces the text recorded since the last message."""
        ...

    async def text(self, delta: str) -> None:
        """Record the next piece of the current answer; awaited before the user sees it."""
        ...

    def abandoned(self) -> None:
        """Mark the text so far as void."""
        ...

    def answered_by(self, model: str) -> None:
        """Record which model has answered."""
        ...


class Conversation:
    """The messages of one session.

    Attributes:
        system: the agent's own system text, or None.
        messages: the messages, in order.
        left_out: the tools that a provider does not take, each with it, which the user was told.
        routed_to: the server to which a plugin sends the calls, which the user was told; None if
            they go to the agent's own.
    """

    def __init__(
        self,
        system: str | None = None,
        recorder: Recorder | None = None,
        messages: Iterable[Message] = (),
    ) -> None:
        """Begin or continue a conversation.

        Args:
            system: the agent's own system text.
            recorder: gets every new message.
            messages: the earlier messages of a conversation that continues (see `restored`).
        """
        self.system = system
        self.messages = list(messages)
        self.left_out: set[tuple[str, str]] = set()
        self.routed_to: str | None = None
        self._recorder = recorder

    def add_user(self, text: str, context: Iterable[Context] = ()) -> None:
        """Add a user's message with texts of plugins.

        Two messages of the user in a row become one: not every model accepts two.
        """
        message = Message(role="user", content=_joined(text, context))
        self._record(message)
        _append(self.messages, message)

    def add_injected(self, injected: Sequence[Context]) -> None:
        """Add texts that plugins have injected, in the user's role."""
        if injected:
            self.add_user("\n\n".join(context.labelled() for context in injected))

    def answered_by(self, model: str) -> None:
        """Say which model gives the next answer."""
        if self._recorder is not None:
            self._recorder.answered_by(model)

    async def say(self, delta: str) -> None:
        """Take the next piece of an answer, which goes on until `add_answer` or `abandon_answer`.

        Await this before the user sees the piece.
        """
        if self._recorder is not None:
            await self._recorder.text(delta)

    def abandon_answer(self) -> None:
        """Drop the current answer: its attempt failed."""
        if self._recorder is not None:
            self._recorder.abandoned()

    def add_answer(self, answer: Message, *, interrupted: bool = False) -> None:
        """Add the model's answer, whole or up to an interrupt."""
        self._record(answer, "interrupted" if interrupted else "whole")
        self.messages.append(answer)

    def add_result(self, call: ToolCallRequest, text: str, parts: list[Part] | None = None) -> None:
        """Add the result of a call of the last answer, in the order of the calls.

        Args:
            call: the call.
            text: the result.
            parts: the same in parts, for a model that takes them.
        """
        result = Message(role="tool", content=text, call_id=call.call_id, parts=parts)
        self._record(result)
        # calls run side by side and end in any order; models want the results in the calls' order
        calls, results = _open_block(self.messages)
        del self.messages[len(self.messages) - len(results) :]
        self.messages += _in_order(calls, [*results, result])

    def close_calls(self, begun: Container[str]) -> None:
        """Add a result for every call of the last answer that has none: it was interrupted.

        Args:
            begun: the ids of the calls that may have had an effect.
        """
        calls, results = _open_block(self.messages)
        for call in _unanswered(calls, results):
            self.add_result(call, INTERRUPTED if call.call_id in begun else NOT_RUN)

    def for_model(self, session_context: Sequence[Context]) -> list[Message]:
        """The messages, with the system text first: the agent's, then that of the plugins."""
        system = _joined(self.system or "", session_context)
        return (
            [Message(role="system", content=system), *self.messages]
            if system
            else list(self.messages)
        )

    def _record(self, message: Message, state: MessageState = "whole") -> None:
        if self._recorder is not None:
            self._recorder.message(message, state)


def with_context(messages: Sequence[Message], context: Sequence[Context]) -> list[Message]:
    """`messages` with texts of plugins added to the user's last message, for one call only."""
    messages = list(messages)
    if not context:
        return messages
    # the last message may be a tool's result, and only the user's may hold other texts
    for at in range(len(messages) - 1, -1, -1):
        if messages[at].role == "user":
            messages[at] = msgspec.structs.replace(
                messages[at], content=_joined(messages[at].content or "", context)
            )
            return messages
    return [*messages, Message(role="user", content=_joined("", context))]


def restored(said: Iterable[Message]) -> list[Message]:
    """A recorded conversation in the form that models accept, wherever the recording stopped.

    Calls without a result get one that says they were interrupted. Results stand in the order of
    their calls; a result without a call is dropped. The user's messages in a row become one.
    """
    messages: list[Message] = []
    waiting: list[Message] = []

    def close_block() -> None:
        calls, _ = _open_block(messages)
        for call in _unanswered(calls, waiting):
            waiting.append(Message(role="tool", content=INTERRUPTED, call_id=call.call_id))
        messages.extend(_in_order(calls, waiting))
        waiting.clear()

    for message in said:
        if message.role == "tool":
            waiting.append(message)
            continue
        # the block of results is over; an agent that was killed leaves calls without one
        close_block()
        _append(messages, message)
    close_block()
    return messages


def _append(messages: list[Message], message: Message) -> None:
    last = messages[-1] if messages else None
    if message.role == "user" and last is not None and last.role == "user":
        messages[-1] = msgspec.structs.replace(last, content=f"{last.content}\n\n{message.content}")
    else:
        messages.append(message)


def _open_block(messages: Sequence[Message]) -> tuple[Sequence[ToolCallRequest], Sequence[Message]]:
    """The calls of the last answer, and their results so far."""
    at = len(messages)
    while at and messages[at - 1].role == "tool":
        at -= 1
    return (messages[at - 1].tool_calls or () if at else ()), messages[at:]


def _unanswered(
    calls: Sequence[ToolCallRequest], results: Sequence[Message]
) -> list[ToolCallRequest]:
    answered = {result.call_id for result in results}
    return [call for call in calls if call.call_id not in answered]


def _in_order(calls: Sequence[ToolCallRequest], results: Sequence[Message]) -> list[Message]:
    """One result for each call, in the calls' order."""
    # reversed: of two results with one id, the first one counts
    by_id = {result.call_id: result for result in reversed(results)}
    return [by_id[call.call_id] for call in calls if call.call_id in by_id]


def _joined(text: str, context: Iterable[Context]) -> str:
    return "\n\n".join(part for part in (text, *(each.labelled() for each in context)) if part)
