"""Pure: a schema of a server as it is sent on, and what it weighs."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from sliphook.schemas import SchemaError, check_schema
from sliphook_sdk.protocol.limits import MAX_SCHEMA_BYTES, MAX_SCHEMA_PARTS


class SentSchema(NamedTuple):
    """A schema that can be used.

    Attributes:
        schema: as the host reads it: an infinite number has become null.
        parts: how many schemas it counts as.
    """

    schema: dict[str, Any]
    parts: int


def sent_schema(schema: dict[str, Any], at_most: int = MAX_SCHEMA_PARTS) -> SentSchema:
    """The schema as it is sent.

    Args:
        schema: as the server lists it.
        at_most: how many schemas it may count as.

    Raises:
        TooManySchemas: it counts as more, but not as more than one may.
        SchemaError: it cannot be used.
    """
    body = msgspec.json.encode(schema)
    if len(body) > MAX_SCHEMA_BYTES:
        raise SchemaError(f"it has {len(body):,} bytes; at most {MAX_SCHEMA_BYTES:,} are allowed")
    sent = msgspec.json.decode(body)
    return SentSchema(sent, check_schema(sent, at_most))
