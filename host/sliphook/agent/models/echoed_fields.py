"""What some servers want back with the tool calls of their answers: the reasoning before them, and signatures of it.

DeepSeek, Google and others refuse a conversation in which it is missing. It means nothing to
anybody else, so it is no part of a message: it is kept beside the conversation, by the ids of the
calls.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from sliphook_sdk.protocol import Message

MAX_KEPT: Final = 500
"""Calls of which something is kept; the oldest go first."""

UNSIGNED: Final = {"google": {"thought_signature": "skip_thought_signature_validator"}}
"""What Google takes for a call of which there is no signature: it was made by another model, or before the agent was started anew."""


class EchoedFields(msgspec.Struct, frozen=True, kw_only=True):
    """What belongs to one answer.

    Attributes:
        fields: of the message, as the server named them.
        extra_content: of each call, by its id.
        unsigned: the same for all other calls.
    """

    fields: dict[str, Any] = {}
    extra_content: dict[str, Any] = {}
    unsigned: Any = None


NOTHING: Final = EchoedFields()


class EchoedFieldStore:
    """What has been kept of the answers of one server."""

    def __init__(self) -> None:
        self._by_call: OrderedDict[str, EchoedFields] = OrderedDict()
        self._fill_in = NOTHING

    def keep(self, call_ids: Iterable[str], keepsake: EchoedFields) -> None:
        """Keep what came with an answer."""
        if keepsake == NOTHING:
            return
        for call_id in call_ids:
            self._by_call[call_id] = keepsake
        while len(self._by_call) > MAX_KEPT:
            self._by_call.popitem(last=False)

    def of(self, message: Message) -> EchoedFields:
        """What is to be sent with a message that calls tools."""
        calls = message.tool_calls or []
        found = [self._by_call[call.call_id] for call in calls if call.call_id in self._by_call]
        return found[0] if found else self._fill_in

    def learn(self, refusal: str) -> bool:
        """See whether a refusal says that something is missing; then calls of which nothing was kept get what is taken in its place."""
        if self._fill_in != NOTHING:
            return False
        if "reasoning_content" in refusal:
            self._fill_in = EchoedFields(fields={"reasoning_content": ""})
        elif "thought_signature" in refusal:
            self._fill_in = EchoedFields(unsigned=UNSIGNED)
        return self._fill_in != NOTHING
