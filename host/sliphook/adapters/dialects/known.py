"""Pure: every agent that our plugins can be attached to."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from . import claude
from .dialect import Dialect

DIALECTS: Final[Mapping[str, Dialect]] = MappingProxyType(
    {dialect.name: dialect for dialect in (claude.DIALECT,)}
)
"""By the name that `attach` takes."""
