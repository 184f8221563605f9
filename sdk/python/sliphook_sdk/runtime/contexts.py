"""What a handler gets as `ctx`: its session, its deadline and cancel, and requests to the host.

A plain function gets a `Context`, whose requests block. An `async def` gets an `AsyncContext`,
whose requests are awaited.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic

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
    Uses,
)

from .call_fields import CallFields
from .state import require

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from typing_extensions import TypeVar

    from sliphook_sdk.protocol import Payload
    from sliphook_sdk.registration.tools import Tool, ToolFunction
    from sliphook_sdk.wire.call import Call

    from .state import Runtime

    ConfigT = TypeVar("ConfigT", default=Any)
else:
    from typing import TypeVar

    ConfigT = TypeVar("ConfigT")


# read here: msgspec reads a type at its first use, and not safely in two threads
msgspec.json.Decoder(InterruptResult)


class BaseContext(CallFields, Generic[ConfigT]):
    """What both kinds of handler have."""

    __slots__ = ("_call", "_runtime")

    def __init__(self, runtime: Runtime, call: Call, payload: Payload) -> None:
        super().__init__(payload)
        self._runtime = runtime
        self._call = call

    @property
    def deadline(self) -> float | None:
        """When the host stops waiting for the answer, on `time.monotonic()`; None for events."""
        timeout_s = getattr(self._payload, "timeout_s", None)
        return self._call.arrived + timeout_s if isinstance(timeout_s, float) else None

    @property
    def config(self) -> ConfigT:
        """The user's settings for the plugin: the author's Struct, or a dict without one."""
        config: ConfigT = self._runtime.config
        return config

    @property
    def data_dir(self) -> Path:
        """The plugin's own folder."""
        from pathlib import Path  # imported here, since it would slow every plugin's start

        return Path(self._runtime.data_dir)

    @property
    def traceparent(self) -> str | None:
        """The agent's span that the call is part of, in the form of W3C Trace Context, or None.

        It is the parent of spans that the plugin makes.
        """
        return self._call.traceparent

    @property
    def cancelled(self) -> bool:
        """The host has withdrawn the request: the user interrupted, or the time was up.

        The answer will be dropped.
        """
        return self._call.cancelled

    def raise_if_cancelled(self) -> None:
        """Leave the handler if its call is cancelled.

        Raises:
            Cancelled: it is. Do not catch it.
        """
        if self._call.cancelled:
            raise Cancelled

    def log(self, level: Level, message: str, **fields: Any) -> None:
        """Write a line to the plugin's log, with values beside the message."""
        self._runtime.link.notify(
            "host/log", LogParams(level=level, message=message, fields=fields or None)
        )

    def progress(self, message: str | None = None, fraction: float | None = None) -> None:
        """Report how far the work is.

        It does not extend the timeout. In an event's handler and after a cancel it does nothing.

        Args:
            message: what is being done.
            fraction: 0 to 1.
        """
        if isinstance(self._call.id, int) and not self._call.cancelled:
            self._runtime.link.notify(
                "$/progress", ProgressParams(id=self._call.id, message=message, fraction=fraction)
            )

    def _require(self, grant: Uses) -> None:
        require(self._runtime.uses, grant)


class Context(BaseContext[ConfigT]):
    """`ctx` of a plain function. Requests to the host block until it has answered."""

    __slots__ = ()

    def wait(self, seconds: float) -> bool:
        """Sleep, but not after the call is cancelled.

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
        self._require("notify")
        self._runtime.link.ask("host/notify", NotifyParams(level=level, message=message))

    def inject(self, text: str) -> None:
        """Put a text before the session's next model call, in the user's role. It starts no turn.

        Needs `uses=["inject"]`.

        Raises:
            HostRefused: it is not granted, the text is too long, too many texts wait, or the
                session has ended.
        """
        self._require("inject")
        self._runtime.link.ask("host/inject", InjectParams(session_id=self.session_id, text=text))

    def interrupt(self, reason: str) -> bool:
        """Interrupt the turn that this call belongs to. Needs `uses=["interrupt"]`.

        Returns:
            True if the turn was interrupted, False if it was already over.

        Raises:
            HostRefused: it is not granted, or the session has ended.
        """
        self._require("interrupt")
        params = InterruptParams(session_id=self.session_id, turn_id=self.turn_id, reason=reason)
        return _interrupted(self._runtime.link.ask("host/interrupt", params))

    def set_tools(
        self, tools: Iterable[Tool | ToolFunction], *, session_id: str | None = None
    ) -> None:
        """Replace the plugin's tools, as `Plugin.set_tools` does."""
        self._runtime.set_tools(tools, session_id)


class AsyncContext(BaseContext[ConfigT]):
    """`ctx` of an `async def`.

    Requests to the host are awaited. A cancel raises `asyncio.CancelledError` in the handler.
    """

    __slots__ = ()

    async def notify(self, level: AlertLevel, message: str) -> None:
        """Show the user an alert. Needs `uses=["notify"]`.

        Raises:
            HostRefused: it is not granted, or there were too many.
        """
        self._require("notify")
        await self._runtime.link.ask_async(
            "host/notify", NotifyParams(level=level, message=message)
        )

    async def inject(self, text: str) -> None:
        """Put a text before the session's next model call, in the user's role. It starts no turn.

        Needs `uses=["inject"]`.

        Raises:
            HostRefused: it is not granted, the text is too long, too many texts wait, or the
                session has ended.
        """
        self._require("inject")
        await self._runtime.link.ask_async(
            "host/inject", InjectParams(session_id=self.session_id, text=text)
        )

    async def interrupt(self, reason: str) -> bool:
        """Interrupt the turn that this call belongs to. Needs `uses=["interrupt"]`.

        Returns:
            True if the turn was interrupted, False if it was already over.

        Raises:
            HostRefused: it is not granted, or the session has ended.
        """
        self._require("interrupt")
        params = InterruptParams(session_id=self.session_id, turn_id=self.turn_id, reason=reason)
        return _interrupted(await self._runtime.link.ask_async("host/interrupt", params))

    async def set_tools(
        self, tools: Iterable[Tool | ToolFunction], *, session_id: str | None = None
    ) -> None:
        """Replace the plugin's tools of one session, or of all if `session_id` is None.

        Needs `uses=["tools"]`.

        Raises:
            HostRefused: it is not granted, or a name is taken; the old tools stay.
        """
        await self._runtime.set_tools_async(tools, session_id)


def _interrupted(result: Any) -> bool:
    try:
        return msgspec.convert(result, InterruptResult).interrupted
    except msgspec.ValidationError as exc:
        raise HostRefused(
            ErrorCode.INVALID_REQUEST, f"the host's answer to host/interrupt makes no sense: {exc}"
        ) from None
