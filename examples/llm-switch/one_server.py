"""The one server that may run: which model it serves, who uses it, and when it is swapped."""

from __future__ import annotations

import asyncio
import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
from local_models import Models
from model_server import GRACE_S, ModelServer, NotServed, is_healthy

TICK_S = 0.1
ModelCall = tuple[str, int, int]
"""A turn, the call in it, and the attempt."""


class _Record(msgspec.Struct):
    """What the file with the lock says of the server that holds it."""

    model: str = "another model"
    port: int = 0
    plugin_pid: int = 0


class OneServer:
    """Serves one model at a time, for all conversations.

    The server's process holds a lock, so there is one server for all agents of this user too, and
    none is started beside one that has not gone yet.

    Attributes:
        models: what can be served.
    """

    models: Models
    _lock_path: Path
    _changing: asyncio.Lock

    def __init__(self) -> None:
        self._own: ModelServer | None = None
        self._sessions: set[str] = set()
        self._calls: set[ModelCall] = set()

    def open(self, models: Models, folder: Path) -> None:
        """Begin: nothing is served yet. The folder is for the file with the lock."""
        self.models = models
        self._lock_path = folder / "server.lock"
        self._changing = asyncio.Lock()  # of this event loop

    async def serve(
        self,
        name: str,
        session_id: str,
        *,
        deadline: float,
        tell: Callable[[str], object],
        call: ModelCall | None = None,
    ) -> None:
        """Have a model served, and come back when it is.

        Args:
            name: the model.
            session_id: who wants it, until `leave`.
            deadline: when to give up, on `time.monotonic()`.
            tell: is told what is waited for.
            call: until `call_ended` no other model takes this one's place.

        Raises:
            NotServed: it does not come up.
        """
        self._sessions.add(session_id)
        if self._changing.locked():
            tell("waits for another conversation")
        async with self._changing:
            until = min(time.monotonic() + self.models[name].wait_s, deadline)
            await self._make_room(name, until, tell)
            await self._come_up(name, until, tell)
            if call is not None:
                self._calls.add(call)

    def call_ended(self, turn_id: str, call_index: int | None = None) -> None:
        """A model call is over, with all its attempts; None: all calls of the turn."""
        self._calls = {
            call for call in self._calls if call[0] != turn_id or call_index not in (None, call[1])
        }

    def attempt_failed(self, call: ModelCall) -> None:
        """One attempt of a model call is over."""
        self._calls.discard(call)

    async def leave(self, session_id: str, *, goes_on: bool) -> None:
        """A session is over; the server ends with the last one, unless its conversation goes on."""
        self._sessions.discard(session_id)
        if not self._sessions and not goes_on:
            await self.stop()

    async def stop(self, grace_s: float = GRACE_S) -> None:
        """End the server, if there is one."""
        if self._own is not None:
            await self._own.stop(grace_s)

    async def _make_room(self, name: str, until: float, tell: Callable[[str], object]) -> None:
        """Stop the server if it is not the right one, when nobody is being answered by it."""
        own = self._own
        if own is None or (own.name == name and own.is_of_use()):
            return
        while self._calls and own.is_of_use():
            if time.monotonic() >= until:
                raise NotServed(f"{name} waits for {own.name}, which still answers another call")
            tell(f"{own.name} answers another call")
            await asyncio.sleep(TICK_S)
        tell(f"{own.name} ends")
        await own.stop()
        self._own = None

    async def _come_up(self, name: str, until: float, tell: Callable[[str], object]) -> None:
        began, told = time.monotonic(), -1
        try:
            while (missing := await self._missing(name)) is not None:
                waited = int(time.monotonic() - began)
                if time.monotonic() >= until:
                    words = "" if self._own is None else self._own.last_words()
                    raise NotServed(f"{name} is not served after {waited} s: {missing}", words)
                if waited > told:
                    tell(f"{missing}, {waited} s")
                    told = waited
                await asyncio.sleep(TICK_S)
        except BaseException as exc:
            own = self._own
            # an interrupt ends what is still loading, but no server that has answered others
            if own is not None and (isinstance(exc, NotServed) or not own.was_healthy):
                own.kill()
            raise
        if self._own is not None:
            self._own.was_healthy = True

    async def _missing(self, name: str) -> str | None:
        """What the model still waits for; None: it is served. Starts its server if it can."""
        port = self.models[name].port
        if self._own is None:
            self._own = await self._start(name, port)
        own = self._own
        if own is None:
            other = self._record()
            if other.plugin_pid == os.getpid():
                why = f"what the server of {other.model} has started still runs; if its binary is a"
                raise NotServed(f"{why} script, let that exec the server")
            if (other.model, other.port) != (name, port):
                return f"{other.model} is served for another agent, process {other.plugin_pid}"
        elif not own.is_of_use():
            raise NotServed(f"the server of {name} does not come up", own.last_words())
        healthy = await is_healthy(port)
        if healthy and (own is None or own.is_of_use()):
            return None
        return f"{name} loads" if healthy is False else f"{name} starts"

    async def _start(self, name: str, port: int) -> ModelServer | None:
        """Start the server; None if one has the lock: that of another agent, or one that ends."""
        try:
            with self._lock_path.open("a+") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if await is_healthy(port) is not None:
                    raise NotServed(f"{name} needs port {port}, which another program has")
                lock.truncate(0)
                lock.write(msgspec.json.encode(_Record(name, port, os.getpid())).decode())
                lock.flush()
                return ModelServer(name, self.models.command(name), lock)
        except BlockingIOError:
            return None
        except OSError as exc:
            raise NotServed(f"{self._lock_path} cannot be written: {exc.strerror}") from None

    def _record(self) -> _Record:
        try:
            return msgspec.json.decode(self._lock_path.read_bytes(), type=_Record)
        except (OSError, msgspec.DecodeError):  # it is being written
            return _Record()
