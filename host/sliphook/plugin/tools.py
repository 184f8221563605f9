"""Pure: which tool belongs to which plugin, for all sessions or for one, and who may have a name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from .manifest import PluginTool


class ToolOffer(msgspec.Struct, frozen=True, kw_only=True):
    """One tool that the model may be offered."""

    name: str
    description: str
    input_schema: dict[str, Any]
    plugin: str
    timeout_s: float

    def openai(self) -> dict[str, Any]:
        """The tool in the shape of OpenAI's chat completions."""
        function = {
            "name": self.name,
            "description": self.description,
            "parameters": self.input_schema,
        }
        return {"type": "function", "function": function}

    def anthropic(self) -> dict[str, Any]:
        """The tool in the shape of Anthropic's messages."""
        return {
            "name": self.name,
            "description": self.description,
            "input_schema": self.input_schema,
        }


class CommandOffer(msgspec.Struct, frozen=True, kw_only=True):
    """One slash command of a plugin."""

    name: str
    description: str
    plugin: str


class ToolTable:
    """The tools of all plugins, by plugin and scope; the scope None is every session."""

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        self._reserved = frozenset(reserved)
        self._tools: dict[str, dict[str | None, tuple[PluginTool, ...]]] = {}

    def is_reserved(self, name: str) -> bool:
        """The agent has the name."""
        return name in self._reserved

    def replace(self, plugin: str, session_id: str | None, tools: Sequence[PluginTool]) -> None:
        """Put `tools` in the place of the plugin's tools of that scope."""
        self._tools.setdefault(plugin, {})[session_id] = tuple(tools)

    def remove(self, plugin: str) -> None:
        """Forget the plugin's tools of every scope."""
        self._tools.pop(plugin, None)

    def end_session(self, session_id: str) -> None:
        """A session's tools go with it."""
        for scopes in self._tools.values():
            scopes.pop(session_id, None)

    def holder(self, name: str, *, besides: str) -> str | None:
        """Who else has the name: a plugin, `the agent`, or None."""
        if name in self._reserved:
            return "the agent"
        for plugin, scopes in self._tools.items():
            if plugin != besides and any(
                tool.name == name for tools in scopes.values() for tool in tools
            ):
                return plugin
        return None

    def offers(self, session_id: str | None) -> list[ToolOffer]:
        """The tools of a session: its own and those of every session.

        Of one name the session's own counts.
        """
        found: dict[str, ToolOffer] = {}
        for plugin, scopes in self._tools.items():
            for scope in dict.fromkeys((None, session_id)):
                for tool in scopes.get(scope, ()):
                    found[tool.name] = ToolOffer(
                        name=tool.name,
                        description=tool.description,
                        input_schema=tool.input_schema,
                        plugin=plugin,
                        timeout_s=tool.timeout_s,
                    )
        return list(found.values())

    def find(self, name: str, session_id: str | None) -> ToolOffer | None:
        """The tool of that name in the session, or None."""
        return next((offer for offer in self.offers(session_id) if offer.name == name), None)
