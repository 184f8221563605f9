"""The subscriptions of a manifest, from a plugin's handlers of hooks and events."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from sliphook_sdk.protocol import Subscription
from sliphook_sdk.protocol.patterns.reach import Order, TooManySteps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .handlers import HookHandler


def check_reachable(handler: HookHandler, earlier: Sequence[HookHandler]) -> None:
    """Check that earlier handlers do not take everything that this one would be asked.

    Raises:
        RegistrationError: they do; only the first handler that fits is asked.
    """
    rivals = [other for other in earlier if other.asked and other.entry is handler.entry]
    if not handler.asked or not rivals:
        return
    order = Order(handler.entry, [other.claim for other in (*rivals, handler)])
    try:
        by = order.in_the_way(len(rivals))
    except TooManySteps:
        return  # the host refuses it if it fails closed
    if by is not None:
        other = rivals[by]
        raise handler.wrong(
            "would never be asked: all that it matches goes to those before it, "
            f"such as {other.name}() at {other.where}"
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
