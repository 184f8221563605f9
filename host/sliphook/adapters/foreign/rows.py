"""Pure: which of our hooks and events a configuration needs, and how it subscribes to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from sliphook.adapters.dialects.hosted.handler import Handler
from sliphook.adapters.dialects.hosted.hosted import TOOL_NAMES, Hosted, HostedEvent
from sliphook.adapters.dialects.hosted.matchers import Matcher, matcher
from sliphook.adapters.dialects.hosted.toolmap import ToolMap
from sliphook_sdk.protocol import CATALOGUE, OnFailure
from sliphook_sdk.protocol.limits import MAX_TIMEOUT_S
from sliphook_sdk.protocol.patterns.domains import FOREIGN_IN_TOOLS

GRACE_S: Final = 5.0
"""What an answer may take longer than its commands."""
_OF_TOOLS: Final = ("pre_tool_call", "post_tool_call")
_MOST_PATTERNS: Final = 100
_MOST_PATTERN_CHARS: Final = 2_000
"""Of one entry; with more it is asked about every tool, so that no manifest has too many."""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One of their events with its hooks, each with its matcher."""

    event: HostedEvent
    hooks: tuple[tuple[Handler, Matcher], ...]


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of ours that the plugin subscribes to.

    Attributes:
        ours: its name.
        rows: what is run, in order; none: the plugin only listens.
        matches: the `match` of each subscription, in order; None: everything.
        asked: it answers.
        on_failure: of its subscriptions.
        timeout_s: of its subscriptions.
        include: heavy fields.
    """

    ours: str
    rows: tuple[Row, ...]
    matches: tuple[dict[str, str | list[str]] | None, ...] = (None,)
    asked: bool = False
    on_failure: OnFailure | None = None
    timeout_s: float | None = None
    include: tuple[str, ...] = ()


def rows_of(system: Hosted, handlers: Sequence[Handler]) -> dict[str, tuple[Row, ...]]:
    """The rows that have hooks, by our name of the entry."""
    found: dict[str, list[Row]] = {}
    for event in system.events:
        hooks = [
            (handler, matcher(system.rule, handler.matcher if event.matched else None))
            for handler in handlers
            if handler.event == event.theirs and event.how != "impossible"
        ]
        if hooks:
            hooks.sort(key=lambda one: not one[0].early)
            found.setdefault(event.ours, []).append(Row(event=event, hooks=tuple(hooks)))
    return {ours: tuple(rows) for ours, rows in found.items()}


def wanted(
    system: Hosted, handlers: Sequence[Handler], tools: ToolMap, *, transcript: bool
) -> tuple[Wanted, ...]:
    """Everything that the plugin subscribes to.

    Args:
        system: whose hooks they are.
        handlers: the hooks.
        tools: what our tools are called there.
        transcript: hooks read a transcript.
    """
    rows = rows_of(system, handlers)
    entries = [_asked(system, ours, of, tools) for ours, of in rows.items()]
    for ours in sorted(_listened(system, rows, transcript)):
        if not any(one.ours == ours and one.matches == (None,) for one in entries):
            include = ("response",) if ours == "post_llm_call" else ()
            entries.append(Wanted(ours=ours, rows=(), include=include))
    return tuple(entries)


def _asked(system: Hosted, ours: str, rows: tuple[Row, ...], tools: ToolMap) -> Wanted:
    entry = CATALOGUE[ours]
    if entry.kind == "event":
        include = ("response",) if "response" in entry.heavy else ()
        return Wanted(ours=ours, rows=rows, include=include)
    closed = "deny" in entry.decisions and any(row.event.blocks for row in rows)
    include = ("messages",) if ours == "pre_llm_call" and _reads_messages(rows) else ()
    return Wanted(
        ours=ours,
        rows=rows,
        matches=_matches(ours, rows, tools),
        asked=True,
        on_failure="closed" if closed else "open" if entry.on_failure is not None else None,
        timeout_s=_timeout_s(system, rows),
        include=include,
    )


def _reads_messages(rows: tuple[Row, ...]) -> bool:
    return any({"messages", "llm_request"} & set(row.event.fields) for row in rows)


def _timeout_s(system: Hosted, rows: tuple[Row, ...]) -> float:
    total = 0.0
    for row in rows:
        times = [handler.timeout_s for handler, _ in row.hooks if not handler.background]
        in_turn = system.sequential or row.event.sequential or _is_sequential(row)
        total += (sum if in_turn else max)(times or [0.0])
    return min(total + GRACE_S, MAX_TIMEOUT_S)


def _is_sequential(row: Row) -> bool:
    return any(handler.sequential for handler, _ in row.hooks)


def _matches(
    ours: str, rows: tuple[Row, ...], tools: ToolMap
) -> tuple[dict[str, str | list[str]] | None, ...]:
    """What narrows the subscriptions, so that the host does not ask about other tools."""
    if ours not in _OF_TOOLS:
        return (None,)
    globs: dict[str, None] = {}
    for row in rows:
        for _, one in row.hooks:
            if row.event.matched not in TOOL_NAMES or one.globs is None:
                return (None,)
            globs |= dict.fromkeys(one.globs)
    reached = tools.reach(tuple(globs))
    patterns: dict[str, list[str]] = {
        "tool_name": list(dict.fromkeys(map(_pattern, (*globs, *reached.names)))),
        "tool_kind": [*reached.kinds],
        "origin": list(reached.origins),
    }
    of_servers = list(map(_pattern, reached.of_servers))
    every = [pattern for of_field in (*patterns.values(), of_servers) for pattern in of_field]
    if len(every) > _MOST_PATTERNS or sum(map(len, every)) > _MOST_PATTERN_CHARS:
        return (None,)
    both = {"tool_kind": ["mcp"], "tool_name": of_servers}
    narrow = [{field: of_field} for field, of_field in patterns.items() if of_field]
    # first: of names alone one might leave it nothing, which is an error in a manifest
    return tuple(dict[str, str | list[str]](one) for one in ([both] if of_servers else []) + narrow)


def _pattern(name: str) -> str:
    """A name as `match` may have it: a character that no pattern may have is any one."""
    for foreign in FOREIGN_IN_TOOLS:
        name = name.replace(foreign, f"?{foreign[1:]}")
    return name


def _listened(system: Hosted, rows: dict[str, tuple[Row, ...]], transcript: bool) -> set[str]:
    """The entries that the plugin has to know of to tell what their hooks read."""
    needs = {"session_end"} if rows else set[str]()
    for ours, of in rows.items():
        fields = {field for row in of for field in row.event.fields}
        if "last_user_message" in fields or (ours == "stop" and "prompt" in fields):
            needs.add("user_prompt_submit")
        if {"turn", "total_turns"} & fields:
            needs.add("turn_start")
        if ours.startswith("user_input") and {"tool_name", "toolName"} & fields:
            needs.add("pre_tool_call")
        if "description" in fields:
            needs.add("subagent_start")
    if "model" in system.common and rows:
        needs.add("session_start")
    if transcript:
        needs |= {"user_prompt_submit", "post_llm_call", "post_tool_call"}
    return needs
