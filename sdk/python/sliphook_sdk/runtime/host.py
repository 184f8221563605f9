"""Requests to the host from everywhere: `plugin.host` in threads, `plugin.async_host` in tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from sliphook_sdk.errors import HostRefused, NotConnected
from sliphook_sdk.forked import say
from sliphook_sdk.protocol import (
    AlertLevel,
    ErrorCode,
    InjectParams,
    InterruptParams,
    InterruptResult,
    Level,
    LogParams,
    NotifyParams,
    SubmitParams,
    SubmitResult,
)
from sliphook_sdk.registration.tools import Tool

from .toolbox import added, removed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sliphook_sdk.registration.tools import ToolFunction

    from .state import Runtime


T = TypeVar("T", InterruptResult, SubmitResult)

# read here: msgspec reads a type at its first use, and not safely in two threads
msgspec.json.Decoder(InterruptResult)
msgspec.json.Decoder(SubmitResult)


class BaseHost:
    """What both have.

    Args:
        runtime: the running plugin; None before it runs.
    """

    __slots__ = ("_runtime",)

    def __init__(self, runtime: Runtime | None = None) -> None:
        self._runtime = runtime

    def attach(self, runtime: Runtime) -> None:
        """Connect with the plugin's state while it runs."""
        self._runtime = runtime

    def log(self, level: Level, message: str, **fields: Any) -> None:
        """Write a line to the plugin's log, with values beside the message.

        Before the plugin runs it goes to standard error, which is its log too.
        """
        if self._runtime is None:
            say(f"{level}: {message}{f' {fields}' if fields else ''}")
        else:
            params = LogParams(level=level, message=message, fields=fields or None)
            self._runtime.link.notify("host/log", params)

    def _running(self) -> Runtime:
        if self._runtime is None:
            raise NotConnected(
                "the plugin does not run: there is a host from on_start to on_shutdown"
            )
        return self._runtime


class Host(BaseHost):
    """Requests that block until the host has answered, from any thread.

    Each of them raises

    - `HostRefused`: it is not granted, there are too many, or the session has ended;
    - `NotConnected`: before the plugin runs, in `on_start` itself, or after the host has gone;
    - `RuntimeError`: an event loop runs in this thread: await the one of `plugin.async_host`.

    While the plugin starts, they wait until it has.
    """

    __slots__ = ()

    def notify(self, level: AlertLevel, message: str) -> None:
        """Show the user an alert. Needs `uses=["notify"]`."""
        self._running().ask("host/notify", NotifyParams(level=level, message=message))

    def inject(self, text: str, *, session_id: str) -> None:
        """Put a text before the session's next model call, in the user's role. It starts no turn.

        Needs `uses=["inject"]`.
        """
        self._running().ask("host/inject", InjectParams(session_id=session_id, text=text))

    def submit(
        self,
        text: str,
        *,
        session_key: str,
        platform: str | None = None,
        user_id: str | None = None,
    ) -> SubmitResult:
        """Give the model a message, as if a user had written it; it begins a turn.

        It is always text for the model, and the user sees whose it is. `submission_end` tells its
        end, with the `message_id` of the result. Needs `uses=["submit"]`.

        Args:
            text: the message, at most 64 KiB.
            session_key: the conversation, as `ctx.session_key` has it.
            platform: only a conversation of this platform; None is any.
            user_id: only a conversation of this user; None is any.
        """
        params = SubmitParams(
            session_key=session_key, platform=platform, user_id=user_id, text=text
        )
        result = self._running().ask("host/submit", params)
        return read("host/submit", result, SubmitResult)

    def interrupt(self, reason: str, *, session_id: str, turn_id: str | None = None) -> bool:
        """Interrupt the session's turn, or only the turn that is given.

        Needs `uses=["interrupt"]`.

        Returns:
            True if a turn was interrupted.
        """
        params = InterruptParams(session_id=session_id, turn_id=turn_id, reason=reason)
        result = self._running().ask("host/interrupt", params)
        return read("host/interrupt", result, InterruptResult).interrupted

    def set_tools(
        self, tools: Iterable[Tool | ToolFunction], *, session_id: str | None = None
    ) -> None:
        """Replace the tools of one session, or of all: see `Plugin.set_tools`."""
        self._running().set_tools(tools, session_id)

    def add_tool(self, tool: Tool | ToolFunction, *, session_id: str | None = None) -> None:
        """Add a tool to those of one session, or of all: see `Plugin.add_tool`."""
        self._running().change_tools(added(as_tool(tool)), session_id)

    def remove_tool(self, name: str, *, session_id: str | None = None) -> None:
        """Remove one of the tools of one session, or of all: see `Plugin.remove_tool`."""
        self._running().change_tools(removed(name), session_id)


