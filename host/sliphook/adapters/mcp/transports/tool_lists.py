"""Lists of tools as the SDK can read them: it would refuse a whole list for the fault of one tool.

Of a tool only what is used is left. `inputSchema` may be missing or say nothing, which servers
without such a library write for a tool without arguments.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, Final, TypeGuard

import mcp_types as types
from anyio.abc import ObjectReceiveStream
from mcp.client import Transport
from mcp.shared.message import SessionMessage

from sliphook.quoting import quote
from sliphook.schemas.keywords import is_list, is_object

_MOST_LINES: Final = 20
_NAME_CHARS: Final = 64


class ToolLists:
    """Those that come over a transport.

    Attributes:
        left_out: the lines of the tools that could not be read, since this was cleared, each once;
            at most 20. They may be quoted.
    """

    def __init__(self) -> None:
        self.left_out: dict[str, None] = {}

    @asynccontextmanager
    async def over(self, transport: Transport) -> AsyncGenerator[tuple[Any, Any]]:
        """The same transport, with lists that can be read."""
        async with transport as (read, write):
            yield _Reading(read, self), write

    def read(self, result: dict[str, Any]) -> dict[str, Any]:
        """A result of the server; if it has a list of tools, with those that can be read."""
        tools = result.get("tools")
        if not is_list(tools):
            return result
        read: list[dict[str, Any]] = []
        for tool in tools:
            try:
                read.append(readable(tool))
            except ValueError as error:
                if len(self.left_out) < _MOST_LINES:
                    self.left_out[str(error)] = None
        return {**result, "tools": read}


def readable(tool: object) -> dict[str, Any]:
    """What is used of a tool, as the SDK can read it.

    Raises:
        ValueError: there is no such tool; str() names it, and may be quoted.
    """
    if not is_object(tool):
        raise ValueError(f"{quote(str(tool), _NAME_CHARS)}: it is no object")
    name, description = tool.get("name"), tool.get("description")
    if not isinstance(name, str):
        raise ValueError(f"{quote(str(name), _NAME_CHARS)}: its name is no text")
    takes, gives = tool.get("inputSchema"), tool.get("outputSchema")
    if takes is not None and not _describes_object(takes):
        raise ValueError(f"{name[:_NAME_CHARS]!r}: its schema must describe an object")
    found: dict[str, Any] = {"name": name, "inputSchema": {"type": "object", **(takes or {})}}
    if isinstance(description, str):
        found["description"] = description
    if _describes_object(gives):
        found["outputSchema"] = {"type": "object", **gives}
    return found


def _describes_object(schema: object) -> TypeGuard[dict[str, Any]]:
    return is_object(schema) and schema.get("type", "object") == "object"


class _Reading(ObjectReceiveStream[SessionMessage | Exception]):
    """What comes over a transport."""

    def __init__(self, inner: Any, lists: ToolLists) -> None:
        self._inner = inner
        self._lists = lists

    async def receive(self) -> SessionMessage | Exception:
        message: SessionMessage | Exception = await self._inner.receive()
        if isinstance(message, SessionMessage) and isinstance(
            response := message.message, types.JSONRPCResponse
        ):
            response.result = self._lists.read(response.result)
        return message

    async def aclose(self) -> None:
        await self._inner.aclose()
