"""The connection to a server: how it is made, and what goes over it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from importlib import metadata
from typing import Any, Final

import mcp_types as types
from mcp import Client
from mcp.client import InputRequiredRoundsExceededError, Transport
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

import sliphook_sdk as sdk

from .names import Fitted, Offered, fit
from .output_schemas import OutputSchemas
from .progress import PacedProgress
from .questions import Questions
from .resources import SCHEMA, read_resource, resource_tool
from .results import tool_result
from .settings import ServerSettings
from .tool_calls import PipeCalls, ServerCalls, SessionCalls
from .transports.asked import OpenRequests
from .transports.bounds import MOST_RUBBISH
from .transports.lines import die, first_of, in_a_line, say
from .transports.own_calls import CallFailed, OwnCalls
from .transports.process import ServerProcess
from .transports.remote import remote
from .transports.stdio import stdio
from .transports.tool_lists import ToolLists

MAX_PAGES: Final = 32
_LISTEN_S: Final = 1.0
_MOST_LOGGED: Final = 1_000
_SESSION_IS_OVER: Final = "Session terminated"
_FAULTS: Final = (
    CallFailed,
    ConnectionError,
    MCPError,
    ValidationError,
    InputRequiredRoundsExceededError,
    RuntimeError,
)
_INFO: Final = types.Implementation(name="sliphook", version=metadata.version("sliphook"))

logging.getLogger("httpx2").setLevel(logging.WARNING)
logging.getLogger("mcp").setLevel(logging.CRITICAL)  # what it warns of, `_hear` and errors tell


class _FirstTraceback(logging.Filter):
    """Of what the SDK logs with a traceback, the first, without it.

    These are notifications that do not fit, of which a server may send any number.
    """

    def __init__(self) -> None:
        super().__init__()
        self._is_first = True

    def filter(self, record: logging.LogRecord) -> bool:
        """See `logging.Filter`."""
        if record.exc_info is None:
            return True
        is_first, self._is_first = self._is_first, False
        record.exc_info = None
        return is_first


logging.getLogger("client").addFilter(_FirstTraceback())


class ServerConnection:
    """One server's connection, which one task holds, since its scopes belong to a task.

    Args:
        name: the server's name.
        words: the address and the token's variable, or the command.
        server: the command's process; None for an address.
        settings: the user's settings.
        changed: is set when the server says that its tools have changed.
    """

    def __init__(
        self,
        name: str,
        words: Sequence[str],
        server: ServerProcess | None,
        settings: ServerSettings,
        changed: asyncio.Event,
    ) -> None:
        self._name = name
        self._words = words
        self._server = server
        self._settings = settings
        self._changed = changed
        self._questions = Questions(name)
        self._own = OwnCalls()
        self._lists = ToolLists()
        self._outputs = OutputSchemas()
        self._client: Client | None = None
        self._calls: ServerCalls | None = None
        self._lost: str | None = None
        self._ended = asyncio.Event()
        self._logged = 0
        self._rubbish = 0
        self._holder: asyncio.Task[None] | None = None
        self._listener: asyncio.Task[None] | None = None

    # -- its life

    async def connect(self) -> None:
        """Come to the point where the server takes requests.

        Raises:
            ConnectionError: the server cannot be used; str() is one line.
        """
        ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._holder = asyncio.create_task(self._hold(ready))
        try:
            client = await asyncio.shield(ready)
        except asyncio.CancelledError:
            self._holder.cancel()
            raise
        except Exception as exc:  # whatever the server did
            raise ConnectionError(self._lost or _said(exc)) from exc
        if self._server is None:
            self._calls = SessionCalls(client)
        else:
            self._calls = PipeCalls(
                client, self._own, _INFO, self._settings.timeout_s, self._outputs, self.tools
            )
        self._client = client
        self._listener = asyncio.create_task(self._listen(client))

    async def end(self) -> None:
        """End the connection, and the server's process."""
        self._ended.set()
        if self._listener is not None:
            self._listener.cancel()
        if self._holder is not None:
            with suppress(asyncio.CancelledError):
                await self._holder

    async def _hold(self, ready: asyncio.Future[Client]) -> None:
        mode = "legacy" if self._settings.handshake == "initialize" else "auto"
        try:
            try:
                await self._open(ready, mode)
            except Exception:
                # some servers end at a message before `initialize`
                if ready.done() or mode == "legacy" or not self._may_try_again():
                    raise
                self._lost = None
                await self._open(ready, "legacy")
        except Exception as exc:
            if not ready.done():
                ready.set_exception(exc)
            elif not self._ended.is_set():
                self._lose(_said(exc))

    def _may_try_again(self) -> bool:
        if self._server is None or self._server.error or not self._server.has_ended:
            return False
        self._server.start()
        return True

    async def _open(self, ready: asyncio.Future[Client], mode: str) -> None:
        client = Client(
            OpenRequests(self._lose).over(self._lists.over(self._transport())),
            mode=mode,
            read_timeout_seconds=self._settings.timeout_s,
            elicitation_callback=self._questions.ask,
            logging_callback=self._log,
            message_handler=self._hear,
            client_info=_INFO,
            cache=None,
        )
        async with client:
            ready.set_result(client)
            await self._ended.wait()

    def _transport(self) -> Transport:
        if self._server is None:
            return remote(self._words, self._settings.timeout_s)
        if self._server.error is not None:
            raise ConnectionError(self._server.error)
        return stdio(self._server, self._own, self._lose)

    def _lose(self, why: str) -> None:
        """The connection has ended by the server's fault: so does the plugin, if it has begun."""
        self._lost = why
        if self._client is not None:
            if self._server is not None:
                self._server.kill()  # it says nothing behind this line
            die(f"the MCP server {self._name} is gone: {why}")

    # -- its tools

    async def tools(self) -> tuple[list[Fitted], list[str]]:
        """What it offers now, of at most 32 pages and 8 MiB; and a line for each that is left out.

        Raises:
            ConnectionError: it does not list them; str() is one line.
        """
        offered: list[Offered] = []
        outputs: dict[str, dict[str, Any] | None] = {}
        cursor: str | None = None
        self._lists.begin()
        try:
            for _ in range(MAX_PAGES):
                page = await self._running().list_tools(cursor=cursor)
                offered += [Offered(o.name, o.description, o.input_schema) for o in page.tools]
                outputs |= {one.name: one.output_schema for one in page.tools}
                cursor = page.next_cursor
                if not cursor or self._lists.is_full:
                    break
            self._outputs.list(outputs)
            offered += await resource_tool(self._running(), self._name)
        except _FAULTS as exc:
            raise ConnectionError(_said(exc)) from exc
        fitted, left_out = fit(self._name, offered, self._settings.prefix)
        return fitted, [*self._lists.left_out, *left_out]

    async def call(
        self, tool: Fitted, arguments: dict[str, Any], ctx: sdk.AsyncContext
    ) -> sdk.ToolResult:
        """Call a tool.

        Raises:
            ToolError: the server answered with an error, or with what is no result.
        """
        try:
            with self._questions.during(ctx):
                if tool.schema == SCHEMA:
                    blocks = await read_resource(self._running(), arguments.get("uri"))
                    return tool_result(blocks, None, False)
                assert self._calls is not None
                return await self._calls.call(tool.name, arguments, PacedProgress(ctx).report)
        except _FAULTS as exc:
            line = _said(exc)
            if line == _SESSION_IS_OVER:
                self._lose(line)
            raise sdk.ToolError(f"the MCP server {self._name}: {line}") from exc

    def _running(self) -> Client:
        assert self._client is not None
        return self._client

    # -- what the server says beside its answers

    async def _listen(self, client: Client) -> None:
        """Hear of changes in the stateless protocol; in the older one they come by themselves."""
        can = client.server_capabilities.tools
        if client.session.initialize_result is not None or can is None or not can.list_changed:
            return
        while True:
            with suppress(Exception):  # it is asked again below
                async with client.listen(tools_list_changed=True) as subscription:
                    async for _ in subscription:
                        self._changed.set()
            await asyncio.sleep(_LISTEN_S)
            self._changed.set()  # what was missed meanwhile

    async def _hear(self, message: types.ServerNotification | Exception) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self._changed.set()
        elif isinstance(message, Exception):
            self._rubbish += 1
            if self._rubbish == 1:
                say(f"no message of MCP: {in_a_line(message)}")
            if self._rubbish > MOST_RUBBISH:
                self._lose(f"it sent {self._rubbish} messages that are none of MCP")

    async def _log(self, params: types.LoggingMessageNotificationParams) -> None:
        self._logged += 1
        if self._logged <= _MOST_LOGGED:
            say(f"{params.level}: {str(params.data)[:1_000]}")


def _said(exc: BaseException) -> str:
    """What is wrong, in a line."""
    first = first_of(exc)
    if not isinstance(first, ValidationError):
        return in_a_line(first)
    fault = first.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(map(str, fault["loc"]))
    return in_a_line(ValueError(f"its {first.title} does not fit: {where}: {fault['msg']}"))
