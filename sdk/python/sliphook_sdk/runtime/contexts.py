"""What a handler gets as `ctx`: what it works for, whether it is still wanted, and the way back to the host.

`Context` is for plain functions, whose requests to the host block; `AsyncContext` is for `async
def`, which awaits them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Protocol

import msgspec

from sliphook_sdk.errors import Cancelled, HostRefused
from sliphook_sdk.protocol import (
    AlertLevel,
    ErrorCode,
    InjectParams,
    InterruptParams,
    InterruptResult,
    Level,
    LogParams,
    NotifyParams,
    ProgressParams,
    ToolsParams,
    Uses,
)

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from typing_extensions import TypeVar

    from sliphook_sdk.registration.tools import Tool, ToolFunction
    from sliphook_sdk.service import Service
    from sliphook_sdk.wire.call import Call

    ConfigT = TypeVar("ConfigT", default=Any)
else:
    from typing import TypeVar

    ConfigT = TypeVar("ConfigT")


class HostLink(Protocol):
    """The way to the host; a handler's `ctx` is its face."""

    def notify(self, method: str, params: msgspec.Struct) -> None:
        """Send a notification."""
        ...

    def ask(self, method: str, params: msgspec.Struct) -> Any:
        """Send a request and block until its result is here. Raises HostRefused."""
        ...

    async def ask_async(self, method: str, params: msgspec.Struct) -> Any:
        """Send a request and await its result. Raises HostRefused."""
        ...


class BaseContext(Generic[ConfigT]):
    """What both kinds of handler have.

    Attributes:
        session_id: the session that this is about.
        turn_id: the turn; None outside one.
        deadline: the moment on `time.monotonic()` after which nobody waits for the answer; None for
            events.
    """

    __slots__ = ("_call", "_service", "deadline", "session_id", "turn_id")

    def __init__(
        self,
        service: Service,
        call: Call,
        session_id: str,
        turn_id: str | None,
        timeout_s: float | None,
    ) -> None:
        self._service = service
        self._call = call
        self.session_id = session_id
        self.turn_id = turn_id
        self.deadline = None if timeout_s is None else call.arrived + timeout_s

    @property
    def config(self) -> ConfigT:
        """The user's settings for the plugin: the Struct that the author gave, or else a dict."""
        config: ConfigT = self._service.config
        return config

    @property
    def data_dir(self) -> Path:
        """A folder that is the plugin's own."""
        from pathlib import Path  # only where it is asked for: it would slow every plugin's start

        return Path(self._service.data_dir)

    @property
    def traceparent(self) -> str | None:
        """The agent's span that this is part of, as W3C Trace Context writes it, for spans of the plugin's own; None without one."""
        return self._call.traceparent

    @property
    def cancelled(self) -> bool:
        """The host has withdrawn the request: the user interrupted, or time was up.

        The answer will be dropped.
        """
        return self._call.cancelled

    def raise_if_cancelled(self) -> None:
        """Leave the handler where it is cancelled.

        Raises:
            Cancelled: it is. Let it through.
        """
        if self._call.cancelled:
            raise Cancelled

    def log(self, level: Level, message: str, **fields: Any) -> None:
        """Write a line to the plugin's log, with values beside it."""
        self._service.link.notify(
            "host/log", LogParams(level=level, message=message, fields=fields or None)
        )

    def progress(self, message: str | None = None, fraction: float | None = None) -> None:
        """Say how far the work has come.

        It never extends the timeout, and says nothing in an event's handler or after a cancel.

        Args:
            message: what is being done.
            fraction: 0 to 1.
        """
        if isinstance(self._call.id, int) and not self._call.cancelled:
            self._service.link.notify(
                "$/progress", ProgressParams(id=self._call.id, message=message, fraction=fraction)
            )

    def _needs(self, grant: Uses) -> None:
        self._service.plugin.require(grant)


