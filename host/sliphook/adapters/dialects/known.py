"""Pure: every agent that our plugins can be attached to."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from . import claude, codex, copilot, cursor, gemini
from .dialect import Dialect

DIALECTS: Final[Mapping[str, Dialect]] = MappingProxyType(
    {module.DIALECT.name: module.DIALECT for module in (claude, codex, gemini, copilot, cursor)}
)
"""By the name that `attach` takes."""
