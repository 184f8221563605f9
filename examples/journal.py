#!/usr/bin/env python3
"""A journal: writes a line about each turn to its log, and one about each session to a file."""

import json
from dataclasses import dataclass

from sliphook_sdk import Context, Plugin
from sliphook_sdk.protocol.payloads import PostToolCall, SessionEnd, TurnEnd


@dataclass
class Counts:
    """What happened in one session so far."""

    tools: int = 0
    failed: int = 0
    interrupts: int = 0


plugin = Plugin(
    "journal", version="1.0.0", description="Keeps a journal of sessions.", sessions=Counts
)


@plugin.on("post_tool_call")
def tool_ended(call: PostToolCall) -> None:
    counts = plugin.sessions[call.session_id]
    counts.tools += 1
    counts.failed += call.status == "error"


@plugin.on("turn_end")
def turn_ended(turn: TurnEnd, *, ctx: Context) -> None:
    plugin.sessions[turn.session_id].interrupts += turn.interrupt_count
    ctx.log(
        "info", f"a turn ended: {turn.outcome}", turn_id=turn.turn_id, model_calls=turn.model_calls
    )


@plugin.on("session_end")
def session_ended(end: SessionEnd, *, ctx: Context) -> None:
    counts = plugin.sessions[end.session_id]
    line = {
        "session": end.session_id,
        "ended": end.time,
        "reason": end.reason,
        "turns": end.turns,
        **counts.__dict__,
    }
    with (ctx.data_dir / "journal.jsonl").open("a", encoding="utf-8") as journal:
        journal.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    plugin.run()
