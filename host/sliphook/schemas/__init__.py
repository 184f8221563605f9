"""JSON Schemas of others: read, refused if they cannot be used, and checked in bounded time."""

from __future__ import annotations

from .check import check_schema, why_arguments_do_not_fit
from .errors import SchemaError

__all__ = ["SchemaError", "check_schema", "why_arguments_do_not_fit"]
