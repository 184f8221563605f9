"""The server: what the SDK asks of it, for one client."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from importlib import metadata
from typing import Any, Final, TypeVar, cast

import msgspec
import trio
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.session import ServerSession
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    GetPromptRequestParams,
    GetPromptResult,
    InputRequiredResult,
    ListPromptsResult,
    ListToolsResult,
    PaginatedRequestParams,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from sliphook import CommandOffer, ToolOffer
from sliphook.adapters.relayed.messages import Offers
from sliphook.adapters.relayed.pages import are_same
from sliphook.adapters.relayed.waiting_calls import Person, Report
from sliphook.agent_log import agent_log
from sliphook.errors import HostError
from sliphook.quoting import quote

from . import rendering
from .asking import ByResult, by_request, can_ask
from .backend import AskedFor, Backend, untold
from .incoming import Incoming
from .joined import call_of, session_of
from .listing import Listing
from .outgoing import Outgoing

T = TypeVar("T")
_log = agent_log(__name__)
logging.getLogger("mcp").setLevel(logging.ERROR)  # its warnings are of the client's messages

NAME: Final = "sliphook"
GATHER_S: Final = 0.05
"""How long changes of the offers are gathered, before the client is told once."""
MOST_LISTENING: Final = 16
FLUSH_S: Final = 1.0
"""How long the client has to read what is written at the end."""
_NAME_CHARS: Final = 80
_COMPARED: Final = 16
"""Offers in a step, of which each may have 20,000 values."""

Context = ServerRequestContext[Any, Any]


class KnownClient(msgspec.Struct, frozen=True):
    """What is known of the client at its first request.

    Attributes:
        name: what it calls itself; None if it does not say.
        asks: it has forms for its person.
        session_id: the agent's session, if that request has said it.
    """

    name: str | None
    asks: bool
    session_id: str | None


Choose = Callable[[trio.Nursery, KnownClient, Callable[[], None]], Awaitable[Backend]]
"""Makes the backend: gets a nursery, the client, and what to call if the offers may be others."""


class ToolServer:
    """The plugins' tools and commands for one client.

    Args:
        choose: makes the backend, at the first request that needs one.
        nursery: runs what outlives a request.
    """

    def __init__(self, choose: Choose, nursery: trio.Nursery) -> None:
        self._choose = choose
        self._nursery = nursery
        self._backend: Backend | None = None
        self._choosing = trio.Lock()
        self._by_result = ByResult(nursery)
        self._bus = InMemorySubscriptionBus()
        self._changed = trio.Event()
        self._session: ServerSession | None = None
        self._listed_tools = Listing[ToolOffer]()
        self._listed_commands = Listing[CommandOffer]()
        # as the client has them; None: it has not asked
        self._tools: tuple[ToolOffer, ...] | None = None
        self._commands: tuple[CommandOffer, ...] | None = None
        self.server = Server[Any](
            NAME,
            version=metadata.version("sliphook"),
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._get_prompt,
            on_subscriptions_listen=ListenHandler(self._bus, max_subscriptions=MOST_LISTENING),
        )
        self.server.middleware.clear()  # spans of the SDK's own

    async def run(self, incoming: Incoming, outgoing: Outgoing) -> None:
        """Serve until the client sends no more."""
        changes = NotificationOptions(prompts_changed=True, tools_changed=True)
        options = self.server.create_initialization_options(changes)
        await self.server.run(incoming, outgoing, options)

    async def end(self) -> None:
        """End the backend."""
        if self._backend is not None:
            await self._backend.end()

    # -- what the client asks

    async def _list_tools(
        self, ctx: Context, params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        cursor = params.cursor if params is not None else None
        if cursor is None:
            self._tools = (await self._offers(ctx)).tools
            self._listed_tools.begin(self._tools)
        page, following = self._listed_tools.page(cursor)
        return ListToolsResult(tools=[rendering.tool(one) for one in page], next_cursor=following)

    async def _list_prompts(
        self, ctx: Context, params: PaginatedRequestParams | None
    ) -> ListPromptsResult:
        cursor = params.cursor if params is not None else None
        if cursor is None:
            self._commands = (await self._offers(ctx)).commands
            self._listed_commands.begin(self._commands)
        page, following = self._listed_commands.page(cursor)
        prompts = [rendering.prompt(one) for one in page]
        return ListPromptsResult(prompts=prompts, next_cursor=following)

    async def _get_prompt(self, ctx: Context, params: GetPromptRequestParams) -> GetPromptResult:
        backend = await self._backend_for(ctx)
        given = params.arguments or {}
        if params.name not in {one.name for one in (await self._offers(ctx)).commands}:
            raise MCPError(
                INVALID_PARAMS, f"there is no prompt named {quote(params.name, _NAME_CHARS)}"
            )
        request = AskedFor(
            name=params.name,
            text=given.get(rendering.ARGUMENT, ""),
            session_id=session_of(_meta(ctx)),
        )
        try:
            return rendering.prompted(await backend.run_command(request))
        except HostError as error:
            raise MCPError(INVALID_PARAMS, str(error)) from None

    async def _call_tool(
        self, ctx: Context, params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult:
        backend = await self._backend_for(ctx)
        if params.name not in {one.name for one in (await self._offers(ctx)).tools}:
            raise MCPError(
                INVALID_PARAMS, f"there is no tool named {quote(params.name, _NAME_CHARS)}"
            )
        meta = _meta(ctx)
        request = AskedFor(
            name=params.name,
            arguments=params.arguments or {},
            session_id=session_of(meta),
            model_call_id=call_of(meta),
        )

        async def work(person: Person | None, report: Report) -> CallToolResult:
            try:
                return rendering.result(await backend.call(request, person, report))
            except HostError as error:
                return rendering.failed(str(error))

        asks = can_ask(ctx.session.client_capabilities)
        if asks and ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return await _reporting(ctx, lambda report: self._by_result.call(params, work, report))
        person = by_request(ctx) if asks else None
        return await _reporting(ctx, lambda report: work(person, report))

    # -- the backend

    async def _backend_for(self, ctx: Context) -> Backend:
        self._session = ctx.session
        async with self._choosing:
            if self._backend is None:
                info = ctx.session.client_params
                client = KnownClient(
                    info.client_info.name[:_NAME_CHARS] if info is not None else None,
                    can_ask(ctx.session.client_capabilities),
                    session_of(_meta(ctx)),
                )
                self._backend = await self._choose(self._nursery, client, self._offers_change)
                self._nursery.start_soon(self._tell_changes)
            return self._backend

    async def _offers(self, ctx: Context) -> Offers:
        backend = await self._backend_for(ctx)
        try:
            return await backend.offers()
        except HostError as error:
            raise MCPError(INVALID_PARAMS, str(error)) from None

    # -- changes

    def _offers_change(self) -> None:
        self._changed.set()

    async def _tell_changes(self) -> None:
        """Tell the client of other offers, once for what comes together."""
        assert self._backend is not None
        while True:
            await self._changed.wait()
            await trio.sleep(GATHER_S)
            self._changed = trio.Event()
            try:
                now = await self._backend.offers()
            except HostError as error:
                _log.info("the offers cannot be had: %s", error)
                continue
            if await _are_others(self._tools, now.tools):
                self._tools = now.tools
                await self._bus.publish(ToolsListChanged())
                if self._session is not None:
                    await self._session.send_tool_list_changed()
            if await _are_others(self._commands, now.commands):
                self._commands = now.commands
                await self._bus.publish(PromptsListChanged())
                if self._session is not None:
                    await self._session.send_prompt_list_changed()


async def _are_others(known: tuple[T, ...] | None, now: tuple[T, ...]) -> bool:
    """Whether the client has others than these; False if it has not asked for any."""
    if known is None or are_same(known, now):
        return False
    if len(known) != len(now):
        return True
    for at in range(0, len(now), _COMPARED):
        if known[at : at + _COMPARED] != now[at : at + _COMPARED]:
            return True
        await trio.lowlevel.checkpoint()
    return False


def _meta(ctx: Context) -> dict[str, Any]:
    found = (ctx.params or {}).get("_meta")
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


class Reporter:
    """Tells the client how far a call has come: the newest, if it reads slowly."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._steps = rendering.Steps()
        self._news = trio.Event()
        self._newest: tuple[float | None, str | None] | None = None
        self._over = False

    def take(self, fraction: float | None, message: str | None) -> None:
        """How far it has come now."""
        self._newest = fraction, message
        self._news.set()

    def end(self) -> None:
        """The call is over."""
        self._over = True
        self._news.set()

    async def run(self) -> None:
        """Tell it, until the call is over and all is told."""
        while not self._over or self._newest is not None:
            await self._news.wait()
            self._news = trio.Event()
            if self._newest is not None:
                (fraction, message), self._newest = self._newest, None
                progress, total = self._steps.next(fraction)
                await self._ctx.session.report_progress(progress, total, message)


async def _reporting(ctx: Context, work: Callable[[Report], Awaitable[T]]) -> T:
    """Do the work; its progress is told if the client has given a token for that."""
    if "progressToken" not in _meta(ctx):
        return await work(untold)
    reporter = Reporter(ctx)
    failed: MCPError | None = None
    result: T | None = None
    async with trio.open_nursery() as nursery:
        nursery.start_soon(reporter.run)
        try:
            result = await work(reporter.take)
        except MCPError as error:  # a nursery would put it into a group
            failed = error
        reporter.end()
    if result is None:
        raise failed or HostError("the call was given up")
    return result


async def serve(source: int, sink: int, choose: Choose) -> None:
    """Serve one client on two descriptors, until it has closed one of them."""
    outgoing = Outgoing(sink)
    incoming = Incoming(source, outgoing)
    async with trio.open_nursery() as writing:
        serving = trio.CancelScope()
        writing.start_soon(outgoing.run, serving.cancel)
        async with trio.open_nursery() as nursery:
            server = ToolServer(choose, nursery)
            with serving:
                await server.run(incoming, outgoing)
            await server.end()
            nursery.cancel_scope.cancel()
        writing.cancel_scope.deadline = trio.current_time() + FLUSH_S
        await outgoing.aclose()
