"""Checks of the plugin's tools and commands, with sample values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

import msgspec

from sliphook.plugin.tools import PluginTool
from sliphook.quoting import quote
from sliphook.schemas import PROVIDERS, why_tool_is_refused
from sliphook.session.plugin_calls import COMMAND_RESULT, TOOL_RESULT
from sliphook.wire import envelope
from sliphook.wire.decoding import DECODE_ERRORS
from sliphook.wire.near_misses import is_list_of_blocks
from sliphook_sdk.protocol import (
    CommandRunParams,
    CommandSpec,
    ErrorCode,
    ToolCallParams,
    parts,
)
from sliphook_sdk.protocol.limits import COMMAND_TIMEOUT_S

from . import settling
from .child import Child
from .finding import CheckFailed, Lapse
from .samples import arguments_for, message, sample, wrong_arguments_for
from .session import Bench
from .settling import answer_to, settled_after_cancel

NAME_SAMPLES: Final = (
    "name a sample that the tool takes, as examples in its input_schema:"
    ' "examples": [{"city": "Oslo"}], or likewise in a property'
)

_RETURN_JSON: Final = (
    "return what JSON has: text, true and false, null, lists, objects with texts as keys, and"
    " numbers without NaN and infinity"
)


class ToolRule:
    """One tool, with arguments that fit its schema and with wrong ones."""

    def __init__(self, tool: PluginTool) -> None:
        self.tool = tool

    async def __call__(self, bench: Bench) -> str:
        """Call it: it answers a result. An error breaks no rule, but it was no sample then."""
        arguments = arguments_for(self.tool.input_schema)
        reply, took_s = await self._call(await bench.ready(), arguments, "answer in time")
        refused = why_refused(reply)
        if refused is not None and parts.UNHOLDABLE in refused:
            raise CheckFailed(self._shown(arguments), refused, _RETURN_JSON)
        if refused is not None:
            raise Lapse(self._shown(arguments), refused, NAME_SAMPLES)
        return f"{_tool_note(reply)} in {1000 * took_s:.1f} ms"

    async def wrong(self, bench: Bench) -> str:
        """Call it with wrong arguments: it may refuse them, but must live on."""
        child = await bench.pinged()
        reply, _ = await self._call(
            child,
            wrong_arguments_for(self.tool.input_schema),
            "answer wrong arguments with is_error or an error, and live on",
        )
        await child.ask("ping", {})
        return why_refused(reply) or _tool_note(reply)

    async def cancelled(self, bench: Bench) -> str:
        """Call it and cancel the call: it settles the call."""
        return await settled_after_cancel(
            bench,
            lambda id: self.message(id, arguments_for(self.tool.input_schema)),
            f"tool/call {self.tool.name}",
            self.tool.timeout_s,
        )

    async def _call(
        self, child: Child, arguments: object, advice: str
    ) -> tuple[envelope.Reply, float]:
        """Call it; returns the answer, which is one, and the seconds that it took."""
        shown = self._shown(arguments)
        id = child.next_id()
        await child.write(self.message(id, arguments))
        reply = await answer_to(child, id, self.tool.timeout_s, shown, advice)
        child.near_misses.replied("tool/call", reply)
        _check_result(reply, shown)
        return reply, child.took_s(id)

    def _shown(self, arguments: object) -> str:
        return f"tool/call {self.tool.name} {quote(envelope.encode(arguments), 60)}"

    def message(self, id: int, arguments: object) -> bytes:
        """The request."""
        params = sample(
            ToolCallParams, name=self.tool.name, timeout_s=self.tool.timeout_s, arguments=arguments
        )
        return message("tool/call", params, id)


class CommandRule:
    """One slash command."""

    def __init__(self, command: CommandSpec) -> None:
        self._command = command

    async def __call__(self, bench: Bench) -> str:
        """Run it: it answers a text or an error."""
        child = await bench.ready()
        sent = f"command/run {self._command.name}"
        params = sample(
            CommandRunParams, name=self._command.name, timeout_s=COMMAND_TIMEOUT_S, arguments=""
        )
        reply = await child.ask("command/run", params, settling.LONGEST_S)
        if reply.error is not None:
            return f"answers the error {reply.error.code}: {quote(reply.error.message, 60)}"
        assert reply.result is not None
        try:
            result = COMMAND_RESULT.decode(reply.result)
        except msgspec.DecodeError as error:
            raise CheckFailed(
                sent, quote(bytes(reply.result)), f'answer {{"text": "..."}}: {error}'
            ) from None
        return quote(result.text or "", 60)


async def unknown_tool(bench: Bench) -> str:
    """The plugin answers an error for a tool that it does not have."""
    child = await bench.ready()
    sent = "tool/call of_tomorrow"
    reply = await child.ask(
        "tool/call", sample(ToolCallParams, name="of_tomorrow"), settling.LONGEST_S
    )
    if reply.error is None:
        assert reply.result is not None
        try:
            fields: Any = msgspec.json.decode(reply.result)
        except DECODE_ERRORS:
            fields = None
        if not isinstance(fields, dict) or not cast("dict[str, Any]", fields).get("is_error"):
            raise CheckFailed(
                sent,
                quote(bytes(reply.result)),
                "look at the name; answer an error for one that you do not have",
            )
    return "refused"


async def unknown_command(bench: Bench) -> str:
    """The plugin answers an error for a command that it does not have."""
    child = await bench.ready()
    params = sample(CommandRunParams, name="of_tomorrow")
    reply = await child.ask("command/run", params, settling.LONGEST_S)
    if reply.error is None:
        raise CheckFailed(
            "command/run of_tomorrow",
            quote(bytes(reply.result or b"null")),
            "look at the name; answer an error for one that you do not have",
        )
    return "refused"


def why_refused(reply: envelope.Reply) -> str | None:
    """The error with which a tool answers a call, in words; None for any other answer."""
    if reply.error is not None:
        return f"the error {reply.error.code}: {quote(reply.error.message, 200)}"
    try:
        result = TOOL_RESULT.decode(reply.result or b"null")
    except msgspec.DecodeError:
        return None
    if isinstance(result, str) or not result.is_error:
        return None
    return f"is_error: {quote(result.content, 200)}"


def _check_result(reply: envelope.Reply, sent: str) -> None:
    """Raises CheckFailed if it is no answer to a call of a tool that the plugin has."""
    if reply.error is not None:
        if reply.error.code == int(ErrorCode.METHOD_NOT_FOUND):
            came = f"the error {reply.error.code}: {quote(reply.error.message)}"
            raise CheckFailed(sent, came, "answer tool/call: it is in the manifest")
        return
    assert reply.result is not None
    try:
        result = TOOL_RESULT.decode(reply.result)
    except msgspec.DecodeError as error:
        advice = f'answer {{"content": "..."}} or a bare string: {error}'
        if is_list_of_blocks(reply.result):
            advice = 'give the list as parts: {"content": "a text for people", "parts": [...]}'
        raise CheckFailed(sent, quote(bytes(reply.result)), advice) from None
    unfit = None if isinstance(result, str) else parts.why_not(result.parts)
    if unfit is not None:
        raise CheckFailed(sent, quote(unfit), "give the parts as the section on tool/call has them")


def _tool_note(reply: envelope.Reply) -> str:
    result = TOOL_RESULT.decode(reply.result or b"null")
    if isinstance(result, str):
        return quote(result, 60)
    return quote(parts.in_short(result.content, result.parts or ()), 60)


async def models_take(bench: Bench, *, tools: Sequence[PluginTool]) -> str:
    """No provider of models refuses a request for one of the tools."""
    refused = [
        (tool.name, provider, why)
        for tool in tools
        for provider in PROVIDERS
        if (why := why_tool_is_refused(provider, tool.name, tool.input_schema)) is not None
    ]
    if refused:
        name, provider, why = refused[0]
        others = list(dict.fromkeys(tool for tool, _, _ in refused if tool != name))
        more = f"; likewise {quote(', '.join(others), 200)}" if others else ""
        raise Lapse(
            f"the tool {name} to a model of {provider}",
            f"{provider} would refuse the whole request, so the agent leaves it out: {why}{more}",
            "declare the tool in a form that every provider takes",
        )
    return f"{' and '.join(PROVIDERS)} take the tools"
