"""Programs that embed the host in threads and in asyncio: mypy and pyright must find their types.

They are checked, not run.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from sliphook import (
    ApprovalRequest,
    Context,
    Interruption,
    Override,
    PluginSpec,
    ToolOffer,
    ToolOutcome,
    aio,
    blocking,
)
from sliphook.testing import After, FakePlugin
from sliphook_sdk.protocol import Answer


def shell(arguments: dict[str, object]) -> str:
    return f"ran {arguments['command']}"


async def slow_shell(arguments: dict[str, object]) -> str:
    await asyncio.sleep(1.0)
    return shell(arguments)


def approve(request: ApprovalRequest) -> bool:
    return request.tool_name == "shell"


async def approve_later(request: ApprovalRequest) -> bool:
    await asyncio.sleep(1.0)
    return approve(request)


def in_threads(plugins: list[PluginSpec]) -> None:
    with (
        blocking.PluginHost(plugins, approver=approve, name="agent", timeout_cap_s=2.0) as host,
        host.session(model="m") as session,
    ):
        offers: list[ToolOffer] = host.tools(session.session_id)
        contexts: list[Context] = session.ready()
        print(offers, contexts)
        with session.turn("tidy up", source="command") as turn:
            denied: bool = turn.submit().denied
            outcome: ToolOutcome = turn.call_tool("shell", {"command": "ls"}, run=shell)
            following: str | None = turn.stop()
            print(denied, outcome.text(), following)
            with turn.subagent("look") as child:
                child.summary = "nothing"
        interrupted: bool = session.interrupt("user_stop")
        print(interrupted)


def without_blocks(plugins: list[PluginSpec]) -> None:
    host: blocking.PluginHost = blocking.PluginHost(plugins, open_wait_s=0).enter()
    session: blocking.Session = host.session(on_interrupt=stop).enter()
    turn: blocking.Turn = session.turn("tidy up").enter()
    call: blocking.BegunTool = turn.begin_tool("shell", {"command": "ls"}, tool_kind="shell")
    told: str = turn.tell_question("approval", "Run shell?", call_id=call.call_id)
    print(turn.end_question(told, allowed=True))
    if call.outcome is None:
        outcome: ToolOutcome = call.end(shell(call.arguments))
        print(outcome.error)
    open_turn: blocking.Turn | None = session.open_turn
    heard: bool = host.hears("pre_llm_call", include="messages")
    heard = host.hears("pre_tool_call", closed=True, tool_name="shell", tool_kind=None)
    heard = host.hears("post_tool_call", replaces=True, tool_name="shell")
    print(open_turn, heard)
    turn.leave()
    session.leave()
    host.leave()


def stop(interruption: Interruption) -> None:
    print(interruption.reason)


async def in_asyncio(plugins: list[PluginSpec]) -> None:
    async with (
        aio.PluginHost(plugins, approver=approve_later) as host,
        host.session(model="m") as session,
    ):
        contexts: list[Context] = await session.ready()
        async with session.turn("tidy up") as turn:
            denied: bool = (await turn.submit()).denied
            outcome: ToolOutcome = await turn.call_tool("shell", {"command": "ls"}, run=slow_shell)
            print(contexts, denied, outcome.text())
            call: aio.BegunTool = await turn.begin_tool("shell", {}, origin="mcp:files")
            ended: ToolOutcome = await call.end(error=LookupError("no such file"))
            print(ended.status)
            async with turn.subagent("look", background=True) as child:
                child.summary = "nothing"
        session.reset(session_id="s-2")


def main() -> None:
    spec = PluginSpec(
        path=Path("guard"),
        timeout_cap_s=1.0,
        overrides={"pre_tool_call": Override(on_failure="open", priority=2)},
    )
    fake = FakePlugin(
        "fake", hooks={"stop": After(1.0, Answer(continue_with="go on"))}, tools={"look": "fine"}
    )
    in_threads([spec, fake])
    without_blocks([spec, fake])
    asyncio.run(in_asyncio([spec, fake]))


if __name__ == "__main__":
    main()
