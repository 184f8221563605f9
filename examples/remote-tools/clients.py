"""The clients of remote-tools: what they say, their tools, and the calls that wait for them."""

from __future__ import annotations

import asyncio
import hmac
import time
from contextlib import suppress
from typing import Annotated, Any, Optional, Union

import msgspec
from msgspec import Meta
from websockets.asyncio.server import ServerConnection, broadcast
from websockets.exceptions import ConnectionClosed

import sliphook_sdk as sdk

MOST_CLIENTS = 16
MOST_TOOLS = 32  # of one client; the host takes 512 of a plugin
MOST_BYTES = 1 << 20  # of one message, either way
MOST_UNREAD_BYTES = 4 << 20  # that wait for a client which does not read
LOGIN_S = 3  # to send client:hello
BETWEEN_PROGRESS_S = 0.1
GO_AWAY = 1008  # the code of a close after which a client should not come again by itself
LATER = 1013  # of one after which it may


class Hello(msgspec.Struct, tag="client:hello"):
    token: str
    name: Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{1,32}\Z")]


class Offer(msgspec.Struct):
    """One tool of a client, as the model will see it."""

    name: Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{1,64}\Z")]
    description: str = ""
    input_schema: dict[str, Any] = msgspec.field(default_factory=lambda: {"type": "object"})
    timeout_s: Annotated[float, Meta(ge=0.05, le=600)] = 30


class Offers(msgspec.Struct, tag="client:tools"):
    tools: Annotated[list[Offer], Meta(max_length=MOST_TOOLS)]


class Result(msgspec.Struct, tag="client:tool-result"):
    call_id: str
    result: sdk.ToolResult


class Progress(msgspec.Struct, tag="client:tool-progress"):
    call_id: str
    message: Optional[Annotated[str, Meta(max_length=1000)]] = None
    fraction: Optional[Annotated[float, Meta(ge=0, le=1)]] = None


decoder = msgspec.json.Decoder(Union[Hello, Offers, Result, Progress])


class Refused(Exception):
    """What a client said cannot be done; it reads why."""


class Call:
    """A call that waits for its client's result."""

    def __init__(self, ctx: sdk.AsyncContext) -> None:
        self.result: asyncio.Future[sdk.ToolResult] = asyncio.get_running_loop().create_future()
        self._ctx = ctx
        self._quiet_until = 0.0

    def progress(self, said: Progress) -> None:
        """Pass it on; what comes too fast is left out."""
        if time.monotonic() >= self._quiet_until:
            self._quiet_until = time.monotonic() + BETWEEN_PROGRESS_S
            self._ctx.progress(said.message, said.fraction)


class Client:
    """A connection that has logged in: its tools, and the calls that it has not answered."""

    def __init__(self, socket: ServerConnection, name: str) -> None:
        self.name = name
        self.socket = socket
        self.tools: list[sdk.Tool] = []
        self._calls: dict[str, Call] = {}
        self._gone = False

    def send(self, type: str, **fields: Any) -> None:
        """Send at once and wait for nothing: a client that does not read is cut off."""
        message = msgspec.json.encode({"type": type, **fields})
        if len(message) > MOST_BYTES:
            raise sdk.ToolError(f"{len(message)} bytes are too many for a remote tool")
        broadcast([self.socket], message.decode())
        if self.socket.transport.get_write_buffer_size() > MOST_UNREAD_BYTES:
            self.socket.transport.abort()

    def tool(self, offer: Offer) -> sdk.Tool:
        async def call(arguments: dict[str, Any], *, ctx: sdk.AsyncContext) -> sdk.ToolResult:
            return await self._call(offer.name, arguments, ctx)

        return sdk.Tool(
            call,
            name=offer.name,
            description=offer.description,
            schema=offer.input_schema,
            timeout_s=offer.timeout_s,
        )

    async def _call(
        self, tool: str, arguments: dict[str, Any], ctx: sdk.AsyncContext
    ) -> sdk.ToolResult:
        if self._gone:  # since the host wrote the call
            raise self._has_gone()
        call_id, call = str(ctx.call_id), Call(ctx)
        self.send("agent:tool-call", call_id=call_id, tool=tool, arguments=arguments)
        self._calls[call_id] = call
        try:
            return await call.result
        finally:
            del self._calls[call_id]
            if call.result.cancelled():  # an interrupt, the time limit, or the end of the plugin
                self.send("agent:tool-call-cancelled", call_id=call_id)

    def hear(self, said: Result | Progress) -> None:
        """What it says of a call; nothing, if that is over."""
        call = self._calls.get(said.call_id)
        if call is None or call.result.done():
            return
        if isinstance(said, Result):
            call.result.set_result(said.result)
        else:
            call.progress(said)

    def leave(self) -> None:
        """It has gone, and its calls fail."""
        self._gone = True
        for call in self._calls.values():
            if not call.result.done():
                call.result.set_exception(self._has_gone())

    def _has_gone(self) -> sdk.ToolError:
        return sdk.ToolError(f"{self.name}, the program that offers this tool, has gone")


