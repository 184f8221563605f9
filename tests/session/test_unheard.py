"""What the trace is told of hooks and events without a subscriber."""

from __future__ import annotations

import msgspec
import trio

from sliphook import PluginHost
from sliphook.testing import FakePlugin
from tests.trace.made import Kept


async def test_the_trace_tells_of_a_turn_that_no_plugin_is_told_of() -> None:
    kept = Kept()
    guard = FakePlugin(
        "guard",
        subscriptions=[{"event": "pre_tool_call", "match": {"tool_name": "shell"}}],
        hears=["turn_start"],
    )
    with trio.fail_after(120):
        async with (
            PluginHost([guard], trace=kept) as host,
            host.session(platform="cli") as session,
            session.turn("hello") as turn,
        ):
            await turn.submit()
            session.interrupt("user_stop", "stop_command")
    unheard = kept.of_kind("unheard")
    assert [(record.method, record.turn_id is not None) for record in unheard] == [
        ("hook/session_start", False),
        ("hook/user_prompt_submit", True),
        ("event/agent_loop_stopped", True),
        ("event/turn_end", True),
        ("event/session_end", False),
    ]
    assert [record.seq for record in unheard] == [1, 3, 4, 5, 6]
    assert {(record.plugin, record.size) for record in unheard} == {("", None)}
    body = msgspec.json.decode(unheard[2].body or b"")
    assert body["method"] == "event/agent_loop_stopped"
    assert body["params"]["reason"] == "user_stop"
    assert body["params"]["invalidation_reason"] == "stop_command"
    assert [record.method for record in kept.records if record.method == "event/turn_start"] == [
        "event/turn_start"
    ]
