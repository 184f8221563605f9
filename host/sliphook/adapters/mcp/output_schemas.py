"""Pure: what the tools of a server say of their structured content, and whether they keep to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from sliphook.schemas import SchemaError, TooManySchemas, check_schema, find_unfit
from sliphook_sdk.protocol.limits import MAX_SCHEMA_BYTES, MAX_SCHEMA_PARTS


class OutputSchemas:
    """The output schemas of the tools that were listed last. One that cannot be used is none.

    Attributes:
        are_known: the tools have been listed.
    """

    def __init__(self) -> None:
        self.are_known = False
        self._schemas: dict[str, dict[str, Any]] = {}

    def list(self, schemas: Mapping[str, dict[str, Any] | None]) -> None:
        """Take the schemas of a new list, by the server's names of the tools."""
        self.are_known = True
        self._schemas = {
            name: schema
            for name, schema in schemas.items()
            if schema is not None and _can_be_used(schema)
        }

    def has(self, name: str) -> bool:
        """Whether the tool has promised structured content."""
        return name in self._schemas

    def why_not(self, name: str, structured: Any) -> str | None:
        """Why the structured content of a result is not what the tool has promised, or None.

        None also if it takes too long to tell: the tool has done its work, and the model is not to
        call it again.
        """
        unfit = find_unfit(structured, self._schemas[name], "the tool's outputSchema")
        return unfit.why if unfit is not None and unfit.is_known else None


def _can_be_used(schema: dict[str, Any]) -> bool:
    sent = msgspec.json.encode(schema)
    if len(sent) > MAX_SCHEMA_BYTES:
        return False
    try:
        # as it is when a value is checked: an infinite number has become null
        check_schema(msgspec.json.decode(sent), MAX_SCHEMA_PARTS)
    except (SchemaError, TooManySchemas):
        return False
    return True
