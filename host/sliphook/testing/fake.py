"""A plugin that is a Python object: it declares, answers, and remembers what it got."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import trio

from sliphook.plugin.spec import Override, PluginSpec
from sliphook.wire.decoding import read_types
from sliphook_sdk.protocol import CATALOGUE, ErrorCode, Manifest

from .host_stream import Stream, line_of
from .process import FakeProcess
from .received import HostRefused, Received
from .replies import CRASHES, HANGS, After, Fails, Handler, Raw, Reply

read_types(Manifest, *(entry.payload for entry in CATALOGUE.values()))


class FakePlugin(PluginSpec):
    """A plugin in memory; give it to `PluginHost` in place of a path.

    It answers the handshake, obeys cancels and ends when it is told to; the test gives all other
    answers. An answer is a value, or a function of the payload of a hook, the arguments of a tool
    or the text behind a command. Functions may be async. An exception is answered as an error, and
    so is a value that JSON cannot hold, as the SDKs do.

    Attributes:
        received: every message of the host, in order, from all starts.
        starts: how often the plugin was started.

    Args:
        name: the plugin's name.
        hooks: answers by the name of a hook; an event's function gets its payload. The plugin
            subscribes to all of these.
        hears: hooks and events to which the plugin subscribes, and from which it abstains.
        subscriptions: further subscriptions as in a manifest, with fields of their own.
        tools: answers by the name of a tool.
        schemas: JSON Schemas of arguments by the name of a tool; without one, any arguments fit.
        commands: answers by the name of a slash command.
        initialize: the answer in place of the manifest, such as `CRASHES` or `HANGS`.
        config: the user's settings for the plugin.
        grants: what the user grants; None grants all that the plugin `uses`.
        granted_servers: where it may have model calls sent; None: to the `servers` of its manifest.
        variables: the environment variables that it is given, with their values.
        timeout_cap_s: the user's cap.
        overrides: the user's changes to its subscriptions.
        recorded: the manifest that was approved at installation; True takes the plugin's own.
        manifest: more fields of the manifest, such as `uses`.
    """

    def __init__(
        self,
        name: str = "fake",
        *,
        hooks: Mapping[str, Handler | Reply] | None = None,
        hears: Iterable[str] = (),
        subscriptions: Iterable[dict[str, Any]] = (),
        tools: Mapping[str, Handler | Reply] | None = None,
        schemas: Mapping[str, dict[str, Any]] | None = None,
        commands: Mapping[str, Handler | Reply] | None = None,
        initialize: Handler | Reply = None,
        config: Mapping[str, object] | None = None,
        grants: frozenset[str] | None = None,
        granted_servers: tuple[str, ...] | None = None,
        variables: Mapping[str, str] | None = None,
        timeout_cap_s: float | None = None,
        overrides: Mapping[str, Override] | None = None,
        recorded: Manifest | bool = False,
        **manifest: Any,
    ) -> None:
        self._hooks = dict(hooks or {})
        self._tools = dict(tools or {})
        self._commands = dict(commands or {})
        self._initialize = initialize
        special = list(subscriptions)
        names = dict.fromkeys([*self._hooks, *hears])
        self.manifest: dict[str, Any] = {
            "protocol_version": 1,
            "name": name,
            "subscriptions": [
                {"event": event} for event in names if all(event != one["event"] for one in special)
            ]
            + special,
            "tools": [
                {"name": tool, "input_schema": (schemas or {}).get(tool)} for tool in self._tools
            ],
            "commands": [{"name": command} for command in self._commands],
            **manifest,
        }
        super().__init__(
            path=Path(name),
            name=name,
            config=dict(config or {}),
            env=dict(variables or {}),
            grants=grants,
            servers=granted_servers,
            timeout_cap_s=timeout_cap_s,
            overrides=dict(overrides or {}),
            recorded=msgspec.convert(self.manifest, Manifest)
            if recorded is True
            else recorded or None,
            start=self._start,
        )
        self.received: list[Received] = []
        self.starts = 0
        self._news = trio.Event()
        self._thawed = trio.Event()
        self._thawed.set()
        self._process: FakeProcess | None = None
        self._stream: Stream | None = None
        self._ids = itertools.count(1)
        self._asked: dict[int, trio.Event] = {}
        self._replies: dict[int, dict[str, Any]] = {}
        self._under_way: dict[int, trio.CancelScope] = {}

    def __eq__(self, other: object) -> bool:
        # A `PluginSpec` is compared by value, but two fakes with equal arguments are two plugins.
        return self is other

    def __hash__(self) -> int:
        return id(self)

    # -- received messages

    def names(self, session_id: str | None = None) -> list[str]:
        """The names of the hooks and events received, in order; all, or those of one session."""
        return [
            message.name
            for message in self.fired()
            if session_id in (None, message.params["session_id"])
        ]

    def fired(self) -> list[Received]:
        """The received hooks and events."""
        return [
            message for message in self.received if message.method.startswith(("hook/", "event/"))
        ]

    def payloads(self, name: str) -> list[Any]:
        """The received payloads of one hook or event, as Structs of the catalogue."""
        return [
            msgspec.convert(message.params, CATALOGUE[name].payload)
            for message in self.fired()
            if message.name == name
        ]

    async def hears(self, method: str, *, times: int = 1) -> None:
        """Wait until a method, or a hook or event by name, was received so often.

        For events: the host does not wait until a plugin has received them.
        """
        while sum(method in (message.method, message.name) for message in self.received) < times:
            await self._news.wait()

    # -- actions of the plugin

    async def ask(self, method: str, **params: Any) -> Any:
        """Send a request to the host, such as `host/inject`, and wait for its result.

        A cancel of the caller withdraws it.

        Raises:
            HostRefused: the host answered an error.
        """
        request_id = next(self._ids)
        arrived = self._asked[request_id] = trio.Event()
        await self._living().send({"id": request_id, "method": method, "params": params})
        try:
            await arrived.wait()
        except trio.Cancelled:
            # bounded, as a frozen plugin writes nothing
            with trio.move_on_after(1.0, shield=True):
                await self.tell("$/cancelRequest", id=request_id)
            raise
        reply = self._replies.pop(request_id)
        if "error" in reply:
            raise HostRefused(reply["error"]["code"], reply["error"]["message"])
        return reply["result"]

    async def tell(self, method: str, **params: Any) -> None:
        """Send a notification to the host, such as `host/log` or `$/progress`."""
        await self._living().send({"method": method, "params": params})

    async def say(self, text: str) -> None:
        """Send a piece of the text that it substitutes, for the last `pre_llm_call`."""
        asked = [one.id for one in self.received if one.method == "hook/pre_llm_call"]
        await self.tell("$/progress", id=asked[-1], text=text)

    async def write(self, data: bytes) -> None:
        """Write any bytes to its standard output."""
        await self._living().write(data)

    def complain(self, line: str) -> None:
        """Write a line to its standard error."""
        assert self._process is not None, "it has not been started"
        self._process.complain(line)

    def crash(self, returncode: int = 1) -> None:
        """Die now; the host may start it again."""
        if self._process is not None:
            self._process.end(returncode)

    def freeze(self) -> None:
        """Stop reading and writing, as a stopped process does."""
        self._thawed = trio.Event()

    def thaw(self) -> None:
        """Go on reading and writing."""
        self._thawed.set()

    def _living(self) -> Stream:
        assert self._stream is not None, "it has not been started"
        return self._stream

    # -- its process

    async def _start(self) -> FakeProcess:
        process = FakeProcess()
        self.starts += 1
        self._process, self._stream = process, Stream(process, self._frozen)
        # Not in a nursery of the test: as a real process, it outlives what the host cancels.
        trio.lowlevel.spawn_system_task(
            self._live, process, self._stream, name=f"fake plugin {self.name}"
        )
        return process

    async def _frozen(self) -> None:
        await self._thawed.wait()

    async def _live(self, process: FakeProcess, stream: Stream) -> None:
        try:
            with process.life:
                async with trio.open_nursery() as nursery:
                    async for message in stream.messages():
                        await self._take(message, process, stream, nursery)
                    nursery.cancel_scope.cancel()
        finally:
            process.end(0)

    async def _take(
        self, message: dict[str, Any], process: FakeProcess, stream: Stream, nursery: trio.Nursery
    ) -> None:
        method, request_id = message.get("method"), message.get("id")
        if method is None:
            if request_id in self._asked:
                self._replies[request_id] = message
                self._asked.pop(request_id).set()
            return
        params: dict[str, Any] = message.get("params", {})
        self.received.append(Received(method=method, params=params, id=request_id))
        self._news.set()
        self._news = trio.Event()
        if method == "exit":
            process.end(0)
        elif method == "$/cancelRequest":
            if params["id"] in self._under_way:
                self._under_way[params["id"]].cancel()
        else:
            reply = self._reply_to(method, params)
            if inspect.isawaitable(reply) or isinstance(reply, After):
                # only a slow answer gets a task: all others keep the order of the requests
                nursery.start_soon(self._answer_later, request_id, reply, process, stream)
            elif request_id is not None:
                await self._answer(request_id, reply, process, stream)

    def _reply_to(self, method: str, params: dict[str, Any]) -> Any:
        kind, _, name = method.partition("/")
        if method == "initialize":
            return (
                _reply(self._initialize, params) if self._initialize is not None else self.manifest
            )
        if method == "tool/call":
            return _reply(self._tools.get(params["name"]), params["arguments"])
        if method == "command/run":
            return _reply(self._commands.get(params["name"]), params["arguments"])
        if kind == "event" and not callable(self._hooks.get(name)):
            return None
        if kind in ("hook", "event"):
            return _reply(self._hooks.get(name), msgspec.convert(params, CATALOGUE[name].payload))
        return None

    async def _answer_later(
        self, request_id: int | None, reply: Any, process: FakeProcess, stream: Stream
    ) -> None:
        scope = trio.CancelScope()
        if request_id is not None:
            self._under_way[request_id] = scope
        with scope:
            while inspect.isawaitable(reply) or isinstance(reply, After):
                if isinstance(reply, After):
                    await trio.sleep(reply.seconds)
                    reply = reply.reply
                else:
                    try:
                        reply = await reply
                    except Exception as error:
                        reply = _failure(error)
        if request_id is None:
            return
        # Before the answer is written, since a cancel that comes meanwhile is too late.
        del self._under_way[request_id]
        if scope.cancelled_caught:
            reply = Fails(ErrorCode.REQUEST_CANCELLED.text, int(ErrorCode.REQUEST_CANCELLED))
        await self._answer(request_id, reply, process, stream)

    async def _answer(
        self, request_id: int, reply: Any, process: FakeProcess, stream: Stream
    ) -> None:
        if reply is CRASHES:
            process.end(1)
        elif isinstance(reply, Raw):
            await stream.write(reply.data)
        elif isinstance(reply, Fails):
            await stream.send(
                {"id": request_id, "error": {"code": reply.code, "message": reply.message}}
            )
        elif reply is not HANGS:
            try:
                line = line_of({"id": request_id, "result": reply})
            except Exception as error:  # a value's own conversion may raise anything
                what = Fails(f"the answer cannot be sent: {error}")
                await self._answer(request_id, what, process, stream)
            else:
                await stream.write(line)


def _reply(given: Handler | Reply, about: Any) -> Any:
    if not callable(given):
        return given
    try:
        return given(about)
    except Exception as error:
        return _failure(error)


def _failure(error: Exception) -> Fails:
    return Fails(f"{type(error).__name__}: {error}")
