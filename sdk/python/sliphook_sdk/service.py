"""What is done with each message of the host, without a word on where it came from or which thread runs it.

A service turns a call into an `Invocation`: the author's function with its arguments. Whoever runs
it (an engine, the test harness) calls `run` or awaits `run_async`, and gets the value to answer
with, or RpcError.
"""

from __future__ import annotations

import threading
import traceback
from contextlib import suppress
from types import CoroutineType
from typing import TYPE_CHECKING, Any

import msgspec

from .errors import AnswerError, Cancelled, RpcError, ToolError, describe
from .protocol import (
    CATALOGUE,
    CommandRunParams,
    Entry,
    ErrorCode,
    InitializeParams,
    LogParams,
    Manifest,
    Payload,
    ToolCallParams,
    ToolResult,
    ToolsParams,
    limits,
)
from .registration.handlers import Handler, HookHandler
from .registration.tools import Toolbox
from .runtime.contexts import AsyncContext, BaseContext, Context

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .plugin import Plugin
    from .registration.tools import Tool, ToolFunction
    from .runtime.contexts import HostLink
    from .wire.call import Call

_INITIALIZE = msgspec.json.Decoder(InitializeParams)


class Invocation:
    """One function of the author, ready to be called.

    Attributes:
        handler: the function.
        args: its positional arguments.
        kwargs: its named ones.
        call: the message that it works for.
    """

    __slots__ = ("args", "call", "handler", "kwargs")

    def __init__(
        self, handler: Handler, args: tuple[Any, ...], kwargs: dict[str, Any], call: Call
    ) -> None:
        self.handler = handler
        self.args = args
        self.kwargs = kwargs
        self.call = call


class Route:
    """The handlers of one hook or event, in the order of the manifest.

    Attributes:
        entry: the hook or event.
        decoder: from its params to its payload.
        can_be_asked: any of them is for requests.
    """

    def __init__(self, entry: Entry, handlers: list[HookHandler]) -> None:
        self.entry = entry
        self.decoder = msgspec.json.Decoder(entry.payload)
        self.can_be_asked = any(handler.asked for handler in handlers)
        self._handlers = handlers
        self._alone = sum(handler.asked for handler in handlers) == 1

    def asked(self, payload: Payload) -> HookHandler:
        """The handler to ask: the first that fits.

        Where there is one alone the host has found that it does.

        Raises:
            RpcError: none fits, so the host sees more in the payload than we do. Abstaining would
                open a guard.
        """
        for handler in self._handlers:
            if handler.asked and (self._alone or handler.fits(payload)):
                return handler
        raise RpcError(ErrorCode.INVALID_PARAMS, f"no handler's match fits this {self.entry.name}")

    def takes(self, payload: Payload) -> bool:
        """True where the host would ask."""
        return any(handler.asked and handler.fits(payload) for handler in self._handlers)

    def told(self, payload: Payload) -> list[HookHandler]:
        """The handlers to tell: all that wait for it as an event, or the one that would have been asked."""
        fitting = [handler for handler in self._handlers if handler.fits(payload)]
        if fitting and fitting[0].asked:
            return fitting[:1]
        return [handler for handler in fitting if not handler.asked]