class Context(BaseContext[ConfigT]):
    """`ctx` of a plain function. What asks the host blocks until it has answered."""

    __slots__ = ()

    def wait(self, seconds: float) -> bool:
        """Sleep, but no longer than anybody waits for the answer.

        Args:
            seconds: how long.

        Returns:
            True as soon as the call is cancelled, False when the time is up.
        """
        return self._call.wait(seconds)

    def notify(self, level: AlertLevel, message: str) -> None:
        """Show the user an alert. Needs `uses=["notify"]`.

        Raises:
            HostRefused: it is not granted, or there were too many.
        """
        self._needs("notify")
        self._service.link.ask("host/notify", NotifyParams(level=level, message=message))

    def inject(self, text: str) -> None:
        """Put a text before the session's next model call, in the user's role. It starts no turn.

        Needs `uses=["inject"]`.

        Raises:
            HostRefused: it is not granted, too long, too many wait, or the session is gone.
        """
        self._needs("inject")
        self._service.link.ask("host/inject", InjectParams(session_id=self.session_id, text=text))

    def interrupt(self, reason: str) -> bool:
        """Interrupt the turn that this call belongs to. Needs `uses=["interrupt"]`.

        Returns:
            True where it was interrupted, False where it is over already.

        Raises:
            HostRefused: it is not granted, or the session is gone.
        """
        self._needs("interrupt")
        params = InterruptParams(session_id=self.session_id, turn_id=self.turn_id, reason=reason)
        return _interrupted(self._service.link.ask("host/interrupt", params))

    def set_tools(
        self, tools: Iterable[Tool | ToolFunction], *, session_id: str | None = None
    ) -> None:
        """Replace the plugin's tools, as `Plugin.set_tools` does."""
        self._service.plugin.set_tools(tools, session_id=session_id)


class AsyncContext(BaseContext[ConfigT]):
    """`ctx` of an `async def`.

    What asks the host is awaited; a cancel raises `asyncio.CancelledError` in the handler.
    """

    __slots__ = ()

    async def notify(self, level: AlertLevel, message: str) -> None:
        """Show the user an alert. Needs `uses=["notify"]`.

        Raises:
            HostRefused: it is not granted, or there were too many.
        """
        self._needs("notify")
        await self._service.link.ask_async(
            "host/notify", NotifyParams(level=level, message=message)
        )

    async def inject(self, text: str) -> None:
        """Put a text before the session's next model call, in the user's role. It starts no turn.

        Needs `uses=["inject"]`.

        Raises:
            HostRefused: it is not granted, too long, too many wait, or the session is gone.
        """
        self._needs("inject")
        await self._service.link.ask_async(
            "host/inject", InjectParams(session_id=self.session_id, text=text)
        )

    async def interrupt(self, reason: str) -> bool:
        """Interrupt the turn that this call belongs to. Needs `uses=["interrupt"]`.

        Returns:
            True where it was interrupted, False where it is over already.

        Raises:
            HostRefused: it is not granted, or the session is gone.
        """
        self._needs("interrupt")
        params = InterruptParams(session_id=self.session_id, turn_id=self.turn_id, reason=reason)
        return _interrupted(await self._service.link.ask_async("host/interrupt", params))

    async def set_tools(
        self, tools: Iterable[Tool | ToolFunction], *, session_id: str | None = None
    ) -> None:
        """Replace the plugin's tools of one session, or of all where `session_id` is None.

        Needs `uses=["tools"]`.

        Raises:
            HostRefused: it is not granted, or a name is taken; the old tools stay.
        """
        self._needs("tools")
        with self._service.toolbox.changing(tools, session_id) as specs:
            await self._service.link.ask_async(
                "host/tools", ToolsParams(session_id=session_id, tools=specs)
            )


def _interrupted(result: Any) -> bool:
    try:
        return msgspec.convert(result, InterruptResult).interrupted
    except msgspec.ValidationError as exc:
        raise HostRefused(
            ErrorCode.INVALID_REQUEST, f"the host's answer to host/interrupt makes no sense: {exc}"
        ) from None
