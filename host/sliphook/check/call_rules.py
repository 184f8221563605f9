"""Checks of the plugin's hooks, events, tools and commands, with sample values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, cast

import msgspec

from sliphook.dispatch.answers import AnswerError, check_answer, read_answer
from sliphook.plugin.route import Route
from sliphook.plugin.tools import PluginTool
from sliphook.quoting import quote
from sliphook.schemas import PROVIDERS, why_tool_is_refused
from sliphook.session.plugin_calls import COMMAND_RESULT, TOOL_RESULT
from sliphook.wire import envelope
from sliphook.wire.near_misses import is_list_of_blocks
from sliphook_sdk.protocol import (
    CommandRunParams,
    CommandSpec,
    ErrorCode,
    ToolCallParams,
    parts,
)
from sliphook_sdk.protocol.limits import COMMAND_TIMEOUT_S

from .child import Child
from .finding import CheckFailed, Lapse, Skip
from .samples import arguments_for, message, sample, sample_for, wrong_arguments_for
from .session import Bench

CANCEL_S: Final = 1.0
"""How soon a cancelled request must be answered."""

LONGEST_S: Final = 30.0
"""The longest wait for an answer, even if a subscription or a tool asks for more time."""

NAME_SAMPLES: Final = (
    "name a sample that the tool takes, as examples in its input_schema:"
    ' "examples": [{"city": "Oslo"}], or likewise in a property'
)


class HookRule:
    """A subscription in hook mode: its answer is read as the host reads it."""

    def __init__(self, route: Route) -> None:
        self.route = route

    async def __call__(self, bench: Bench) -> str:
        """Fire it with a sample payload that has an unknown field."""
        entry, route = self.route.entry, self.route
        method = f"hook/{entry.name}"
        child = await bench.ready()
        id = child.next_id()
        params = {**self._params(), "of_tomorrow": {"a": 1}}
        await child.write(message(method, params, id))
        reply = await answer_to(child, id, route.timeout_s, method, "answer in time; null abstains")
        if reply.error is not None:
            came = f"the error {reply.error.code}: {quote(reply.error.message)}"
            raise CheckFailed(
                method,
                came,
                "an error is a failed answer (on_failure decides);"
                " ignore unknown fields; null abstains",
            )
        assert reply.result is not None
        try:
            answer = read_answer(reply.result)
            replaced, _ = check_answer(entry, answer, replacing=route.replaces)
            if "route" in replaced and "route" not in bench.declared.uses:
                raise AnswerError("replace.route needs 'route' in the manifest's uses")
        except AnswerError as error:
            raise CheckFailed(method, quote(bytes(reply.result)), str(error)) from None
        how = answer.decision or ("abstains" if answer.abstains else "answers")
        return f"{how} in {1000 * child.took_s(id):.1f} ms{self._guarded()}"

    def _guarded(self) -> str:
        """Which tools a guard is asked about: whether an agent has them is unknown here."""
        names = {
            text
            for pattern in self.route.patterns
            if self.route.guards and pattern.field == "tool_name"
            for text in pattern.texts
        }
        return f"; guards nothing but {', '.join(sorted(names))}" if names else ""

    def message(self, id: int) -> bytes:
        """The request, which the check of a cancel sends."""
        return message(f"hook/{self.route.entry.name}", self._params(), id)

    def message_with(self, text: str) -> Callable[[int], bytes]:
        """The request with a text where users and models write; by its id."""
        params = self._params()
        for field in ("arguments", "text", "last_assistant_message", "goal"):
            if isinstance(params.get(field), str):
                params[field] = text
            elif field == "arguments" and "arguments" in params:
                # for guards, which may quote in their reason what they deny
                params[field] = {"command": f"rm -rf {text}", "path": text}
        return lambda id: message(f"hook/{self.route.entry.name}", params, id)

    def _params(self) -> dict[str, object]:
        payload = msgspec.to_builtins(sample_for(self.route))
        return {**payload, "timeout_s": self.route.timeout_s}


class EventRule:
    """A subscription that gets `event/NAME`: subscribers of a hook must take its event too."""

    def __init__(self, route: Route) -> None:
        self.route = route

    async def __call__(self, bench: Bench) -> str:
        """Send the event; the plugin lives on and sends nothing."""
        child = await bench.pinged()
        method = f"event/{self.route.entry.name}"
        await child.tell(method, sample_for(self.route))
        id = child.next_id()
        await child.write(message("ping", {}, id))
        await child.reply(
            id,
            sent=f"{method}, and a ping behind it",
            advice="take event/NAME for all that you subscribe to",
        )
        return "told, and it lives on"


class ToolRule:
    """One tool, with arguments that fit its schema and with wrong ones."""

    def __init__(self, tool: PluginTool) -> None:
        self.tool = tool

    async def __call__(self, bench: Bench) -> str:
        """Call it: it answers a result. An error breaks no rule, but it was no sample then."""
        arguments = arguments_for(self.tool.input_schema)
        reply, took_s = await self._call(await bench.ready(), arguments, "answer in time")
        refused = why_refused(reply)
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
        return await _cancel(
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
        reply = await child.ask("command/run", params, LONGEST_S)
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
    reply = await child.ask("tool/call", sample(ToolCallParams, name="of_tomorrow"), LONGEST_S)
    if reply.error is None:
        assert reply.result is not None
        fields: Any = msgspec.json.decode(reply.result)
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
    reply = await child.ask("command/run", params, LONGEST_S)
    if reply.error is None:
        raise CheckFailed(
            "command/run of_tomorrow",
            quote(bytes(reply.result or b"null")),
            "look at the name; answer an error for one that you do not have",
        )
    return "refused"


async def cancelled_hook(bench: Bench, rule: HookRule) -> str:
    """Fire a hook and cancel it: the plugin settles the request."""
    what = f"hook/{rule.route.entry.name}"
    return await _cancel(bench, rule.message, what, rule.route.timeout_s)


async def answer_to(
    child: Child, id: int, timeout_s: float, sent: str, advice: str
) -> envelope.Reply:
    """The reply to a slow request; no reply is no failure if its time exceeds the suite's."""
    try:
        return await child.reply(id, min(timeout_s, LONGEST_S), sent=sent, advice=advice)
    except CheckFailed:
        if timeout_s > LONGEST_S and await child.ended(0) is None:
            why = f"it has {timeout_s:g} s, more than this suite waits"
            raise Skip(f"no answer within {LONGEST_S:g} s; {why}") from None
        raise


async def _cancel(
    bench: Bench, request: Callable[[int], bytes], what: str, timeout_s: float
) -> str:
    sent = f"{what} and its $/cancelRequest"
    cancelled = ErrorCode.REQUEST_CANCELLED.value
    advice = f"read while handlers run; at a cancel stop the work, and answer {cancelled} then"
    how, took_s = "", 0.0
    # Twice, as a machine may be busy for once.
    for _ in range(2):
        child = await bench.pinged()
        id = child.next_id()
        # In one write: after two, a quick plugin could have answered before the cancel came.
        await child.write(request(id) + message("$/cancelRequest", {"id": id}))
        reply = await answer_to(child, id, timeout_s, sent, advice)
        await child.ask("ping", {})
        how = "a result" if reply.error is None else f"the error {reply.error.code}"
        took_s = child.took_s(id)
        if took_s <= CANCEL_S:
            return f"settled with {how} after {1000 * took_s:.1f} ms"
    raise Lapse(sent, f"{how} {took_s:.1f} s after the cancel, at a second try too", advice)


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
