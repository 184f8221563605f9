"""What each message of the host calls, whatever thread or transport it came by.

A service turns a call into an `Invocation`: a function of the author with its arguments. An engine
or the test harness passes it to `run` or `run_async`, which return the value to answer with or
raise RpcError.
"""

from __future__ import annotations

import time
import traceback
from contextlib import suppress
from functools import partial
from types import CoroutineType
from typing import TYPE_CHECKING, Any, Final

import msgspec

from .errors import AnswerError, Cancelled, RpcError, ToolError, describe
from .forked import OneProcess
from .protocol import (
    CATALOGUE,
    CommandRunParams,
    ErrorCode,
    InitializeParams,
    LogParams,
    Manifest,
    Payload,
    ToolCallParams,
    ToolResult,
    limits,
)
from .registration.entry_handlers import EntryHandlers
from .registration.handlers import Handler, HookHandler
from .runtime.contexts import AsyncContext, BaseContext, Context
from .runtime.plugin_context import LifeContext
from .runtime.state import Runtime

if TYPE_CHECKING:
    from collections.abc import Callable

    from .plugin import Plugin
    from .registration.life import LifeHandler
    from .runtime.state import HostLink
    from .wire.call import Call

START_S: Final = limits.INITIALIZE_TIMEOUT_S - 1.0
READ_S: Final = 59.0
"""The same if the host only reads the manifest: it may wait longer."""
"""What `on_start` has of the time for `initialize`; the rest is for the start of Python."""
LATE_S: Final = 0.5
"""A function that comes back later than this after its cancel is logged."""

# made once, at import: msgspec reads a type at its first use, and not safely in two threads
_INITIALIZE = msgspec.json.Decoder(InitializeParams)
_TOOL_CALL = msgspec.json.Decoder(ToolCallParams)
_COMMAND_RUN = msgspec.json.Decoder(CommandRunParams)


class Invocation:
    """One function of the author, ready to be called.

    Attributes:
        handler: the function.
        args: its positional arguments.
        kwargs: its named arguments.
        call: the message that it is called for.
        finish: makes the answer for the host from what the function returned.
    """

    __slots__ = ("args", "call", "finish", "handler", "kwargs")

    def __init__(
        self, handler: Handler, args: tuple[Any, ...], kwargs: dict[str, Any], call: Call
    ) -> None:
        self.handler = handler
        self.args = args
        self.kwargs = kwargs
        self.call = call
        self.finish: Callable[[Any], Any] = handler.finish


