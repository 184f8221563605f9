"""Pure: what installed plugins need of an agent, and what of it the agent cannot give."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

import msgspec

from sliphook_sdk.protocol import CATALOGUE, Manifest, Subscription

from .dialect import Dialect, DialectEntry

_OF_SESSIONS: Final = frozenset({"session_start", "session_reset", "session_end"})
_CALLS: Final = (("pre_tool_call", "post_tool_call"), ("subagent_start", "subagent_stop"))
"""What begins and ends: an end of which no beginning is told could not be fired, and a call is held
open until its end is told."""


class Unaskable(msgspec.Struct, frozen=True, kw_only=True):
    """A guard that this agent could never ask, or whose deny it would not take.

    Attributes:
        plugin: its name.
        entry: the hook that its closed subscription names.
        why: a sentence.
    """

    plugin: str
    entry: str
    why: str


def unaskable(dialect: Dialect, manifests: Collection[Manifest]) -> list[Unaskable]:
    """Every closed subscription that would only look as if it guarded, once for each entry."""
    found: dict[tuple[str, str], Unaskable] = {}
    for manifest, subscription in _subscriptions(manifests):
        why = _why_not_closed(dialect, subscription)
        if why is not None and _is_closed(subscription):
            key = (manifest.name, subscription.event)
            found[key] = Unaskable(plugin=key[0], entry=key[1], why=why)
    return list(found.values())


def events_to_write(
    dialect: Dialect, manifests: Collection[Manifest], *, serves: bool = False
) -> tuple[str, ...]:
    """The agent's events for which hooks are needed, in the order of the dialect's readers.

    These are the events of each entry that is subscribed to, those of its pair, and those that say
    when sessions and turns begin and end. Empty if the agent has no use for these plugins.

    Args:
        dialect: the agent's.
        manifests: of the plugins.
        serves: the plugins' tools are served there, in its sessions and turns.
    """
    wanted = {
        subscription.event
        for _, subscription in _subscriptions(manifests)
        if subscription.event in CATALOGUE and dialect.entry(subscription.event).how != "impossible"
    }
    if serves:
        wanted |= {"turn_start", "turn_end"}
    if not wanted:
        return ()
    if not wanted <= _OF_SESSIONS:
        wanted |= {"turn_start", "turn_end", "agent_loop_stopped"}
    for begin, end in _CALLS:
        if begin in wanted or end in wanted:
            wanted |= {begin, end}
    needed = set(dialect.life)
    for ours in wanted:
        needed.update(dialect.entry(ours).theirs)
    if not wanted <= _OF_SESSIONS:
        needed.update(dialect.turns)
    return tuple(event for event in dialect.readers if event in needed)


def inexact(dialect: Dialect, manifests: Collection[Manifest]) -> list[DialectEntry]:
    """The entries that are subscribed to and are not in this agent as the catalogue says."""
    wanted = {subscription.event for _, subscription in _subscriptions(manifests)}
    return [one for one in dialect.entries if one.ours in wanted and one.how != "exact"]


def guarding(dialect: Dialect, manifests: Collection[Manifest]) -> tuple[str, ...]:
    """The agent's events whose hooks have to deny if no plugin can be asked."""
    closed: set[str] = set()
    for _, subscription in _subscriptions(manifests):
        if _is_closed(subscription) and _why_not_closed(dialect, subscription) is None:
            closed.update(dialect.entry(subscription.event).theirs)
    return tuple(event for event in dialect.guards if event in closed)


def _subscriptions(manifests: Collection[Manifest]) -> Iterator[tuple[Manifest, Subscription]]:
    for manifest in manifests:
        for subscription in manifest.subscriptions or ():
            yield manifest, subscription


def _is_closed(subscription: Subscription) -> bool:
    entry = CATALOGUE.get(subscription.event)
    if entry is None or (subscription.mode or entry.kind) == "event":
        return False
    return (subscription.on_failure or entry.on_failure) == "closed"


def _why_not_closed(dialect: Dialect, subscription: Subscription) -> str | None:
    if subscription.event not in CATALOGUE:
        return None
    entry = dialect.entry(subscription.event)
    if entry.how == "impossible":
        return entry.limits
    deny = entry.answers.get("deny")
    return deny.limits if deny is not None and deny.how == "impossible" else None
