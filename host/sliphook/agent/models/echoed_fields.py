"""Pure: fields of an answer that some servers want back with its tool calls.

These are the reasoning before the calls, and signatures of it. DeepSeek, Google and others refuse a
conversation without them. They mean nothing to plugins or other servers, so they are no part of a
message: the client keeps them beside the conversation, by the ids of the calls.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from sliphook_sdk.protocol import Message

MAX_KEPT: Final = 500
"""Calls whose fields are kept; the oldest are dropped first."""
MAX_KEPT_CHARS: Final = 16 * 1024 * 1024
"""The characters of all answers whose fields are kept."""

UNSIGNED: Final = {"google": {"thought_signature": "skip_thought_signature_validator"}}
"""Google takes this as the signature of a call that has none.

Another model made the call, or this process did not see the answer. Google documents the value, as
a last resort, at https://ai.google.dev/gemini-api/docs/thought-signatures#faqs (cited on 2026-01-12
in github.com/jeremychone/rust-genai/pull/115, and tried with a live model on 2026-05-22 in
github.com/vercel/ai/pull/15560).
"""


class EchoedFields(msgspec.Struct, frozen=True, kw_only=True):
    """The fields to send back with one answer.

    Attributes:
        fields: fields of the message, by the server's names.
        extra_content: the field of that name of each call, by the call's id.
        unsigned: the same for calls that are not in `extra_content`; None sends nothing.
        chars: how much the fields hold, at most.
    """

    fields: dict[str, Any] = {}
    extra_content: dict[str, Any] = {}
    unsigned: Any = None
    chars: int = 0


NOTHING: Final = EchoedFields()


class EchoedFieldStore:
    """The fields that came with the answers of one server."""

    def __init__(self) -> None:
        self._by_call: OrderedDict[str, tuple[EchoedFields, int]] = OrderedDict()
        self._fill_in = NOTHING
        self._chars = 0

    def keep(self, call_ids: Iterable[str], echoed: EchoedFields) -> None:
        """Keep what came with an answer that has these calls."""
        if not echoed.fields and not echoed.extra_content:
            return
        ids = list(call_ids)
        for call_id in ids:
            # the calls of an answer share its fields, and are dropped one after another
            chars = echoed.chars // len(ids)
            self._by_call[call_id] = echoed, chars
            self._chars += chars
        while len(self._by_call) > MAX_KEPT or self._chars > MAX_KEPT_CHARS:
            _, (_, chars) = self._by_call.popitem(last=False)
            self._chars -= chars

    def of(self, message: Message) -> EchoedFields:
        """The fields to send with a message that calls tools."""
        calls = message.tool_calls or []
        found = [self._by_call[call.call_id][0] for call in calls if call.call_id in self._by_call]
        # all calls of one answer have the same fields, so the first that is known will do
        return found[0] if found else self._fill_in

    def learn(self, refusal: str) -> bool:
        """Learn from a refusal what to send for calls whose fields are not known.

        Returns:
            Whether the refusal names a missing field and the request is worth repeating.
        """
        # the filler was sent and refused too: another request would fail in the same way
        if self._fill_in != NOTHING:
            return False
        if "reasoning_content" in refusal:
            self._fill_in = EchoedFields(fields={"reasoning_content": ""})
        elif "thought_signature" in refusal:
            self._fill_in = EchoedFields(unsigned=UNSIGNED)
        return self._fill_in != NOTHING