class AsyncHost(BaseHost):
    """Requests that are awaited, in any task; they raise what those of `Host` do."""

    __slots__ = ()

    async def notify(self, level: AlertLevel, message: str) -> None:
        """Show the user an alert. Needs `uses=["notify"]`."""
        await self._running().ask_async("host/notify", NotifyParams(level=level, message=message))

    async def inject(self, text: str, *, session_id: str) -> None:
        """Put a text before the session's next model call, in the user's role. It starts no turn.

        Needs `uses=["inject"]`.
        """
        params = InjectParams(session_id=session_id, text=text)
        await self._running().ask_async("host/inject", params)

    async def submit(
        self,
        text: str,
        *,
        session_key: str,
        platform: str | None = None,
        user_id: str | None = None,
    ) -> SubmitResult:
        """Give the model a message, as if a user had written it; it begins a turn.

        It is always text for the model, and the user sees whose it is. `submission_end` tells its
        end, with the `message_id` of the result. Needs `uses=["submit"]`.

        Args:
            text: the message, at most 64 KiB.
            session_key: the conversation, as `ctx.session_key` has it.
            platform: only a conversation of this platform; None is any.
            user_id: only a conversation of this user; None is any.
        """
        params = SubmitParams(
            session_key=session_key, platform=platform, user_id=user_id, text=text
        )
        result = await self._running().ask_async("host/submit", params)
        return read("host/submit", result, SubmitResult)

    async def interrupt(self, reason: str, *, session_id: str, turn_id: str | None = None) -> bool:
        """Interrupt the session's turn, or only the turn that is given.

        Needs `uses=["interrupt"]`.

        Returns:
            True if a turn was interrupted.
        """
        params = InterruptParams(session_id=session_id, turn_id=turn_id, reason=reason)
        result = await self._running().ask_async("host/interrupt", params)
        return read("host/interrupt", result, InterruptResult).interrupted

    async def set_tools(
        self, tools: Iterable[Tool | ToolFunction], *, session_id: str | None = None
    ) -> None:
        """Replace the tools of one session, or of all: see `Plugin.set_tools`."""
        await self._running().set_tools_async(tools, session_id)

    async def add_tool(self, tool: Tool | ToolFunction, *, session_id: str | None = None) -> None:
        """Add a tool to those of one session, or of all: see `Plugin.add_tool`."""
        await self._running().change_tools_async(added(as_tool(tool)), session_id)

    async def remove_tool(self, name: str, *, session_id: str | None = None) -> None:
        """Remove one of the tools of one session, or of all: see `Plugin.remove_tool`."""
        await self._running().change_tools_async(removed(name), session_id)


def as_tool(tool: Tool | ToolFunction) -> Tool:
    """The tool, or the function as a tool."""
    return tool if isinstance(tool, Tool) else Tool(tool)


def read(method: str, result: Any, shape: type[T]) -> T:
    """What the host has answered to a request. Raises HostRefused if that is no answer."""
    try:
        return msgspec.convert(result, shape)
    except msgspec.ValidationError as exc:
        raise HostRefused(
            ErrorCode.INVALID_REQUEST, f"the host's answer to {method} makes no sense: {exc}"
        ) from None
