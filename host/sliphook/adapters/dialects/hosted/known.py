"""Pure: every system whose hooks run here."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from . import agent_code, claude, codex, copilot, cursor, docker_agent, gemini
from .hosted import Hosted

SYSTEMS: Final[Mapping[str, Hosted]] = MappingProxyType(
    {
        module.HOSTED.name: module.HOSTED
        for module in (claude, docker_agent, agent_code, codex, gemini, copilot, cursor)
    }
)
"""By the name that is recorded."""
