"""What an author may get wrong: mypy and pyright find an error on each line that is marked.

It is checked, not run, by tests/typing/test_wrong_uses.py.
"""

from __future__ import annotations

from sliphook_sdk import (
    Answer,
    AsyncContext,
    Context,
    LifeContext,
    Plugin,
    allow,
    ask,
    context,
    continue_with,
    deny,
    replace,
    substitute,
)
from sliphook_sdk.protocol.answers import (
    PostToolCallAnswer,
    PreLlmCallReplacement,
    PreToolCallAnswer,
    PreToolCallReplacement,
    StopAnswer,
    UserPromptSubmitAnswer,
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
from sliphook_sdk.testing import Harness

plugin = Plugin("wrong")


@plugin.hook("pre_tool_cal")  # wrong: a misspelt hook
def misspelt_hook(call: PreToolCall) -> PreToolCallAnswer | None: ...


@plugin.on("turn_ended")  # wrong: a misspelt event
def misspelt_event(end: TurnEnd) -> None: ...


@plugin.hook("turn_end")  # wrong: an event that is asked
def asked_event(end: TurnEnd) -> None: ...


@plugin.hook("stop")  # wrong: the payload of another hook
def other_payload(call: PreToolCall) -> StopAnswer | None: ...


@plugin.on("turn_end")  # wrong: the payload of another event
async def other_event(end: Stop) -> None: ...


@plugin.hook("stop")
def other_field(stop: Stop) -> StopAnswer | None:
    return continue_with(stop.tool_name)  # wrong: a field of another payload


@plugin.hook("stop")
def no_deny(stop: Stop) -> StopAnswer | None:
    return deny("no")  # wrong: a deny where nothing can be denied


@plugin.hook("pre_tool_call")
async def no_continue(call: PreToolCall) -> PreToolCallAnswer:
    return continue_with("go on")  # wrong: continue outside of stop


@plugin.hook("user_prompt_submit")
def no_allow(prompt: UserPromptSubmit) -> UserPromptSubmitAnswer | None:
    return allow() if prompt.text else None  # wrong: an allow where only a deny counts


@plugin.hook("post_tool_call")
def no_ask(call: PostToolCall) -> PostToolCallAnswer | None:
    return ask("sure?")  # wrong: an ask behind the call


@plugin.hook("stop")
def joined(stop: Stop) -> StopAnswer | None:
    return continue_with("go on") | context("so")  # wrong: a joined answer of which half is allowed


@plugin.hook("stop")  # wrong: the answer of another hook
def other_answer(stop: Stop) -> PreToolCallAnswer | None: ...


@plugin.hook("stop")  # wrong: an answer that may say anything
def any_answer(stop: Stop) -> Answer | None:
    return deny("no")


@plugin.hook("pre_tool_call")  # wrong: a text for an answer
def no_answer(call: PreToolCall) -> str:
    return "deny"


@plugin.on("turn_end")  # wrong: an answer to an event
def told(end: TurnEnd) -> PreToolCallAnswer:
    return deny("no")


@plugin.hook("pre_tool_call")  # wrong: a replacement without replaces
def quiet(call: PreToolCall) -> PreToolCallReplacement:
    return replace(arguments={})


@plugin.hook("pre_tool_call", replaces=True)
def other_replacement(call: PreToolCall) -> PreToolCallReplacement:
    return replace(text="x")  # wrong: a replacement of another hook's field


@plugin.hook("user_prompt_submit", replaces=True)
def misspelt_field(prompt: UserPromptSubmit) -> UserPromptSubmitReplacement:
    return replace(txt="x")  # wrong: a replacement of a misspelt field


@plugin.hook("user_prompt_submit", replaces=True)
def other_type(prompt: UserPromptSubmit) -> UserPromptSubmitReplacement:
    return replace(text=1)  # wrong: a replacement of another type


@plugin.hook("pre_llm_call", replaces=True)
def half(call: PreLlmCall) -> PreLlmCallReplacement:
    return substitute(finish_reason="stop")  # wrong: a substitute without its response


@plugin.hook("stop", replaces=True)  # wrong: replaces where nothing can be replaced
def fixed(stop: Stop) -> StopAnswer | None: ...


@plugin.hook("stop", on_failure="closed")  # wrong: closed where nothing can be denied
def closed(stop: Stop) -> StopAnswer | None: ...


@plugin.hook("stop", attempts=True)  # wrong: attempts of what is asked once
def again(stop: Stop) -> StopAnswer | None: ...


@plugin.hook("pre_tool_call", match={"tool": "x"})  # wrong: a match of a misspelt field
def misspelt_match(call: PreToolCall) -> None: ...


@plugin.hook("pre_tool_call", match={"arguments": "x"})  # wrong: a match of what cannot be matched
def free_match(call: PreToolCall) -> None: ...


@plugin.on("pre_llm_call", include=["message"])  # wrong: an include of a misspelt field
def misspelt_include(call: PreLlmCall) -> None: ...


@plugin.hook("stop")  # wrong: the blocking ctx in an async function
async def blocking_ctx(stop: Stop, *, ctx: Context) -> StopAnswer | None: ...


@plugin.on("turn_end")  # wrong: the awaited ctx in a plain function
def awaited_ctx(end: TurnEnd, *, ctx: AsyncContext) -> None: ...


@plugin.hook("stop")  # wrong: a handler with another argument
def two(stop: Stop, more: int) -> StopAnswer | None: ...


class Gates:
    def asks(self, call: PreToolCall) -> StopAnswer | None: ...


plugin.hook("stop")(Gates().asks)  # wrong: a method for another payload


@plugin.command  # wrong: a command that answers a hook
def deploy(text: str) -> PreToolCallAnswer:
    return deny("no")


@plugin.on_start  # wrong: a start that returns a text
def begin(*, ctx: LifeContext) -> str:
    return "no"


Harness(plugin).fire("turn_end")  # wrong: a test that asks an event
