"""One more tool for a server that has resources: it lists them, and reads one."""

from __future__ import annotations

from typing import Any, Final

from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import Resource
from pydantic import ValidationError

from .names import Offered
from .transports.lines import in_a_line, say

MOST_LISTED: Final = 100
_URI: Final = {"type": "string", "description": "which one; without it all are listed"}
SCHEMA: Final = {"type": "object", "properties": {"uri": _URI}}


async def resource_tool(client: Client, server: str) -> list[Offered]:
    """The tool, if the server has resources. One that cannot list them has none."""
    if client.server_capabilities.resources is None:
        return []
    try:
        has_some = (await client.list_resources()).resources or (
            await client.list_resource_templates()
        ).resource_templates
    except (MCPError, ValidationError) as exc:
        say(f"its resources are left out: {in_a_line(exc)}")
        return []
    if not has_some:
        return []
    description = "Read a resource of this server by its URI, or list them."
    return [Offered(f"{server}_read_resource", description, SCHEMA)]


async def read_resource(client: Client, uri: str | None) -> list[dict[str, Any]]:
    """The content blocks of a resource, or links to all.

    Raises:
        MCPError: the server refuses it.
    """
    if uri is None:
        listed = (await client.list_resources()).resources
        links = [_link(one) for one in listed[:MOST_LISTED]]
        return [{"type": "text", "text": "\n".join(links) or "there are none"}]
    contents = (await client.read_resource(uri)).contents
    dumped = [one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in contents]
    return [{"type": "resource", "resource": one} for one in dumped]


def _link(resource: Resource) -> str:
    words = f"{resource.uri} ({resource.name})"
    return f"{words}: {resource.description}" if resource.description else words
