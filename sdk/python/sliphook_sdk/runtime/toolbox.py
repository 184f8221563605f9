"""Pure: the tools that the host may call now. They may change while the plugin runs."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from sliphook_sdk.errors import RpcError
from sliphook_sdk.protocol import ErrorCode
from sliphook_sdk.registration.tools import Tool

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping

    from sliphook_sdk.protocol import ToolSpec
    from sliphook_sdk.registration.tools import ToolFunction


class Toolbox:
    """The tools of all sessions, and those of single sessions."""

    def __init__(self, declared: Mapping[str, Tool]) -> None:
        self._tools: dict[str | None, dict[str, Tool]] = {None: dict(declared)}

    def find(self, name: str, session_id: str) -> Tool:
        """The tool of that name; a session's tool hides one of all sessions.

        Raises:
            RpcError: there is none.
        """
        tool = self._tools.get(session_id, {}).get(name) or self._tools[None].get(name)
        if tool is None:
            raise RpcError(ErrorCode.INVALID_PARAMS, f"there is no tool {name!r} here")
        return tool

    @contextmanager
    def changing(
        self, tools: Iterable[Tool | ToolFunction], session_id: str | None
    ) -> Generator[list[ToolSpec]]:
        """Replace the tools of a scope, around the request that tells the host.

        Inside, both the old and the new tools can be called. If the request fails, the old ones
        stay.

        Raises:
            ValueError: two of the new tools have the same name.
        """
        new: dict[str, Tool] = {}
        for tool in (tool if isinstance(tool, Tool) else Tool(tool) for tool in tools):
            if tool.spec.name in new:
                raise ValueError(f"two of the tools are called {tool.spec.name!r}")
            new[tool.spec.name] = tool
        old = self._tools.get(session_id, {})
        # the host may call a new tool before its reply is read; calls of old ones may be on the way
        self._tools[session_id] = {**old, **new}
        try:
            yield [tool.spec for tool in new.values()]
        except BaseException:
            self._tools[session_id] = old
            raise
        self._tools[session_id] = new

    def forget(self, session_id: str) -> None:
        """Remove the tools of a session that has ended."""
        self._tools.pop(session_id, None)
