"""The conversation as the model reads it: who said what, and where the texts of plugins go."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from sliphook_sdk.protocol import Message, ToolCallRequest

if TYPE_CHECKING:
    from sliphook.outcome import Context

INTERRUPTED: Final = "interrupted before it had finished"
"""What the model reads in the place of a result that never came: every call must be answered, or servers refuse the conversation."""


class Conversation:
    """The messages of one session.

    Attributes:
        system: the agent's own system text, or None.
        messages: everything since, in order.
    """

    def __init__(self, system: str | None = None) -> None:
        self.system = system
        self.messages: list[Message] = []

    def add_user(self, text: str, context: Iterable[Context] = ()) -> None:
        """A user's message, the texts of plugins beside it. Two in a row become one: not every model takes them apart."""
        text = _joined(text, context)
        last = self.messages[-1] if self.messages else None
        if last is not None and last.role == "user":
            self.messages[-1] = msgspec.structs.replace(last, content=f"{last.content}\n\n{text}")
        else:
            self.messages.append(Message(role="user", content=text))

    def add_injected(self, injected: Sequence[Context]) -> None:
        """Texts that plugins have injected, in the user's role."""
        if injected:
            self.add_user("\n\n".join(context.labelled() for context in injected))

    def add_answer(self, answer: Message) -> None:
        """What the model said."""
        self.messages.append(answer)

    def add_results(self, calls: Sequence[ToolCallRequest], texts: Sequence[str | None]) -> None:
        """What the calls of the last answer came to, in their order; None is one that was interrupted."""
        for call, text in zip(calls, texts, strict=True):
            self.messages.append(Message(role="tool", content=INTERRUPTED if text is None else text, call_id=call.call_id))

    def for_model(self, session_context: Sequence[Context]) -> list[Message]:
        """The whole conversation, begun by the system text: the agent's, and the plugins' from the start of the session."""
        system = _joined(self.system or "", session_context)
        return [Message(role="system", content=system), *self.messages] if system else list(self.messages)


def with_context(messages: Sequence[Message], context: Sequence[Context]) -> list[Message]:
    """`messages` with texts of plugins at the last user's message, for one call only."""
    messages = list(messages)
    if not context:
        return messages
    for at in range(len(messages) - 1, -1, -1):
        if messages[at].role == "user":
            messages[at] = msgspec.structs.replace(messages[at], content=_joined(messages[at].content or "", context))
            return messages
    return [*messages, Message(role="user", content=_joined("", context))]


def _joined(text: str, context: Iterable[Context]) -> str:
    return "\n\n".join(part for part in (text, *(each.labelled() for each in context)) if part)