class Service:
    """A running plugin: what it answers to each message.

    Attributes:
        plugin: the plugin.
        runtime: what its handlers share.
        entries: the handlers of each hook and event by its name.
    """

    def __init__(self, plugin: Plugin[Any], link: HostLink) -> None:
        self.plugin = plugin
        self.runtime = Runtime(link, plugin.uses, plugin.tools)
        by_name: dict[str, list[HookHandler]] = {}
        for handler in plugin.hooks:
            by_name.setdefault(handler.entry.name, []).append(handler)
        # without a handler too: the states of sessions end with it
        by_name.setdefault("session_end", [])
        self.entries = {
            name: EntryHandlers(CATALOGUE[name], handlers) for name, handlers in by_name.items()
        }
        self._to_clean_up: LifeHandler | None = None
        plugin.attach(self.runtime)

    def initialize(self, call: Call) -> Invocation | Manifest:
        """The manifest that answers the first request, or the invocation that prepares the plugin.

        Raises:
            RpcError: there is no common version of the protocol, or the params do not fit.
        """
        params: InitializeParams = decode(_INITIALIZE, call)
        if not set(params.protocol_versions) & set(limits.PROTOCOL_VERSIONS):
            theirs = ", ".join(map(str, params.protocol_versions))
            ours = ", ".join(map(str, limits.PROTOCOL_VERSIONS))
            raise RpcError(
                ErrorCode.INVALID_PARAMS,
                f"no common version: the plugin {self.plugin.name} speaks {ours}, "
                f"the host {theirs}",
            )
        self.runtime.data_dir = params.plugin.data_dir
        try:
            with OneProcess():
                self.runtime.config = self.plugin.read_config(params.plugin.config)
        except msgspec.ValidationError as exc:
            # a plugin that is being installed has no name and no settings yet; the user must still
            # see what it wants
            no_settings_yet = params.plugin.name is None and not params.plugin.config
            return self.plugin.manifest(
                disabled=None if no_settings_yet else f"its settings do not fit: {exc}"
            )
        manifest, start = self.plugin.manifest(), self.plugin.life.get("on_start")
        only_read = self.runtime.manifest_only = params.manifest_only is True
        if manifest.disabled or (only_read and not (start and start.when_installed)):
            return manifest
        if start is None:
            return self._takes_part(call)
        invocation = self._life(start, call, call.arrived + (READ_S if only_read else START_S))
        invocation.finish = partial(self._started, start, call)
        return invocation

    def shutdown(self, call: Call, seconds: float) -> Invocation | None:
        """The invocation that cleans up, once; None if the plugin has nothing to clean up.

        Args:
            call: the request, or what stands for it if there was none.
            seconds: how long it may take.
        """
        handler = self._to_clean_up
        self._to_clean_up = None
        return None if handler is None else self._life(handler, call, time.monotonic() + seconds)

    def _started(self, start: LifeHandler, call: Call, returned: Any) -> Manifest:
        reason = start.finish(returned)
        return self._takes_part(call) if reason is None else self.plugin.manifest(disabled=reason)

    def _takes_part(self, call: Call) -> Manifest:
        self._to_clean_up = self.plugin.life.get("on_shutdown")
        self.plugin.declared()
        call.written = self.runtime.introduced
        tools = self.runtime.declare_tools()
        return msgspec.structs.replace(self.plugin.manifest(), tools=tools or None)

    def _life(self, handler: LifeHandler, call: Call, deadline: float) -> Invocation:
        ctx = {"ctx": LifeContext(self.runtime, deadline)} if handler.wants_ctx else {}
        return Invocation(handler, (), ctx, call)

    def hook(self, handlers: EntryHandlers, call: Call) -> Invocation:
        """The invocation that answers a hook."""
        payload = decode(handlers.decoder, call)
        return self._invocation(handlers.to_ask(payload), (payload,), {}, call, payload)

    def event(self, handlers: EntryHandlers, call: Call) -> tuple[Payload, list[Invocation]]:
        """The payload of an event, and its invocations.

        The caller runs them one after the other, then calls `event_done`.
        """
        payload = decode(handlers.decoder, call)
        return payload, [
            self._invocation(handler, (payload,), {}, call, payload)
            for handler in handlers.to_tell(payload)
        ]

    def event_done(self, handlers: EntryHandlers, payload: Payload) -> None:
        """Called after all handlers of an event have run."""
        if handlers.entry.name == "session_end":
            self.plugin.sessions.forget(payload.session_id)
            self.runtime.toolbox.forget(payload.session_id)

    def tool(self, call: Call) -> Invocation | ToolResult:
        """The invocation that answers a tool call, or the answer if the arguments do not fit.

        Raises:
            RpcError: there is no such tool.
        """
        params: ToolCallParams = decode(_TOOL_CALL, call)
        tool = self.runtime.toolbox.find(params.name, params.session_id)
        try:
            args, kwargs = tool.bind(params.arguments)
        except ToolError as exc:
            # a result and no error: the model reads it and may call again with other arguments
            return ToolResult(content=str(exc), is_error=True)
        return self._invocation(tool, args, kwargs, call, params)

    def command(self, call: Call) -> Invocation:
        """The invocation that answers a command.

        Raises:
            RpcError: there is no such command.
        """
        params: CommandRunParams = decode(_COMMAND_RUN, call)
        handler = self.plugin.commands.get(params.name)
        if handler is None:
            raise RpcError(ErrorCode.INVALID_PARAMS, f"there is no command {params.name!r} here")
        return self._invocation(handler, (params.arguments,), {}, call, params)

    def run(self, invocation: Invocation) -> Any:
        """Call a function and return the answer for the host.

        An `async def` runs in its own event loop.

        Raises:
            RpcError: the function failed; answer with this error.
        """
        handler = invocation.handler
        if invocation.call.method == "initialize":
            self.runtime.starts_here()
        if handler.is_async:
            import asyncio  # only for a tool that was added to a running plugin of plain functions

            return asyncio.run(self.run_cancellable(invocation))
        try:
            with OneProcess():
                returned = handler.function(*invocation.args, **invocation.kwargs)
            if isinstance(returned, CoroutineType):
                # else Python warns on standard error that it was never awaited
                returned.close()
                raise AnswerError("returned something to await; declare it with `async def`")
            return invocation.finish(returned)
        except BaseException as exc:  # also SystemExit: a handler cannot end the process
            return self._failed(invocation, exc)
        finally:
            self._log_if_late(invocation)

    async def run_async(self, invocation: Invocation) -> Any:
        """Await an `async def` and return the answer for the host.

        Raises:
            RpcError: the function failed; answer with this error.
        """
        handler = invocation.handler
        if invocation.call.method == "initialize":
            self.runtime.starts_here()
        try:
            with OneProcess():
                returned = await handler.function(*invocation.args, **invocation.kwargs)
            return invocation.finish(returned)
        except BaseException as exc:
            return self._failed(invocation, exc)
        finally:
            self._log_if_late(invocation)

    async def run_cancellable(self, invocation: Invocation) -> Any:
        """The same for a loop that no engine serves: a cancel of the call cancels this task."""
        import asyncio

        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        if task is not None:

            def stop() -> None:
                with suppress(RuntimeError):  # the loop is closed: the task is done
                    loop.call_soon_threadsafe(task.cancel)

            invocation.call.stop = stop
            if invocation.call.cancelled:  # checked after `stop` is set, so that none is missed
                task.cancel()
        return await self.run_async(invocation)

    def _failed(self, invocation: Invocation, exc: BaseException) -> Any:
        # what a handler raises after a cancel is most often its way to stop, so it is not logged
        if invocation.call.cancelled or isinstance(exc, Cancelled):
            raise RpcError(ErrorCode.REQUEST_CANCELLED, ErrorCode.REQUEST_CANCELLED.text) from None
        if not isinstance(exc, ToolError):
            self._log_failure(invocation.handler, exc)
        return invocation.handler.failed(exc)

    def _log_if_late(self, invocation: Invocation) -> None:
        """Log a function that went on after its cancel, now that it has come back."""
        cancelled_at = invocation.call.cancelled_at
        if cancelled_at is None:
            return
        late_s, handler = time.monotonic() - cancelled_at, invocation.handler
        if late_s >= LATE_S:
            kind = invocation.call.method.partition("/")[0]
            hint = "let CancelledError through" if handler.is_async else "look at ctx.cancelled"
            what = (
                f"{kind} {handler.name} went on for {late_s:.1f} s after it was cancelled; {hint}"
            )
            fields = {"handler": handler.name, "where": handler.where, "late_s": round(late_s, 3)}
            self.runtime.link.notify(
                "host/log", LogParams(level="warning", message=what, fields=fields)
            )

    def _log_failure(self, handler: Handler, exc: BaseException) -> None:
        """Log the exception, with the traceback from the author's code on."""
        fields: dict[str, Any] = {"handler": handler.name, "where": handler.where}
        if not isinstance(exc, AnswerError):
            at = exc.__traceback__.tb_next if exc.__traceback__ is not None else None
            fields["traceback"] = "".join(traceback.format_exception(type(exc), exc, at)).rstrip()
        self.runtime.link.notify(
            "host/log",
            LogParams(level="error", message=f"{handler.name}: {describe(exc)}", fields=fields),
        )

    def _invocation(
        self,
        handler: Handler,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        call: Call,
        payload: Payload,
    ) -> Invocation:
        if handler.wants_ctx:
            self.runtime.introduced()  # a host that calls a handler has read the manifest
            kind: type[BaseContext[Any]] = AsyncContext if handler.is_async else Context
            kwargs["ctx"] = kind(self.runtime, call, payload)
        return Invocation(handler, args, kwargs, call)


def decode(decoder: msgspec.json.Decoder[Any], call: Call) -> Any:
    """Decode the params of a call.

    Raises:
        RpcError: the params do not fit.
    """
    try:
        return decoder.decode(call.params)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
        raise RpcError(ErrorCode.INVALID_PARAMS, f"{call.method}: {exc}") from None
