"""Runs the plugins' tools and commands. A plugin's fault becomes a result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import msgspec
import trio

from sliphook.dispatch.hook_recorder import HookRecorder
from sliphook.dispatch.parking import park, wake
from sliphook.errors import HostError
from sliphook.plugin.supervision import Plugin
from sliphook.plugin.tools import CommandOffer, ToolOffer, ToolTable
from sliphook.quoting import quote
from sliphook.transport.call import Call, CallEnd, Carrier
from sliphook.wire import envelope
from sliphook.wire.decoding import DECODE_ERRORS
from sliphook.wire.near_misses import claims_error, is_list_of_blocks
from sliphook_sdk.protocol import (
    CommandResult,
    CommandRunParams,
    ErrorCode,
    ToolCallParams,
    ToolResult,
    parts,
)
from sliphook_sdk.protocol.limits import COMMAND_TIMEOUT_S, MAX_HOST_PARAMS_BYTES

from .open_tool import OpenTool, ToolStatus
from .reports import Reports
from .state import SessionState, TurnState

# made once, at import: msgspec reads a type at its first use, and not safely in two threads
COMMAND_RESULT: Final = msgspec.json.Decoder(CommandResult)
TOOL_RESULT: Final = msgspec.json.Decoder(ToolResult | str)


class ToolAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """How one tool call at a plugin ended.

    Attributes:
        status: `answered`; `error` if the plugin sent an error; `refused_answer`, `timed_out`,
            `crashed` and so on, as in a fire.
        result: what the model reads, also if the call failed.
        error: what went wrong, one line, or None.
    """

    plugin: str
    status: str
    result: ToolResult
    elapsed_ms: float
    error: str | None = None


class PluginCalls:
    """The plugins' tools and commands.

    Args:
        plugins: by name.
        table: the tools that plugins offer.
        recorder: gives each call the span that the plugin may continue, or None.
        reports: says what of a result is ignored.
    """

    def __init__(
        self,
        plugins: Mapping[str, Plugin],
        table: ToolTable,
        recorder: HookRecorder | None,
        reports: Reports,
    ) -> None:
        self.table = table
        self._plugins = plugins
        self._recorder = recorder
        self._reports = reports

    def find(self, name: str, session_id: str) -> ToolOffer | None:
        """The plugin's tool of that name that the session may use, or None."""
        return self.table.find(name, session_id)

    def origin_of(self, offer: ToolOffer) -> str:
        """Whose the tool is, for guards: the plugin, or what an adapter made it of."""
        owner = self._plugins.get(offer.plugin)
        made = owner.spec.made if owner is not None else None
        return made.origin if made is not None else offer.plugin

    def names(self, session_id: str) -> list[str]:
        """The names of all tools of plugins that the session may use."""
        return [offer.name for offer in self.table.offers(session_id)]

    def commands(self) -> list[CommandOffer]:
        """The slash commands of all plugins that are ready or starting."""
        return [
            CommandOffer(
                name=command.name, description=command.description or "", plugin=plugin.name
            )
            for plugin in self._plugins.values()
            if plugin.manifest is not None and (plugin.ready or plugin.state.waits)
            for command in plugin.manifest.commands
        ]

    async def call(
        self,
        session: SessionState,
        turn: TurnState,
        offer: ToolOffer,
        tool: OpenTool,
        on_end: Callable[[CallEnd, float], None],
    ) -> tuple[ToolStatus, ToolResult]:
        """Have the plugin run its tool inside a turn.

        Args:
            session: the session.
            turn: the turn.
            offer: the tool.
            tool: the call; it gets its request, which tells whether it still runs.
            on_end: told of the end if the call was told to stop and ends later (see `Call`).
        """
        # no fire, so it takes no number (protocol.md, Common fields)
        params = ToolCallParams(
            **session.unnumbered(turn),
            call_id=tool.call_id,
            name=offer.name,
            timeout_s=offer.timeout_s,
            arguments=tool.arguments,
        )

        def asked(call: Call) -> None:
            tool.request, call.on_end = call, on_end

        answer = await self.call_tool(offer, params, turn_id=turn.turn_id, asked=asked)
        # `post_tool_call` has no word for a crash or a missing plugin: those are an `error`
        statuses: dict[str, ToolStatus] = {"timed_out": "timed_out", "cancelled": "cancelled"}
        if answer.status == "answered":
            return ("error" if answer.result.is_error else "ok"), answer.result
        return statuses.get(answer.status, "error"), answer.result

    async def call_tool(
        self,
        offer: ToolOffer,
        params: ToolCallParams,
        *,
        turn_id: str | None = None,
        asked: Callable[[Call], None] | None = None,
    ) -> ToolAnswer:
        """Send one `tool/call` and read the answer; never raises for a fault of the plugin.

        Args:
            offer: the tool.
            params: the params of the request.
            turn_id: the turn, or None.
            asked: takes the request before it is sent.
        """
        plugin = self._plugins.get(offer.plugin)
        if plugin is None:
            why = f"the plugin {offer.plugin} was left out meanwhile"
            result = _error(f"the tool {offer.name} failed: {why}")
            return ToolAnswer(
                plugin=offer.plugin,
                status="failed_to_start",
                result=result,
                elapsed_ms=0.0,
                error=why,
            )
        call = await self._send(
            plugin,
            "tool/call",
            params,
            params.timeout_s,
            session_id=params.session_id,
            turn_id=turn_id,
            call_id=params.call_id,
            name=offer.name,
            asked=asked,
        )
        status, result, error = _tool_result(call, offer.name)
        if call.result is not None:
            self._reports.ignored(plugin, "tool/call", call.result)
        if status == "refused_answer":
            text = f"the result of the tool {offer.name} is refused: {error}"
            self._reports.near_miss(plugin, f"a result of {offer.name} is refused", text)
        return ToolAnswer(
            plugin=offer.plugin,
            status=status,
            result=result,
            elapsed_ms=call.elapsed_ms,
            error=error,
        )

    async def run_command(self, session: SessionState, name: str, arguments: str) -> str:
        """Run a plugin's slash command; returns what the user reads.

        Raises:
            HostError: there is no such command, or it failed; str() is one line.
        """
        command = next((command for command in self.commands() if command.name == name), None)
        if command is None:
            raise HostError(f"there is no command /{quote(name, 40)}; /help lists them")
        params = CommandRunParams(
            **session.unnumbered(session.open_root),
            name=name,
            timeout_s=COMMAND_TIMEOUT_S,
            arguments=arguments,
        )
        plugin = self._plugins[command.plugin]
        call = await self._send(
            plugin,
            "command/run",
            params,
            COMMAND_TIMEOUT_S,
            session_id=session.session_id,
            name=name,
        )
        if call.status != "answered" or call.result is None:
            raise HostError(f"/{name} of {command.plugin} failed: {why_failed(call)}")
        try:
            text = COMMAND_RESULT.decode(call.result).text or ""
        except DECODE_ERRORS as error:
            why = f"its answer does not fit: {quote(str(error), 200)}"
            raise HostError(f"/{name} of {command.plugin} failed: {why}") from None
        self._reports.ignored(plugin, "command/run", call.result)
        return text

    async def _send(
        self,
        plugin: Plugin,
        method: str,
        params: ToolCallParams | CommandRunParams,
        timeout_s: float,
        *,
        session_id: str | None,
        name: str,
        turn_id: str | None = None,
        call_id: str | None = None,
        asked: Callable[[Call], None] | None = None,
    ) -> Call:
        waiters: list[trio.lowlevel.Task] = []
        reading: Carrier | None = None

        def on_settled(_: Call) -> None:
            wake(waiters)
            if reading is not None:  # a timeout or an interrupt makes no pipe readable
                reading.nudge()

        call = Call(
            method,
            timeout_s,
            on_settled,
            session_id=session_id,
            turn_id=turn_id,
            call_id=call_id,
            name=name,
        )
        if asked is not None:
            asked(call)
        body = envelope.encode(params)
        # unlike a hook, a tool needs all of its params, so none are cut out
        if len(body) > MAX_HOST_PARAMS_BYTES:
            call.settle(
                "error", f"its arguments are {len(body):,} bytes, over {MAX_HOST_PARAMS_BYTES:,}"
            )
            return call
        if self._recorder is not None:
            call.traceparent = self._recorder.span_of(params)
        plugin.ask(call, msgspec.Raw(body))
        try:
            if call.written and call.status is None:
                reading = call.connection
                assert reading is not None
                await reading.read_for(call)
                reading = None
            if call.status is None:
                await park(waiters)
            elif not call.written:
                # it was over at once: a loop of such calls must not hold the agent
                await trio.lowlevel.checkpoint()
        except BaseException:  # cancelled, or Ctrl+C
            plugin.cancel(call)
            raise
        return call