class Service:
    """A plugin at work.

    Attributes:
        plugin: the plugin.
        link: the way to the host.
        toolbox: the tools that can be called now.
        config: the user's settings, as the author's Struct or a dict.
        data_dir: the plugin's own folder.
    """

    def __init__(self, plugin: Plugin[Any], link: HostLink) -> None:
        self.plugin = plugin
        self.link = link
        self.toolbox = Toolbox(plugin.tools)
        self.config: Any = {}
        self.data_dir = "."
        self._tool_params = msgspec.json.Decoder(ToolCallParams)
        self._command_params = msgspec.json.Decoder(CommandRunParams)
        by_name: dict[str, list[HookHandler]] = {}
        for handler in plugin.hooks:
            by_name.setdefault(handler.entry.name, []).append(handler)
        by_name.setdefault(
            "session_end", []
        )  # heard for the sessions' states even where the author does not ask for it
        self.routes = {name: Route(CATALOGUE[name], handlers) for name, handlers in by_name.items()}
        self._changing_tools = threading.Lock()

    def initialize(self, call: Call) -> Manifest:
        """The first request: the manifest.

        Raises:
            RpcError: the host speaks no version that this SDK speaks, or its params do not fit.
        """
        params: InitializeParams = decode(_INITIALIZE, call)
        if not set(params.protocol_versions) & set(limits.PROTOCOL_VERSIONS):
            theirs, ours = (
                ", ".join(map(str, params.protocol_versions)),
                ", ".join(map(str, limits.PROTOCOL_VERSIONS)),
            )
            raise RpcError(
                ErrorCode.INVALID_PARAMS,
                f"no common version: the plugin {self.plugin.name} speaks {ours}, the host {theirs}",
            )
        self.data_dir = params.plugin.data_dir
        try:
            self.config = self.plugin.read_config(params.plugin.config)
        except msgspec.ValidationError as exc:
            # while it is being installed (no name yet) there are no settings; the user shall still
            # see what the plugin wants
            return self.plugin.manifest(
                disabled=None if params.plugin.name is None else f"its settings do not fit: {exc}"
            )
        return self.plugin.manifest()

    def hook(self, route: Route, call: Call) -> Invocation:
        """The invocation that answers a hook."""
        payload = decode(route.decoder, call)
        return self._invocation(route.asked(payload), (payload,), {}, call, payload)

    def event(self, route: Route, call: Call) -> tuple[Payload, list[Invocation]]:
        """The payload of an event and the invocations that it wants, to be run one after the other; then comes `told`."""
        payload = decode(route.decoder, call)
        return payload, [
            self._invocation(handler, (payload,), {}, call, payload)
            for handler in route.told(payload)
        ]

    def told(self, route: Route, payload: Payload) -> None:
        """All handlers of an event have run."""
        if route.entry.name == "session_end":
            self.plugin.sessions.forget(payload.session_id)
            self.toolbox.forget(payload.session_id)

    def tool(self, call: Call) -> Invocation | ToolResult:
        """The invocation that answers a tool call, or the answer itself where the arguments do not fit.

        Raises:
            RpcError: there is no such tool.
        """
        params: ToolCallParams = decode(self._tool_params, call)
        tool = self.toolbox.find(params.name, params.session_id)
        try:
            args, kwargs = tool.bind(params.arguments)
        except ToolError as exc:
            return ToolResult(content=str(exc), is_error=True)
        return self._invocation(tool, args, kwargs, call, params)

    def command(self, call: Call) -> Invocation:
        """The invocation that answers a command.

        Raises:
            RpcError: there is no such command.
        """
        params: CommandRunParams = decode(self._command_params, call)
        handler = self.plugin.commands.get(params.name)
        if handler is None:
            raise RpcError(ErrorCode.INVALID_PARAMS, f"there is no command {params.name!r} here")
        return self._invocation(handler, (params.arguments,), {}, call, params)

    def run(self, invocation: Invocation) -> Any:
        """Call a function and give what goes to the host.

        An `async def` gets an event loop of its own.

        Raises:
            RpcError: it failed, and that is the answer.
        """
        handler = invocation.handler
        if handler.is_async:
            import asyncio  # only for a tool that came at run time into a plugin of plain functions

            return asyncio.run(self._run_cancellable(invocation))
        try:
            returned = handler.function(*invocation.args, **invocation.kwargs)
            if isinstance(returned, CoroutineType):
                returned.close()
                raise AnswerError("returned something to await; declare it with `async def`")
            return handler.finish(returned)
        except BaseException as exc:  # SystemExit too: a handler cannot end the process
            return self._failed(invocation, exc)

    async def run_async(self, invocation: Invocation) -> Any:
        """Await an `async def` and give what goes to the host.

        Raises:
            RpcError: it failed, and that is the answer.
        """
        handler = invocation.handler
        try:
            return handler.finish(await handler.function(*invocation.args, **invocation.kwargs))
        except BaseException as exc:
            return self._failed(invocation, exc)

    async def _run_cancellable(self, invocation: Invocation) -> Any:
        import asyncio

        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        if task is not None:

            def stop() -> None:
                with suppress(RuntimeError):  # the loop is closed: it is done
                    loop.call_soon_threadsafe(task.cancel)

            invocation.call.stop = stop
            if invocation.call.cancelled:  # meanwhile; looked at after `stop` is in place
                task.cancel()
        return await self.run_async(invocation)

    def set_tools(self, tools: Iterable[Tool | ToolFunction], session_id: str | None) -> None:
        """Replace the tools of a scope and wait for the host's word. Raises HostRefused."""
        with self._changing_tools, self.toolbox.changing(tools, session_id) as specs:
            self.link.ask("host/tools", ToolsParams(session_id=session_id, tools=specs))

    def report(self, handler: Handler, exc: BaseException) -> None:
        """Log that a handler failed, with the traceback from the author's code on."""
        fields: dict[str, Any] = {"handler": handler.name, "where": handler.where}
        if not isinstance(exc, AnswerError):
            at = exc.__traceback__.tb_next if exc.__traceback__ is not None else None
            fields["traceback"] = "".join(traceback.format_exception(type(exc), exc, at)).rstrip()
        self.link.notify(
            "host/log",
            LogParams(level="error", message=f"{handler.name}: {describe(exc)}", fields=fields),
        )

    def _failed(self, invocation: Invocation, exc: BaseException) -> Any:
        if invocation.call.cancelled or isinstance(exc, Cancelled):
            raise RpcError(ErrorCode.REQUEST_CANCELLED, ErrorCode.REQUEST_CANCELLED.text) from None
        if not isinstance(exc, ToolError):
            self.report(invocation.handler, exc)
        return invocation.handler.failed(exc)

    def _invocation(
        self,
        handler: Handler,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        call: Call,
        common: Payload,
    ) -> Invocation:
        if handler.wants_ctx:
            kind: type[BaseContext[Any]] = AsyncContext if handler.is_async else Context
            timeout_s = getattr(common, "timeout_s", None)
            kwargs["ctx"] = kind(
                self,
                call,
                common.session_id,
                common.turn_id,
                timeout_s if isinstance(timeout_s, float) else None,
            )
        return Invocation(handler, args, kwargs, call)


def decode(decoder: msgspec.json.Decoder[Any], call: Call) -> Any:
    """The params of a call, typed.

    Raises:
        RpcError: they do not fit.
    """
    try:
        return decoder.decode(call.params)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
        raise RpcError(ErrorCode.INVALID_PARAMS, f"{call.method}: {exc}") from None