class Clients:
    """All that have logged in, by name, and the connections that have not yet."""

    def __init__(self, token: str, host: sdk.AsyncHost) -> None:
        self._token = token.encode()
        self._host = host
        self._by_name: dict[str, Client] = {}
        self._strangers = 0
        self._changing = asyncio.Lock()  # what the host is told is always the newest

    async def serve(self, socket: ServerConnection) -> None:
        """Serve one connection until it ends."""
        client = await self._log_in(socket)
        if client is None:
            return
        try:
            await self._add(client)
            async for text in socket:
                try:
                    await self._take(client, decoder.decode(text))
                except (msgspec.MsgspecError, RecursionError, Refused, sdk.HostRefused) as exc:
                    client.send("agent:error", message=str(exc)[:1000])
        except ConnectionClosed:
            pass
        finally:
            client.leave()
            async with self._changing:
                if self._by_name.get(client.name) is client:
                    del self._by_name[client.name]
                    with suppress(sdk.HostRefused, sdk.NotConnected):  # the agent is ending
                        await self._tell_host()
            how = {"code": socket.close_code, "reason": socket.close_reason}
            self._host.log("info", f"{client.name} has gone", **how)

    async def _log_in(self, socket: ServerConnection) -> Client | None:
        if self._strangers >= MOST_CLIENTS:
            await socket.close(LATER, "too many connections")
            return None
        self._strangers += 1
        try:
            hello = decoder.decode(await asyncio.wait_for(socket.recv(), LOGIN_S))
        except ConnectionClosed:
            return None
        except (asyncio.TimeoutError, msgspec.MsgspecError, RecursionError):
            hello = None
        finally:
            self._strangers -= 1
        if not isinstance(hello, Hello):
            await socket.close(GO_AWAY, "say client:hello first")
        elif not hmac.compare_digest(hello.token.encode(), self._token):
            await socket.close(GO_AWAY, "wrong token")
        elif len(self._by_name) >= MOST_CLIENTS and hello.name not in self._by_name:
            await socket.close(LATER, "too many clients")
        else:
            return Client(socket, hello.name)
        return None

    async def _add(self, client: Client) -> None:
        """Add a client; an older one of its name is most often a lost connection of its own."""
        older = self._by_name.get(client.name)
        self._by_name[client.name] = client
        if older is not None:
            older.leave()
            async with self._changing:
                await self._tell_host()
            await older.socket.close(GO_AWAY, f"another client has logged in as {client.name}")
        client.send("agent:welcome", name=client.name)
        self._host.log("info", f"{client.name} has logged in")

    async def _take(self, client: Client, message: Any) -> None:
        if isinstance(message, Offers):
            async with self._changing:
                await self._offer(client, message.tools)
            client.send("agent:tools", tools=[tool.name for tool in message.tools])
        elif isinstance(message, Hello):
            raise Refused("client:hello was said before")
        else:
            client.hear(message)

    async def _offer(self, client: Client, offers: list[Offer]) -> None:
        """Replace the client's tools by these: all of them, or none if one is refused."""
        names = [offer.name for offer in offers]
        if len(set(names)) < len(names):
            raise Refused("two of the tools have one name")
        for other in self._by_name.values():
            taken = [tool.spec.name for tool in other.tools if tool.spec.name in names]
            if taken and other is not client:
                raise Refused(f"{other.name} already offers {', '.join(taken)}")
        old, client.tools = client.tools, [client.tool(offer) for offer in offers]
        try:
            await self._tell_host()
        except BaseException:
            client.tools = old
            raise

    async def _tell_host(self) -> None:
        tools = [tool for client in self._by_name.values() for tool in client.tools]
        await self._host.set_tools(tools)
