"""Many sessions of another agent in one daemon, at work, that are over in the same moment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import trio

from tests.adapters.attached.in_process import ask_all, daemon
from tests.heartbeat import unmeasured
from tests.programs import EVERYTHING
from tests.torture.case import Case, Workshop, nothing, python
from tests.torture.stage import make_all

SESSIONS = 250
PLUGINS = 10


async def _scene(shop: Workshop) -> str:
    hearers = [
        python(
            "greet()\nserve()",
            name=f"hearer{number}",
            subscriptions=[{"event": event, "mode": "event"} for event in EVERYTHING],
        )
        for number in range(PLUGINS)
    ]
    with unmeasured():
        programs = await trio.to_thread.run_sync(lambda: make_all(shop, *hearers))
    # one behind the other: each daemon takes the signals of this process
    await _begin_and_end(programs, by_its_agent=True)
    await _begin_and_end(programs, by_its_agent=False)
    return f"{SESSIONS} sessions are over, twice"


async def _begin_and_end(programs: list[Path], *, by_its_agent: bool) -> None:
    with unmeasured():
        agent = await trio.lowlevel.open_process(["sleep", "600"])
    call = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "t"}
    try:
        async with daemon("claude-code", *programs, to_its_end=True) as path:
            for hooks in (
                _of_each("SessionStart", source="startup"),
                _of_each("UserPromptSubmit", prompt="hello"),
                _of_each("PreToolUse", **call),
            ):
                await ask_all(path, "claude-code", agent.pid, hooks)
            if by_its_agent:
                agent.kill()
            else:
                async with await trio.open_unix_socket(str(path)) as newer:
                    await newer.send_all(b"sliphook 2\n")
    finally:
        agent.kill()
        with trio.CancelScope(shield=True):
            await agent.wait()


def _of_each(event: str, **fields: Any) -> list[tuple[str, dict[str, Any]]]:
    return [
        (event, {"session_id": f"s-{number}", "cwd": "/tmp", **fields})
        for number in range(SESSIONS)
    ]


CASES = (
    Case(
        "attached",
        "hundreds of sessions end at once",
        "their agent may die, or the daemon end",
        nothing,
        scene=_scene,
    ),
)
