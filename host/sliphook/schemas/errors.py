"""Why a schema is refused."""

from __future__ import annotations

from sliphook.errors import SliphookError


class SchemaError(SliphookError):
    """A schema cannot be used. Its author is at fault; str() is one line for people.

    Attributes:
        path: where in the schema, as in `properties.city.type`; empty for the whole.
    """

    def __init__(self, why: str, path: str = "") -> None:
        super().__init__(f"{path} {why}" if path else why)
        self.why = why
        self.path = path


class TooManySchemas(SchemaError):
    """It has more schemas in it than the caller allows, which is fewer than one may have."""
