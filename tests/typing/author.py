"""A plugin with types: mypy and pyright must find those of the SDK in the installed wheel.

It is checked, not run.
"""

from __future__ import annotations

from typing import Any

from sliphook_sdk import (
    Answer,
    AsyncContext,
    Context,
    Disabled,
    LifeContext,
    ModelRoute,
    Plugin,
    ToolResult,
    allow,
    ask,
    context,
    continue_with,
    deny,
    disabled,
    replace,
    substitute,
)
from sliphook_sdk.protocol import Message, Payload
from sliphook_sdk.protocol.answers import (
    PostToolCallReplacement,
    PreLlmCallReplacement,
    PreToolCallAnswer,
    PreToolCallReplacement,
    StopAnswer,
    UserPromptSubmitReplacement,
)
from sliphook_sdk.protocol.payloads import (
    PostToolCall,
    PreLlmCall,
    PreToolCall,
    Stop,
    TurnEnd,
    UserPromptSubmit,
)

plugin = Plugin("guard", version="1.0.0", uses=["notify"])


@plugin.hook("pre_tool_call", match={"tool_name": ["shell"]}, on_failure="closed")
def no_rm(call: PreToolCall) -> PreToolCallAnswer | None:
    command: str = call.arguments.get("command", "")
    return deny("deleting whole trees is not for agents") if "rm -rf" in command else None


@plugin.hook("user_prompt_submit", replaces=True)
async def polite(prompt: UserPromptSubmit) -> UserPromptSubmitReplacement:
    return replace(text=f"{prompt.text}, please")


@plugin.hook("pre_llm_call", replaces=True, attempts=True)
def elsewhere(call: PreLlmCall, *, ctx: Context) -> PreLlmCallReplacement | None:
    if call.failure is not None and call.failure.kind == "connection":
        return None
    if call.route is not None and call.route.provider == "scripted":
        ctx.say("one moment")
    return replace(route=ModelRoute(base_url="http://127.0.0.1:8080/v1"))


@plugin.on("turn_end")
def count(end: TurnEnd) -> None:
    tokens: int | None = end.usage.output_tokens
    print(end.outcome, tokens or 0)


@plugin.hook("stop", optional=True)
async def more(stop: Stop, *, ctx: AsyncContext) -> StopAnswer | None:
    ctx.log("info", "again", count=stop.stop_count)
    return continue_with("go on") if stop.stop_count == 0 else None


@plugin.hook("pre_tool_call", match={"tool_kind": ["shell", "mcp"], "origin": "agent"})
def joined(call: PreToolCall, ctx: Context[dict[str, Any]]) -> PreToolCallAnswer:
    answer = ask("sure?") if ctx.config else allow()
    return answer | context(f"{call.tool_name} in a checkout") | context("of git")


@plugin.hook("pre_tool_call", replaces=True)
def one_or_the_other(call: PreToolCall) -> PreToolCallReplacement:
    if call.origin == "agent":
        return replace(arguments={**call.arguments, "dry_run": True}) | allow()
    return substitute(result="nothing" if call.tool_kind == "read" else ToolResult(content=""))


@plugin.hook("pre_llm_call", replaces=True, include=["messages"])
def shorter(call: PreLlmCall) -> PreLlmCallReplacement | None:
    said = Message(role="assistant", content="four")
    if not call.messages:
        return substitute(response=said, usage={"output_tokens": 1})
    return replace(messages=[*call.messages[-3:], {"role": "user", "content": "be brief"}])


@plugin.hook("post_tool_call", replaces=True)
def hidden(call: PostToolCall) -> PostToolCallReplacement | None:
    return replace(result={"content": "hidden"}) if call.result is not None else None


@plugin.hook("stop")
def by_hand(stop: Stop) -> StopAnswer:
    return Answer(continue_with="go on")


@plugin.hook("user_prompt_submit", replaces=True)
def computed(prompt: UserPromptSubmit) -> Any:
    changed: dict[str, Any] = {"text": prompt.text.strip()}
    return Answer(replace=changed)


@plugin.on("turn_end")
@plugin.on("pre_tool_call")
async def journal(payload: Payload, *, ctx: AsyncContext) -> None:
    await ctx.notify("info", payload.session_id)


class Gates:
    def __init__(self, word: str) -> None:
        self.word = word

    def asks(self, call: PreToolCall) -> PreToolCallAnswer | None:
        return deny(self.word) if self.word in str(call.arguments) else None

    async def stops(self, stop: Stop, *, ctx: AsyncContext) -> StopAnswer | None:
        return continue_with(self.word) if ctx.turn_id else None

    def __call__(self, end: TurnEnd) -> None:
        self.word = end.outcome


gates = Gates("secret")
plugin.hook("pre_tool_call", on_failure="closed")(gates.asks)
plugin.hook("stop")(gates.stops)
plugin.on("turn_end")(gates)
answered: PreToolCallAnswer | None = no_rm(PreToolCall.__new__(PreToolCall))


@plugin.command
async def deploys(text: str, *, ctx: AsyncContext) -> str:
    return text.upper() if ctx.cwd else ""


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
