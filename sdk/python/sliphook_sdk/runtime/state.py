"""The state of a running plugin, which its handlers' contexts share, and its way to the host."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Protocol

from sliphook_sdk.errors import HostRefused, NotConnected
from sliphook_sdk.protocol import METHOD_BY_NAME, ErrorCode, LogParams, ToolsParams, Uses
from sliphook_sdk.registration.tools import Tool
from sliphook_sdk.wire.given import check_text, row_of
from sliphook_sdk.wire.waiting import current, settled

from .toolbox import Toolbox
from .turns import Turns

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    import msgspec

    from sliphook_sdk.protocol import ToolSpec
    from sliphook_sdk.registration.tools import ToolFunction
    from sliphook_sdk.wire.call import Call

    from .toolbox import Change


class HostLink(Protocol):
    """Sends messages to the host."""

    def notify(self, method: str, params: msgspec.Struct) -> None:
        """Send a notification."""
        ...

    def check(self, method: str, *, blocks: bool) -> None:
        """Raise RuntimeError if the request cannot be made here: see `Peer.check`."""
        ...

    def ask(self, method: str, params: msgspec.Struct, call: Call | None = None) -> Any:
        """Send a request and block until its result has arrived: see `Peer.ask`."""
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
        self.manifest_only = False
        self._introduced: Future[object] = Future()
        self._starter: object = ()  # no task and no thread
        self._changes = Turns()
        self._declaring = threading.Lock()
        self._is_declared = False

    def introduced(self) -> None:
        """The answer to `initialize` is written: from now on the host takes requests."""
        if not self._introduced.done():
            self._introduced.set_result(None)

    def starts_here(self) -> None:
        """The thread or the task that calls this runs the author's `on_start`."""
        self._starter = current()

    def ask(self, method: str, params: msgspec.Struct, call: Call | None = None) -> Any:
        """Send a request to the host and block until its result has arrived.

        Raises:
            Cancelled: the call was cancelled, so the request is withdrawn.
            HostRefused: it is not granted, or the host's answer is an error.
            NotConnected: `on_start` asks, or the host has gone.
        """
        self._check(method, blocks=True)
        self._introduced.result()
        return self.link.ask(method, params, call)

    async def ask_async(self, method: str, params: msgspec.Struct) -> Any:
        """The same, awaited."""
        self._check(method, blocks=False)
        if not self._introduced.done():
            await settled(self._introduced)
        return await self.link.ask_async(method, params)

    def declare_tools(self) -> list[ToolSpec]:
        """The tools for the manifest; the host is told of what changes from now on."""
        with self._declaring:
            self._is_declared = True
            return self.toolbox.declare()

    def _declares(self, change: Change, session_id: str | None) -> bool:
        """Make a change that the manifest can still hold; False if it cannot."""
        check_text("session_id", session_id, none=True)
        with self._declaring:
            if self._is_declared or session_id is not None:
                return False
            with self.toolbox.changing(change, None):
                return True

    def change_tools(self, change: Change, session_id: str | None) -> None:
        """Change the tools of a scope, and block until the host has answered.

        Raises:
            HostRefused: it is not granted, or a name is taken; the old tools stay.
        """
        if self._declares(change, session_id):
            return
        self._check("host/tools", blocks=True)
        # one change at a time: a refused one must not bring back tools that another has replaced
        with self._changes.turn(), self.toolbox.changing(change, session_id) as specs:
            self.ask("host/tools", ToolsParams(session_id=session_id, tools=specs))

    async def change_tools_async(self, change: Change, session_id: str | None) -> None:
        """The same, awaited."""
        if self._declares(change, session_id):
            return
        self._check("host/tools", blocks=False)
        async with self._changes.turn_async():
            with self.toolbox.changing(change, session_id) as specs:
                await self.ask_async("host/tools", ToolsParams(session_id=session_id, tools=specs))

    def set_tools(self, tools: Iterable[Tool | ToolFunction], session_id: str | None) -> None:
        """Replace the tools of a scope; see `change_tools`."""
        self.change_tools(self._replacement(tools, session_id), session_id)

    async def set_tools_async(
        self, tools: Iterable[Tool | ToolFunction], session_id: str | None
    ) -> None:
        """The same, awaited."""
        await self.change_tools_async(self._replacement(tools, session_id), session_id)

    def _replacement(self, tools: Iterable[Tool | ToolFunction], session_id: str | None) -> Change:
        given = row_of("tools", tools, "functions or Tools")
        new = [tool if isinstance(tool, Tool) else Tool(tool) for tool in given]

        def change(_: Mapping[str, Tool]) -> list[Tool]:
            gone = self.toolbox.declared_without(new) if session_id is None else []
            if gone:
                self.link.notify(
                    "host/log",
                    LogParams(
                        level="warning",
                        message=f"set_tools() takes away {', '.join(gone)}, which the plugin"
                        " declares; add_tool() keeps them",
                    ),
                )
            return new

        return change

    def _check(self, method: str, *, blocks: bool) -> None:
        grant = METHOD_BY_NAME[method].grant
        if grant is not None and grant not in self.uses:
            what = "changing tools" if grant == "tools" else f"{method.partition('/')[2]}()"
            # the host would refuse too, but could not say how to correct it
            raise HostRefused(
                ErrorCode.NOT_GRANTED,
                f'{what} needs uses=["{grant}"] in Plugin(...)',
            )
        self.link.check(method, blocks=blocks)
        if not self._introduced.done() and self._starter == current():
            raise NotConnected(
                f"{method} in on_start(): the host takes no request before the plugin has started;"
                " start a thread or a task that makes it"
            )
