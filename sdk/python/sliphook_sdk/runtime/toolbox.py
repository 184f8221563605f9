"""Pure: the tools that the host may call now. They may change while the plugin runs."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from sliphook_sdk.errors import RpcError
from sliphook_sdk.protocol import ErrorCode
from sliphook_sdk.wire.given import check_text

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Iterable, Mapping

    from sliphook_sdk.protocol import ToolSpec
    from sliphook_sdk.registration.tools import Tool

    Change = Callable[[Mapping[str, Tool]], Iterable[Tool]]
    """The new tools of a scope, from those that it has."""


class Toolbox:
    """The tools of all sessions, and those of single sessions."""

    def __init__(self, registered: Mapping[str, Tool]) -> None:
        self._declared: Collection[str] = ()
        self._tools: dict[str | None, dict[str, Tool]] = {None: dict(registered)}

    def declare(self) -> list[ToolSpec]:
        """The tools of all sessions, for the manifest."""
        self._declared = tuple(self._tools[None])
        return [tool.spec for tool in self._tools[None].values()]

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
    def changing(self, change: Change, session_id: str | None) -> Generator[list[ToolSpec]]:
        """Change the tools of a scope, around the request that tells the host.

        Inside, both the old and the new tools can be called. If the request fails, the old ones
        stay.

        Raises:
            ValueError: two of the new tools have the same name.
        """
        old = self._tools.get(session_id, {})
        new: dict[str, Tool] = {}
        for tool in change(old):
            if tool.spec.name in new:
                raise ValueError(f"two of the tools are called {tool.spec.name!r}")
            new[tool.spec.name] = tool
        # the host may call a new tool before its reply is read; calls of old ones may be on the way
        self._tools[session_id] = {**old, **new}
        try:
            yield [tool.spec for tool in new.values()]
        except BaseException:
            self._tools[session_id] = old
            raise
        self._tools[session_id] = new

    def declared_without(self, tools: Iterable[Tool]) -> list[str]:
        """The tools of the manifest that can be called now, and that are not among `tools`."""
        kept = {tool.spec.name for tool in tools}
        return [name for name in self._tools[None] if name in self._declared and name not in kept]

    def forget(self, session_id: str) -> None:
        """Remove the tools of a session that has ended."""
        self._tools.pop(session_id, None)


def added(tool: Tool) -> Change:
    """The tools, and one more.

    The change raises RegistrationError if one has that name.
    """

    def change(now: Mapping[str, Tool]) -> list[Tool]:
        name = tool.spec.name
        if name in now:
            raise tool.wrong(
                f"cannot be added as the tool {name!r}: {now[name].name}() at {now[name].where} is"
            )
        return [*now.values(), tool]

    return change


def removed(name: str) -> Change:
    """The tools without one. The change raises LookupError if there is none of that name."""
    check_text("name", name)

    def change(now: Mapping[str, Tool]) -> list[Tool]:
        if name not in now:
            raise LookupError(f"there is no tool {name!r} among {', '.join(now) or 'no tools'}")
        return [tool for tool in now.values() if tool.spec.name != name]

    return change
