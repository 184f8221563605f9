"""A plugin in memory whose test speaks for it, byte by byte, with the real host."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncGenerator, Callable, Collection
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import trio
from trio.testing import MockClock

from sliphook import PluginHost, PluginSpec, Turn
from sliphook.testing.host_stream import Stream
from sliphook.testing.process import FakeProcess
from tests.programs import WAIT_S

JUMPS_S: Final = 3_000.0
"""The bound of every wait on a clock that jumps: longer than all of the host's."""

Fields = dict[str, Any]
BY_HAND: Final = object()
"""The answer to a method that the test answers itself."""
DIES: Final = object()
"""The process ends with the status 1 instead of an answer."""


class Wire(PluginSpec):
    """A plugin that answers the handshake and the end; all else is the test's.

    Attributes:
        got: every message of the host, in order.
        bytes: all that the host wrote.
        reading: not set: it does not read.
        starts: how often the host has started it.
        exit_status: with which it ends.
        stays: it does not end on `exit`, nor at the end of its input.

    Args:
        name: the plugin's name.
        hears: hooks and events to which it subscribes.
        subscriptions: further ones, as in a manifest.
        answers: results by method, functions of the params too, `BY_HAND`, `DIES`, bytes to be
            written with the id for `@ID@`, or an error (`Refuses`).
        grants, recorded, config: as in `PluginSpec`; `variables` is its `env`.
        manifest: more fields of the manifest.
    """

    def __init__(
        self,
        name: str = "probe",
        *,
        hears: Collection[str] = (),
        subscriptions: Collection[Fields] = (),
        answers: Fields | None = None,
        grants: frozenset[str] | None = None,
        recorded: Any = None,
        config: Fields | None = None,
        variables: dict[str, str] | None = None,
        **manifest: Any,
    ) -> None:
        self.manifest: Fields = {
            "protocol_version": 1,
            "name": name,
            "subscriptions": [*({"event": one} for one in hears), *subscriptions],
            **manifest,
        }
        super().__init__(
            path=Path(name),
            name=name,
            start=self._start,
            grants=grants,
            recorded=recorded,
            config=config or {},
            env=variables or {},
        )
        self.got: list[Fields] = []
        self.answers: Fields = {
            "initialize": self.manifest,
            "shutdown": None,
            "ping": None,
            **(answers or {}),
        }
        self.starts = 0
        self.exit_status = 0
        self.stays = False
        self.bytes = bytearray()
        self.reading = trio.Event()
        self.reading.set()
        self._asked = 0
        self._news = trio.Event()

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    # -- what the host sent

    def sent(self, method: str) -> list[Fields]:
        """The messages with this method."""
        return [one for one in self.got if one.get("method") == method]

    def params(self, method: str) -> list[Fields]:
        """The params of these."""
        return [one["params"] for one in self.sent(method)]

    def methods(self) -> list[str]:
        """The methods in order, replies left out."""
        return [one["method"] for one in self.got if "method" in one]

    async def until(self, done: Callable[[], Any]) -> Any:
        """Wait until messages of the host make `done()` true; returns what it returns."""
        with trio.fail_after(bound_s()):
            while not (found := done()):
                await self._news.wait()
        return found

    async def restarts(self) -> None:
        """Wait until the host has started it a second time."""
        await self.until(lambda: self.starts == 2)

    async def hears(self, method: str, times: int = 1) -> Fields:
        """Wait for a message; returns it."""
        found: list[Fields] = await self.until(lambda: len(of := self.sent(method)) >= times and of)
        return found[times - 1]

    async def reply(self, id: int | str | None) -> Fields:
        """Wait for the reply to a request of the plugin; returns the whole message."""
        found: list[Fields] = await self.until(
            lambda: [one for one in self.got if "method" not in one and one["id"] == id]
        )
        return found[0]

    # -- what the plugin sends

    def write(self, data: bytes | str) -> None:
        """Write these bytes, all of them."""
        rest = self.process.write(data.encode() if isinstance(data, str) else data)
        if rest:  # more than the pipe takes at once
            trio.lowlevel.spawn_system_task(self.stream.write, rest)

    async def pour(self, data: bytes) -> None:
        """Write these bytes, with waits for the host to read."""
        await self.stream.write(data)

    def send(self, **fields: Any) -> None:
        """Write one message as a line."""
        self.write(json.dumps({"jsonrpc": "2.0", **fields}) + "\n")

    async def ask(self, method: str, id: int | str = "ask", **params: Any) -> Fields:
        """Send a request and wait for the whole reply."""
        fields = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
        await self.pour(json.dumps(fields).encode() + b"\n")
        return await self.reply(id)

    async def is_read(self) -> None:
        """Wait until the host has read what was written so far."""
        self._asked += 1
        reply = await self.ask("probe/unknown", f"read-{self._asked}")
        assert reply["error"]["code"] == -32601

    # -- its process

    async def _start(self) -> FakeProcess:
        self.process = FakeProcess()
        self.stream = Stream(self.process, _never_frozen)
        self.starts += 1
        self._tell_news()
        trio.lowlevel.spawn_system_task(self._live, self.process)
        return self.process

    async def _live(self, process: FakeProcess) -> None:
        with process.life:
            waiting = b""
            while data := await self._read(process):
                self.bytes += data
                *lines, waiting = (waiting + data).split(b"\n")
                for line in lines:
                    if line.startswith(b"{"):
                        self._take(json.loads(line), process)
                self._tell_news()
            if self.stays:
                await trio.sleep_forever()
        process.end(self.exit_status)

    def _tell_news(self) -> None:
        self._news.set()
        self._news = trio.Event()

    async def _read(self, process: FakeProcess) -> bytes:
        """What the host wrote; empty at the end of the plugin's input or life."""
        if process.dead():
            return b""
        try:
            await trio.lowlevel.wait_readable(process.reads)
        except trio.ClosedResourceError:
            return b""
        await self.reading.wait()
        return b"" if process.dead() else os.read(process.reads, 65_536)

    def _take(self, message: Fields, process: FakeProcess) -> None:
        self.got.append(message)
        method = message.get("method")
        if method == "exit" and not self.stays:
            process.end(self.exit_status)
        elif "id" in message and method is not None:
            self._answer(message)

    def _answer(self, message: Fields) -> None:
        answer = self.answers.get(message["method"])
        if callable(answer):
            answer = answer(message["params"])
        if answer is DIES:
            self.process.end(1)
            return
        if answer is BY_HAND:
            return
        if isinstance(answer, bytes):
            self.write(answer.replace(b"@ID@", b"%d" % message["id"]))
        elif isinstance(answer, Refuses):
            error = {"code": answer.code, "message": answer.message}
            self.send(id=message["id"], error=error)
        else:
            self.send(id=message["id"], result=answer)


