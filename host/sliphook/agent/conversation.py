"""The conversation as the model reads it: who said what, and where the texts of plugins go."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import TYPE_CHECKING, Final, Literal, Protocol

import msgspec

from sliphook_sdk.protocol import Message, ToolCallRequest

if TYPE_CHECKING:
    from sliphook.dispatch.outcome import Context

INTERRUPTED: Final = "interrupted before it had finished"
"""What the model reads in the place of a result that never came: every call must be answered, or servers refuse the conversation."""
NOT_RUN: Final = "not run: interrupted before it had begun"
"""The same, of a call that waited for a plugin or a person: nothing of it has happened."""

MessageState = Literal["whole", "interrupted", "abandoned"]
"""How a message ended: an abandoned one is not in the conversation, for the attempt that began it has failed."""


class Recorder(Protocol):
    """Takes what is said as it is said, so that a conversation can be gone on with later.

    It never raises.
    """

    def message(self, message: Message, state: MessageState = "whole") -> None:
        """A message; an assistant's takes the place of the text that came before."""
        ...

    async def text(self, delta: str) -> None:
        """More of the answer that is under way; it is safe when this returns."""
        ...

    def abandoned(self) -> None:
        """The text so far counts no more."""
        ...


class Conversation:
    """The messages of one session.

    Attributes:
        system: the agent's own system text, or None.
        messages: everything since, in order.
    """

    def __init__(
        self,
        system: str | None = None,
        recorder: Recorder | None = None,
        messages: Iterable[Message] = (),
    ) -> None:
        """Begin.

        Args:
            system: the agent's own system text.
            recorder: told of everything that is said from now on.
            messages: what was said before, where a conversation goes on (see `restored`).
        """
        self.system = system
        self.messages = list(messages)
        self._recorder = recorder

    def add_user(self, text: str, context: Iterable[Context] = ()) -> None:
        """A user's message, the texts of plugins beside it.

        Two in a row become one: not every model takes them apart.
        """
        message = Message(role="user", content=_joined(text, context))
        self._record(message)
        _append(self.messages, message)

    def add_injected(self, injected: Sequence[Context]) -> None:
        """Texts that plugins have injected, in the user's role."""
        if injected:
            self.add_user("\n\n".join(context.labelled() for context in injected))

    async def say(self, delta: str) -> None:
        """The model says `delta`; the answer is under way until `add_answer` or `abandon_answer`.

        Await it before the user is shown it.
        """
        if self._recorder is not None:
            await self._recorder.text(delta)

    def abandon_answer(self) -> None:
        """The attempt failed; what it had said is no part of the conversation."""
        if self._recorder is not None:
            self._recorder.abandoned()

    def add_answer(self, answer: Message, *, interrupted: bool = False) -> None:
        """What the model said, whole or as far as it came."""
        self._record(answer, "interrupted" if interrupted else "whole")
        self.messages.append(answer)

    def add_result(self, call: ToolCallRequest, text: str) -> None:
        """What a call of the last answer came to.

        They stand in the calls' order, whichever ends first.
        """
        result = Message(role="tool", content=text, call_id=call.call_id)
        self._record(result)
        calls, results = _open_block(self.messages)
        del self.messages[len(self.messages) - len(results) :]
        self.messages += _in_order(calls, [*results, result])

    def close_calls(self, begun: Container[str]) -> None:
        """Every call of the last answer that has no result was interrupted; `begun` are the ids of those that may have done something."""
        calls, results = _open_block(self.messages)
        for call in _unanswered(calls, results):
            self.add_result(call, INTERRUPTED if call.call_id in begun else NOT_RUN)

    def for_model(self, session_context: Sequence[Context]) -> list[Message]:
        """The whole conversation, begun by the system text: the agent's, and the plugins' from the start of the session."""
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
    """`messages` with texts of plugins at the last user's message, for one call only."""
    messages = list(messages)
    if not context:
        return messages
    for at in range(len(messages) - 1, -1, -1):
        if messages[at].role == "user":
            messages[at] = msgspec.structs.replace(
                messages[at], content=_joined(messages[at].content or "", context)
            )
            return messages
    return [*messages, Message(role="user", content=_joined("", context))]


def restored(said: Iterable[Message]) -> list[Message]:
    """A recorded conversation as a model takes it, wherever it was broken off.

    Calls without a result were interrupted, results stand in the order of their calls, a result
    without a call is left out, and users' messages in a row are one.
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
    """The calls of the last answer, and the results there are of them."""
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
    by_id = {result.call_id: result for result in reversed(results)}
    return [by_id[call.call_id] for call in calls if call.call_id in by_id]


def _joined(text: str, context: Iterable[Context]) -> str:
    return "\n\n".join(part for part in (text, *(each.labelled() for each in context)) if part)
