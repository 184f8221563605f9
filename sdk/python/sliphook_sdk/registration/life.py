"""The author's functions for the start and the end of the plugin."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from sliphook_sdk.errors import AnswerError, RpcError, describe
from sliphook_sdk.protocol import ErrorCode

from .handlers import Handler

if TYPE_CHECKING:
    from collections.abc import Callable

    Moment = Literal["on_start", "on_shutdown"]


class Disabled(msgspec.Struct, frozen=True):
    """The plugin does not take part; made by `disabled`.

    Attributes:
        reason: why; the user reads it.
    """

    reason: str


def disabled(reason: str) -> Disabled:
    """What `on_start` returns if the plugin cannot work here; the user reads the reason.

    A guard that is disabled still guards: what it would be asked is denied.
    """
    return Disabled(reason)


class LifeHandler(Handler):
    """A function that is called once, at the start or at the end.

    Attributes:
        moment: which of the two.
        when_installed: call it also if the host only reads the manifest.
    """

    def __init__(self, function: Callable[..., Any], moment: Moment) -> None:
        super().__init__(function)
        self.moment = moment
        self.when_installed = False
        try:
            self.signature.bind(**({"ctx": object()} if self.wants_ctx else {}))
        except TypeError as exc:
            raise self.wrong(f"cannot be {moment}, which is given nothing but ctx: {exc}") from None

    def finish(self, returned: Any) -> Any:
        """Why the plugin does not take part, or None; for `on_shutdown` the answer to the host."""
        if self.moment == "on_shutdown":
            return {}
        if returned is None:
            return None
        if not isinstance(returned, Disabled) or not returned.reason:
            raise AnswerError(
                f"returned {type(returned).__name__}; on_start returns None or disabled(reason)"
            )
        return returned.reason

    def failed(self, exc: BaseException) -> Any:
        """An error that says where in the author's file it was raised; the end goes on."""
        if self.moment == "on_shutdown":
            return {}
        raise RpcError(
            ErrorCode.INTERNAL_ERROR,
            f"{self.moment}: {self.name}() failed: {describe(exc)} ({self._place_of(exc)})",
        )

    def _place_of(self, exc: BaseException) -> str:
        file = self.where.rpartition(":")[0]
        frames = traceback.extract_tb(exc.__traceback__)
        own = [frame for frame in frames if frame.filename == file]
        return f"{file}:{own[-1].lineno}" if own else self.where