def _tool_result(call: Call, name: str) -> tuple[str, ToolResult, str | None]:
    if call.status == "answered" and call.result is not None:
        try:
            result = TOOL_RESULT.decode(call.result)
        except DECODE_ERRORS as error:
            why = f"its answer does not fit: {quote(str(error), 200)}"
            if is_list_of_blocks(call.result):
                why = (
                    "its content is a list, as in MCP; give that as parts, and one text as content"
                )
            return "refused_answer", _error(f"the tool {name} failed: {why}"), why
        if isinstance(result, str):
            return "answered", ToolResult(content=result), None
        if claims_error(call.result):
            why = f"it says isError, which is MCP's name; say is_error: {quote(result.content)}"
            return "refused_answer", _error(f"the tool {name} failed: {why}"), why
        if (unfit := parts.why_not(result.parts)) is not None:
            why = f"its answer does not fit: {quote(unfit, 200)}"
            return "refused_answer", _error(f"the tool {name} failed: {why}"), why
        return "answered", result, None
    why = why_failed(call)
    # its own error is an answer in good order
    refused = call.status == "error" and call.error is None
    status = "refused_answer" if refused else str(call.status)
    return status, _error(f"the tool {name} failed: {why}"), why


def why_failed(call: Call) -> str:
    """Why a call has no answer, in words that follow its name."""
    if call.error is not None:
        said, code = quote(call.error.message, 1_000), call.error.code
        # that it failed is all that this code says
        return said if said and code == int(ErrorCode.INTERNAL_ERROR) else f"{said} ({code})"
    if call.goes_on:
        return f"{call.why}; it was told to stop, and still runs"
    return call.why or str(call.status)


def _error(content: str) -> ToolResult:
    return ToolResult(content=content, is_error=True)
