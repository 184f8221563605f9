"""JSON Schemas of others: read, refused if they cannot be used, and checked in bounded time."""

from __future__ import annotations

from .check import check_schema, compile_in_steps, find_unfit, why_arguments_do_not_fit
from .errors import SchemaError, TooManySchemas
from .providers import PROVIDERS, blamed_tool, tool_for, why_tool_is_refused

__all__ = [
    "PROVIDERS",
    "SchemaError",
    "TooManySchemas",
    "blamed_tool",
    "check_schema",
    "compile_in_steps",
    "find_unfit",
    "tool_for",
    "why_arguments_do_not_fit",
    "why_tool_is_refused",
]
