"""The subscriptions of a manifest, from a plugin's handlers of hooks and events."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from sliphook_sdk.protocol import Subscription

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .handlers import HookHandler


def check_reachable(handler: HookHandler, earlier: Sequence[HookHandler]) -> None:
    """Check that an earlier handler does not take everything that this one would be asked.

    Raises:
        RegistrationError: one does; only the first handler that fits is asked.
    """
    for other in earlier:
        if other.asked and handler.asked and other.entry is handler.entry and other.covers(handler):
            raise handler.wrong(
                f"would never be asked: {other.name}() at {other.where} takes every "
                f"{handler.entry.name}"
            )


def subscriptions_of(hooks: Sequence[HookHandler], *, session_end: bool) -> list[Subscription]:
    """The subscriptions of the handlers, in their order, without repetitions.

    Args:
        hooks: the handlers.
        session_end: the plugin must be told of the end of every session, even if no handler is.
    """
    found: list[Subscription] = []
    for handler in hooks:
        subscription = handler.subscription
        if not handler.asked:
            # one message tells all handlers of an event, so it has the fields that any of them
            # includes
            included = {
                field
                for other in hooks
                if other.entry is handler.entry and not other.asked
                for field in other.subscription.include or ()
            }
            subscription = msgspec.structs.replace(subscription, include=sorted(included) or None)
        if subscription not in found:
            found.append(subscription)
    if session_end and not any(_is_told_every_end(handler) for handler in hooks):
        found.append(Subscription(event="session_end"))
    return found


def _is_told_every_end(handler: HookHandler) -> bool:
    return handler.entry.name == "session_end" and not handler.subscription.match