def bound_s() -> float:
    """The bound of every wait, in seconds of the test's clock."""
    return JUMPS_S if isinstance(trio.lowlevel.current_clock(), MockClock) else WAIT_S


class Refuses:
    """An answer that is an error reply."""

    def __init__(self, message: str, code: int = -32603) -> None:
        self.message = message
        self.code = code


class Seen:
    """What a host told its agent and its user.

    Attributes:
        log: level and line.
        problems: lines.
        notices: level and message.
        progress: message and fraction.
    """

    def __init__(self) -> None:
        self.log: list[tuple[str, str]] = []
        self.problems: list[str] = []
        self.notices: list[tuple[str, str]] = []
        self.progress: list[tuple[str | None, float | None]] = []

    def lines(self, level: str = "host") -> list[str]:
        """The lines of the log of one level."""
        return [line for of, line in self.log if of == level]


@asynccontextmanager
async def host_of(*plugins: PluginSpec, **options: Any) -> AsyncGenerator[tuple[PluginHost, Seen]]:
    """A host with these plugins, and what it tells."""
    seen = Seen()
    with trio.fail_after(bound_s()):
        async with PluginHost(
            plugins,
            on_log=lambda _, level, line: seen.log.append((level, line)),
            on_problem=lambda _, line: seen.problems.append(line),
            on_notify=lambda _, level, line: seen.notices.append((level, line)),
            on_progress=lambda one: seen.progress.append((one.message, one.fraction)),
            **options,
        ) as host:
            yield host, seen


async def _never_frozen() -> None:
    pass


@asynccontextmanager
async def turn_of(*plugins: PluginSpec, **options: Any) -> AsyncGenerator[tuple[Turn, Seen]]:
    """An open turn of a host with these plugins."""
    async with (
        host_of(*plugins, **options) as (host, seen),
        host.session() as session,
        session.turn("x") as turn,
    ):
        yield turn, seen


NO_ARGUMENTS: Final[Fields] = {}


async def own(arguments: Fields) -> str:
    """A tool of the agent; for `Turn.call_tool`."""
    return f"ran with {json.dumps(arguments)}"
