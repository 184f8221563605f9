"""A stand-in for a model: it answers from a script or, without one, by a few fixed rules.

It needs no network and no key.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, Final, cast

import trio

from sliphook_sdk.protocol import Message, ModelTool

from .base import Finish, ModelError, Piece, TextDelta, ToolCall, read_call
from .request import as_text
from .script import ScriptedCall, ScriptedReply, load_script


class ScriptedModel:
    """A model that answers from replies, one for each attempt, or by `improvise`.

    Attributes:
        name: `scripted`, or the name of the script.
        provider: `scripted`.
        attempts: how many answers were requested.
    """

    def __init__(
        self, replies: Sequence[ScriptedReply] | None = None, *, name: str = "scripted"
    ) -> None:
        """Answer with the replies in their order; None improvises."""
        self.name = name
        self.provider = "scripted"
        self.attempts = 0
        self._replies = replies

    @classmethod
    def from_file(cls, path: Path) -> ScriptedModel:
        """The model that a script file describes.

        Raises:
            ScriptError: the file cannot be read or is no script. The fault of its author.
        """
        return cls(load_script(path), name=path.name)

    @asynccontextmanager
    async def stream(
        self,
        messages: Sequence[Message],
        tools: Sequence[ModelTool],
        *,
        model: str | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> AsyncGenerator[AsyncIterator[Piece]]:
        """See `Model.stream`; another model's name and parameters have no effect."""
        self.attempts += 1
        reply = improvise(messages, tools) if self._replies is None else self._reply(self._replies)
        async with aclosing(_perform(reply, f"call_{self.attempts}", self.name)) as pieces:
            yield pieces

    async def aclose(self) -> None:
        """See `Model.aclose`: there is nothing to close."""

    def _reply(self, replies: Sequence[ScriptedReply]) -> ScriptedReply:
        if self.attempts > len(replies):
            raise ModelError(
                "malformed",
                f"the script {self.name} has no reply for call {self.attempts}; add one",
            )
        return replies[self.attempts - 1]


async def _perform(reply: ScriptedReply, call_id: str, model: str) -> AsyncGenerator[Piece]:
    """Play `reply`; calls without an id get one that begins with `call_id`."""
    await trio.sleep(reply.wait_s or 0.0)
    text = reply.text or ""
    words = re.findall(r"^\s+|\S+\s*", text) if reply.over_s else [text] if text else []
    for word in words:
        yield TextDelta(word)
        await trio.sleep((reply.over_s or 0.0) / len(words))
    if reply.fail is not None:
        raise reply.fail.error()
    for number, call in enumerate(reply.calls, 1):
        yield _call(call, call.call_id or f"{call_id}_{number}")
    yield Finish(
        reason=reply.finish_reason or ("tool_calls" if reply.calls else "stop"),
        usage=reply.usage,
        model=model,
    )


def _call(call: ScriptedCall, call_id: str) -> ToolCall:
    if isinstance(call.arguments, str):
        return read_call(call_id, call.name, call.arguments)
    return ToolCall(call_id=call_id, name=call.name, arguments=call.arguments)


_DIRECTIVE: Final = re.compile(r"\b(TOOL|[Cc]all) ([A-Za-z0-9_-]{1,64})")


def improvise(messages: Sequence[Message], tools: Sequence[ModelTool]) -> ScriptedReply:
    """The answer of the model that has no script: the calls that the prompt spells out, or a text.

    `TOOL name {json}` calls that tool; `call name {json}` does so if the tool is on offer. Several
    tools are called one after the other.
    """
    asked = max((at for at, message in enumerate(messages) if message.role == "user"), default=-1)
    prompt = (messages[asked].content or "") if asked >= 0 else ""
    since = messages[asked + 1 :]
    wanted = list(_directives(prompt, {tool.name for tool in tools}))
    called = sum(len(message.tool_calls or ()) for message in since)
    if called < len(wanted):
        return ScriptedReply(calls=[wanted[called]])
    results = [as_text(message) for message in since if message.role == "tool"]
    if results:
        return ScriptedReply(
            text="\n".join(
                f"{call.name}: {result}" for call, result in zip(wanted, results, strict=False)
            )
        )
    system = [message.content or "" for message in messages if message.role == "system"]
    return ScriptedReply(text=_greeting("\n".join(system), prompt, tools))


def _directives(prompt: str, on_offer: set[str]) -> Iterator[ScriptedCall]:
    """The calls that a prompt spells out.

    Arguments that begin like JSON but are none are passed on as they stand, to the line's end.
    """
    at = 0
    while (match := _DIRECTIVE.search(prompt, at)) is not None:
        at = match.end()
        word, name = match.groups()
        if word != "TOOL" and name not in on_offer:
            continue
        rest = prompt[at:].lstrip(" ")
        if not rest.startswith("{"):
            yield ScriptedCall(name=name)
            continue
        try:
            # `raw_decode` tells where the value ends, so that text may follow
            _, end = json.JSONDecoder().raw_decode(rest)
        except (ValueError, RecursionError):
            end = len(rest.partition("\n")[0])
        yield ScriptedCall(name=name, arguments=rest[:end])
        # go on behind the arguments: they may spell out calls too, for a child agent
        at = len(prompt) - len(rest) + end


def _greeting(system: str, prompt: str, tools: Sequence[ModelTool]) -> str:
    offer = "No tools are on offer; --plugin PATH adds some."
    if tools:
        names = ", ".join(tool.name for tool in tools)
        offer = (
            f"On offer: {names}; --plugin PATH adds more."
            f" Write `TOOL {tools[0].name} {_sample(tools[0])}` and I call it."
        )
    who = "Hello. I am the scripted model: no network, no key, no ideas of my own."
    told = f"\nMy system text: {system}" if system else ""
    return f"{who} {offer}{told}\nYou said: {prompt}"


def _sample(tool: ModelTool) -> str:
    """An example of the arguments that the tool requires."""
    required = tool.input_schema.get("required")  # from a plugin, so it may have any type
    names = cast("list[object]", required) if isinstance(required, list) else []
    return json.dumps({str(name): "..." for name in names})
