"""Pure: what the tools of a server say of their structured content, and whether they keep to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sliphook.schemas import SchemaError, find_unfit

from .sent_schemas import sent_schema


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
            name: sent
            for name, schema in schemas.items()
            if schema is not None and (sent := _usable(schema)) is not None
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


def _usable(schema: dict[str, Any]) -> dict[str, Any] | None:
    try:
        return sent_schema(schema).schema
    except SchemaError:
        return None
