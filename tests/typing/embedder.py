"""A program that embeds the host: mypy and pyright must find its types in the installed wheels.

It is checked, not run.
"""

from __future__ import annotations

from pathlib import Path

import trio

from sliphook import PluginHost, PluginSpec, Session, Turn
from sliphook_sdk.protocol import Message, ModelRoute, ModelTool, ToolResult, Usage


async def shell(arguments: dict[str, object]) -> ToolResult:
    return ToolResult(content=f"ran {arguments['command']}")


async def one_turn(host: PluginHost, turn: Turn) -> str:
    prompt = await turn.submit()
    if prompt.denied:
        turn.finish("denied")
        return prompt.reason
    tools = [
        ModelTool(name=offer.name, description=offer.description, input_schema=offer.input_schema)
        for offer in host.tools()
    ]
    gate = await turn.pre_llm_call(
        provider=None,
        model="small",
        messages=[Message(role="user", content=prompt.text)],
        tools=tools,
        route=ModelRoute(provider="openai"),
        on_text=print,
    )
    if gate.denied:
        return gate.reason
    key: str | None = gate.api_key
    print(gate.route, gate.routed_by, key is not None, gate.shown)
    response = gate.substitute or Message(role="assistant", content="done")
    turn.post_llm_call(
        provider=None,
        model=gate.model,
        response=response,
        finish_reason="stop",
        usage=Usage(),
        duration_ms=1.5,
        substituted_by=gate.substituted_by,
    )
    outcome = await turn.call_tool("shell", {"command": "ls"}, run=shell)
    following = await turn.stop()
    return following or f"{outcome.status}: {outcome.text()}"


async def converse(host: PluginHost, session: Session) -> None:
    for context in await session.ready():
        print(context.plugin, context.labelled())
    async with session.turn("tidy up") as turn:
        print(await one_turn(host, turn))
    interrupted: bool = session.interrupt("user_stop", "stop_command")
    print(interrupted)


async def main() -> None:
    plugins: list[PluginSpec | str | Path] = [
        "./guard.py",
        PluginSpec(path=Path("deploy"), config={"strict": True}),
    ]
    async with PluginHost(plugins) as host, host.session(session_key="main", cwd="/tmp") as session:
        for status in host.plugins:
            print(status.name, status.state, status.why or "")
        await converse(host, session)


if __name__ == "__main__":
    trio.run(main)
