"""What a fake plugin got from its host: messages, and refusals of its requests."""

from __future__ import annotations

from typing import Any

import msgspec

from sliphook.errors import SliphookError


class HostRefused(SliphookError):
    """The host answered a request of the plugin with an error.

    Attributes:
        code: the error's code.
    """

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Received(msgspec.Struct, frozen=True, kw_only=True):
    """One message of the host to the plugin.

    Attributes:
        method: the method.
        params: the params as in JSON.
        id: the id of a request; None for a notification.
    """

    method: str
    params: dict[str, Any]
    id: int | None = None

    @property
    def name(self) -> str:
        """The method without its kind: `pre_tool_call` for `hook/pre_tool_call`."""
        return self.method.partition("/")[2]
