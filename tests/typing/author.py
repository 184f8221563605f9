"""A plugin with types: mypy and pyright must find those of the SDK in the installed wheel.

It is checked, not run.
"""

from __future__ import annotations

from sliphook_sdk import (
    Answer,
    AsyncContext,
    Context,
    Disabled,
    LifeContext,
    ModelRoute,
    Plugin,
    deny,
    disabled,
    replace,
)
from sliphook_sdk.protocol.payloads import PreLlmCall, PreToolCall, TurnEnd, UserPromptSubmit

plugin = Plugin("guard", version="1.0.0", uses=["notify"])


@plugin.hook("pre_tool_call", match={"tool_name": ["shell"]}, on_failure="closed")
def no_rm(call: PreToolCall) -> Answer | None:
    command: str = call.arguments.get("command", "")
    return deny("deleting whole trees is not for agents") if "rm -rf" in command else None


@plugin.hook("user_prompt_submit", replaces=True)
async def polite(prompt: UserPromptSubmit) -> Answer:
    return replace(text=f"{prompt.text}, please")


@plugin.hook("pre_llm_call", replaces=True, attempts=True)
def elsewhere(call: PreLlmCall, *, ctx: Context) -> Answer | None:
    if call.failure is not None and call.failure.kind == "connection":
        return None
    if call.route is not None and call.route.provider == "scripted":
        ctx.say("one moment")
    return replace(route=ModelRoute(base_url="http://127.0.0.1:8080/v1"))


@plugin.on("turn_end")
def count(end: TurnEnd) -> None:
    tokens: int | None = end.usage.output_tokens
    print(end.outcome, tokens or 0)


@plugin.tool
async def weather(city: str, *, ctx: AsyncContext) -> str:
    """The weather in a city."""
    ctx.progress("asking", 0.5)
    await ctx.notify("info", f"looking at {city}")
    curl = await ctx.run(["curl", f"https://wttr.in/{city}"], timeout_s=10)
    return curl.stdout if curl.ok else f"{curl.status}: {curl.stderr}"


@plugin.on_start
def begin(*, ctx: LifeContext) -> Disabled | None:
    return disabled("no curl") if ctx.data_dir.name == "" else None


@plugin.on_shutdown
def end() -> None:
    plugin.host.log("info", "good bye")


if __name__ == "__main__":
    plugin.run()
