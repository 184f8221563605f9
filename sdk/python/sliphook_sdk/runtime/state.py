"""The state of a running plugin, which its handlers' contexts share, and its way to the host."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Protocol

from sliphook_sdk.errors import HostRefused
from sliphook_sdk.protocol import ErrorCode, ToolsParams, Uses

from .toolbox import Toolbox

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    import msgspec

    from sliphook_sdk.registration.tools import Tool, ToolFunction


class HostLink(Protocol):
    """Sends messages to the host."""

    def notify(self, method: str, params: msgspec.Struct) -> None:
        """Send a notification."""
        ...

    def ask(self, method: str, params: msgspec.Struct) -> Any:
        """Send a request and block until its result has arrived. Raises HostRefused."""
        ...

    async def ask_async(self, method: str, params: msgspec.Struct) -> Any:
        """Send a request and await its result. Raises HostRefused."""
        ...


class Runtime:
    """What the handlers of a running plugin share.

    Attributes:
        link: the way to the host.
        uses: the grants that the plugin asks for.
        toolbox: the tools that can be called now.
        config: the user's settings, as the author's Struct or a dict.
        data_dir: the plugin's own folder.
    """

    def __init__(self, link: HostLink, uses: Collection[Uses], tools: Mapping[str, Tool]) -> None:
        self.link = link
        self.uses = uses
        self.toolbox = Toolbox(tools)
        self.config: Any = {}
        self.data_dir = "."
        self._changing_tools = threading.Lock()

    def set_tools(self, tools: Iterable[Tool | ToolFunction], session_id: str | None) -> None:
        """Replace the tools of a scope, and block until the host has answered.

        Raises:
            HostRefused: it is not granted, or a name is taken; the old tools stay.
        """
        require(self.uses, "tools")
        # one change at a time: a refused one must not bring back tools that another has replaced
        with self._changing_tools, self.toolbox.changing(tools, session_id) as specs:
            self.link.ask("host/tools", ToolsParams(session_id=session_id, tools=specs))

    async def set_tools_async(
        self, tools: Iterable[Tool | ToolFunction], session_id: str | None
    ) -> None:
        """The same, awaited."""
        require(self.uses, "tools")
        with self.toolbox.changing(tools, session_id) as specs:
            await self.link.ask_async("host/tools", ToolsParams(session_id=session_id, tools=specs))


def require(uses: Collection[Uses], grant: Uses) -> None:
    """Check that a plugin asks for a grant.

    Raises:
        HostRefused: it does not. The host would refuse too, but could not say how to correct it.
    """
    if grant not in uses:
        raise HostRefused(
            ErrorCode.NOT_GRANTED, f"the plugin does not ask for it: Plugin(..., uses=[{grant!r}])"
        )
