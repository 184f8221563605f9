"""Whether a message is too large for its method: known once its envelope is read. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from sliphook_sdk.protocol.limits import ERROR_LIMIT, OTHER_LIMIT, message_limit

from . import envelope
from .pieces import Body


class _Call(Protocol):
    method: str


def within_limits(
    body: Body, calls: Mapping[int, _Call], given_up: Mapping[int, _Call]
) -> envelope.Message | envelope.InvalidMessage:
    """The message of `body`, or its refusal if it is over the limit of its method.

    Args:
        body: what came.
        calls: the host's requests under way, by id: a result's limit is that of what was asked.
        given_up: those that may still be answered, too late.
    """
    message = body.message
    if isinstance(message, envelope.InvalidMessage):
        return message
    id: int | str | None = None
    if isinstance(message, envelope.Notification):
        limit = message_limit(message.method)
    elif isinstance(message, envelope.Request):
        limit, id = message_limit(message.method), message.id
    else:
        id = message.id
        call = (calls.get(id) or given_up.get(id)) if isinstance(id, int) else None
        limit = ERROR_LIMIT if message.error is not None else OTHER_LIMIT
        if call is not None and message.error is None:
            limit = message_limit(call.method)
    why = limit.why_not(body.size, body.values)
    if why is None:
        return message
    return envelope.OverLimit(why, id, is_reply=isinstance(message, envelope.Reply))
