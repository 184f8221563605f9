"""Ids that nobody else has, and the time as payloads give it."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime


def new_id() -> str:
    """An id that nobody else has."""
    return uuid.uuid4().hex[:16]


def now() -> str:
    """The time as payloads give it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
