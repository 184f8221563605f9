"""The grammar of hooks and events, checked on what one plugin that hears everything was sent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

PAIRS = (
    ("session_start", "session_end", "session_id"),
    ("turn_start", "turn_end", "turn_id"),
    ("pre_tool_call", "post_tool_call", "call_id"),
    ("subagent_start", "subagent_stop", "child_agent_id"),
)


def check_pairs(
    fired: Sequence[dict[str, Any]],
    *,
    gapless: bool = True,
    unread: bool = False,
    nested: bool = True,
) -> None:
    """Check one session's hooks and events, in the order of their arrival.

    Args:
        fired: the messages.
        gapless: nothing was withdrawn before it was written, so every `seq` was heard.
        unread: requests may have been withdrawn unwritten, so what opens a pair may be missing;
            what closes it never is.
        nested: no child works in the background, so each ends before its parent's turn.
    """
    names = [message["method"].partition("/")[2] for message in fired]
    params = [message["params"] for message in fired]
    seqs = [one["seq"] for one in params]
    # the user is told of a thing when it happens: a hook may still be on its way then
    steady = [one["seq"] for name, one in zip(names, params, strict=True) if name != "notification"]
    assert steady == sorted(set(steady)), (
        f"seq does not rise: {list(zip(seqs, names, strict=True))}"
    )
    if gapless:
        assert sorted(seqs) == list(range(1, len(seqs) + 1)), (
            f"seq has gaps: {list(zip(seqs, names, strict=True))}"
        )
    for opening, closing, key in PAIRS:
        opened = [
            (name, one[key]) for name, one in zip(names, params, strict=True) if name == opening
        ]
        closed = [
            (name, one[key]) for name, one in zip(names, params, strict=True) if name == closing
        ]
        counts = Counter(key for _, key in closed)
        assert set(counts.values()) <= {1}, f"{closing} more than once: {names}"
        if unread:
            assert {key for _, key in opened} <= set(counts), (
                f"{opening} without {closing}: {names}"
            )
        else:
            assert Counter(key for _, key in opened) == counts, (
                f"{opening} and {closing} do not pair: {names}"
            )
    _check_order(names, params, nested)


def _check_order(names: Sequence[str], params: Sequence[dict[str, Any]], nested: bool) -> None:
    open_turns: list[str] = []
    ended: set[str] = set()
    open_tools: set[str] = set()
    for name, one in zip(names, params, strict=True):
        turn_id = one["turn_id"]
        if name == "turn_start":
            open_turns.append(turn_id)
            continue
        assert turn_id not in ended, f"{name} after the turn_end of its turn: {names}"
        if turn_id is not None:
            assert turn_id in open_turns, f"{name} before the turn_start of its turn: {names}"
        if name == "pre_tool_call":
            open_tools.add(one["call_id"])
        elif name == "post_tool_call":
            open_tools.discard(one["call_id"])
        elif name == "turn_end":
            assert turn_id is not None
            assert not nested or open_turns[-1] == turn_id, (
                f"a turn ended before its child: {names}"
            )
            assert not open_tools or one["agent_depth"] > 0, (
                f"turn_end before post_tool_call: {names}"
            )
            open_turns.remove(turn_id)
            ended.add(turn_id)
        elif name == "session_end":
            assert open_turns == [], f"session_end before turn_end: {names}"
    assert open_turns == []
    if "session_end" in names:
        assert names[-1] == "session_end", f"something after session_end: {names}"
