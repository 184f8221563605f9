"""Lists of tools as the SDK can read them: it would refuse a whole list for the fault of one tool.

Of a tool only what is used is left. `inputSchema` may be missing or say nothing, which servers
without such a library write for a tool without arguments.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, Final, TypeGuard

import mcp_types as types
import msgspec
from anyio.abc import ObjectReceiveStream
from mcp.client import Transport
from mcp.shared.message import SessionMessage

from sliphook.quoting import quote
from sliphook.schemas.keywords import is_list, is_object

from .bounds import MAX_DESCRIPTION_CHARS

MOST_LIST_BYTES: Final = 8 * 1024 * 1024
"""Of what is used of a whole list, of which a server may send 32 pages of 16 MiB."""
_OBJECT_BYTES: Final = 1024
"""What a tool takes in memory beside its text."""
_MOST_LINES: Final = 20
_NAME_CHARS: Final = 64


class ToolLists:
    """Those that come over a transport.

    Attributes:
        left_out: the lines of the tools that could not be read, since `begin`, each once; at most
            20. They may be quoted.
        is_full: so much has come since `begin` that the rest is left out.
    """

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """The next page is the first of a list."""
        self.left_out: dict[str, None] = {}
        self.is_full = False
        self._bytes = 0

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
                found = readable(tool)
            except ValueError as error:
                self._leave_out(str(error))
                continue
            self._bytes += len(msgspec.json.encode(found)) + _OBJECT_BYTES
            self.is_full = self._bytes > MOST_LIST_BYTES
            if self.is_full:
                name = found["name"][:_NAME_CHARS]
                self._leave_out(f"{name!r}, and those behind it: the list has more than 8 MiB")
                break
            read.append(found)
        return {**result, "tools": read}

    def _leave_out(self, line: str) -> None:
        if len(self.left_out) < _MOST_LINES:
            self.left_out[line] = None


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
        found["description"] = description[:MAX_DESCRIPTION_CHARS]
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
