"""Plays one life of a script against a process: all steps in order, as fast as the plugin is."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import msgspec
import trio

from sliphook.check.unasked import result_of
from sliphook.plugin.instance import Instance
from sliphook.process.shutdown import NO_PARAMS
from sliphook.transport.call import Call
from sliphook.transport.connection import Connection
from sliphook.transport.deadlines import Deadlines
from sliphook.wire.decoding import DECODE_ERRORS
from sliphook.wire.rpc import Handler, Handlers, Refusal
from sliphook_sdk.protocol import METHODS, ErrorCode
from sliphook_sdk.protocol.limits import COMMAND_TIMEOUT_S

from .differences import Verdicts, values_differ
from .script import (
    ExpectStep,
    Life,
    NotifyStep,
    RecordedError,
    RequestEnd,
    RequestStep,
    ScriptStep,
    WaitStep,
)

__all__ = ["Player"]

_CANCEL_AFTER_S: Final = 0.1
"""The wait before a recorded cancel is sent, so that the plugin can begin with the request."""

_UNREAD: Final = 64
_UNREAD_BYTES: Final = 128 * 1024
"""After so many messages or bytes without an answer, a ping waits until the plugin has read."""

_DYING_S: Final = 1.0
"""The wait for the death of a process that died in the trace."""


class Player:
    """Plays one life. It is the `InstanceOwner` of the process.

    Args:
        name: the plugin's name in the trace.
        life: the script.
        verdicts: gets the ends of requests and the differences.
        deadlines: ends requests that take too long.
        timeout_s: how long each answer may take; None takes the time that the request names.
        log: gets the lines of the plugin's log: level, message.
    """

    def __init__(
        self,
        name: str,
        life: Life,
        verdicts: Verdicts,
        deadlines: Deadlines,
        *,
        timeout_s: float | None,
        log: Callable[[str, str], None],
    ) -> None:
        self.name = name
        self._life = life
        self._verdicts = verdicts
        self._deadlines = deadlines
        self._timeout_s = timeout_s
        self._log = log
        self._began_s = trio.current_time()
        self._manifest: RequestEnd | None = None
        self._known = trio.Event()
        self._over = trio.Event()
        self._asked: dict[int, tuple[Call, trio.Event]] = {}
        self._expected: dict[str, deque[ExpectStep]] = {}
        self._called: dict[int, trio.Event] = {}
        self._missed: set[str] = set()
        for step in life.steps:
            if isinstance(step, ExpectStep):
                self._expected.setdefault(step.method, deque()).append(step)
                # By identity: a mutable msgspec struct has no hash, and two steps may be equal.
                self._called[id(step)] = trio.Event()
        self._unread = 0
        self._unread_bytes = 0

    # -- InstanceOwner

    def accepts(self, manifest: msgspec.Raw) -> bool:
        """Take the manifest; any one is accepted, and compared later."""
        elapsed_ms = (trio.current_time() - self._began_s) * 1000
        self._manifest = RequestEnd(
            status="answered", result=msgspec.Raw(bytes(manifest)), elapsed_ms=elapsed_ms
        )
        self._known.set()
        return True

    def file_changed(self, why: str) -> None:
        """Ignore a replaced file: the replay goes on with the running process."""

    def log_line(self, level: str, message: str) -> None:
        """Pass on a line of the plugin's log."""
        self._log(level, message)

    def tell_user(self, words: str) -> None:
        """Pass on what the host would tell its user."""
        self._log("warning", f"{self.name} {words}")

    async def host(self, instance: Instance, initialize: msgspec.Raw) -> None:
        """Run the process to its end."""
        try:
            await instance.run(initialize)
        finally:
            self._over.set()
            self._known.set()
            for called in self._called.values():  # no request can come any more
                called.set()

    def handlers(self) -> Handlers:
        """The handlers of the plugin's requests: they answer as recorded."""
        by_method: dict[str, Handler] = {
            method.name: partial(self._answer, method.name) if method.kind == "request" else _ignore
            for method in METHODS
            if method.by == "plugin"
        }
        return Handlers(by_method)

    # -- the script

    async def play(self, instance: Instance) -> None:
        """Play every step, and add the differences."""
        await self._known.wait()
        before = self._life.manifest
        had_failed = before is not None and before.status != "answered"
        otherwise = before.status if before is not None and had_failed else "failed_to_start"
        self._verdicts.compare(
            "initialize", "initialize", before, self._manifest or RequestEnd(status=otherwise)
        )
        if self._manifest is None:
            if not had_failed:
                self._verdicts.differs("the process", "start", "ready", instance.why)
            return
        for step in self._life.steps:
            await self._take(step, instance.connection)
        # the trace may not tell how the last requests ended, so the wait for them is short
        for call, ended in self._asked.values():
            with trio.move_on_after(_CANCEL_AFTER_S):
                await ended.wait()
            instance.connection.cancel(call)
            await ended.wait()
        for waiting in self._expected.values():
            for expect in waiting:
                self._verdicts.differs(expect.method, "missing", _json(expect.params), None)
        if self._life.died is not None:
            with trio.move_on_after(_DYING_S):
                await self._over.wait()
        if (self._life.died is not None) != (instance.why is not None):
            self._verdicts.differs("the process", "death", self._life.died, instance.why)

    async def _take(self, step: ScriptStep, connection: Connection) -> None:
        match step:
            case RequestStep():
                self._ask(step, connection)
                await self._keep_pace(connection, step.params)
            case WaitStep(ask):
                await self._ended(ask, connection)
            case NotifyStep(method, params):
                connection.notify(method, params)
                await self._keep_pace(connection, params)
            case ExpectStep():
                # after one missing request, further ones of the same method get a short wait
                patience_s = _CANCEL_AFTER_S if step.method in self._missed else self._patience_s()
                with trio.move_on_after(patience_s) as waiting:
                    await self._called[id(step)].wait()
                if waiting.cancelled_caught:
                    self._missed.add(step.method)

    def _patience_s(self, params: msgspec.Raw | None = None) -> float:
        """The time for an answer: from the option, else the request, else the longest default."""
        return (
            self._timeout_s
            or (_timeout_of(params) if params is not None else None)
            or COMMAND_TIMEOUT_S
        )

    def _ask(self, ask: RequestStep, connection: Connection) -> None:
        ended = trio.Event()

        def settled(call: Call) -> None:
            self._verdicts.compare(ask.label, ask.method, ask.ending, _ending(call))
            ended.set()

        call = Call(ask.method, self._patience_s(ask.params), settled, session_id=ask.session_id)
        self._asked[id(ask)] = call, ended
        call.start_clock(self._deadlines)
        connection.call(call, ask.params)

    async def _ended(self, ask: RequestStep, connection: Connection) -> None:
        """Wait for the end of a request; withdraw it if the host had withdrawn it."""
        call, ended = self._asked[id(ask)]
        if ask.ending is not None and ask.ending.status == "cancelled":
            with trio.move_on_after(_CANCEL_AFTER_S):
                await ended.wait()
            connection.cancel(call)
        await ended.wait()
        self._unread = self._unread_bytes = 0

    async def _keep_pace(self, connection: Connection, params: msgspec.Raw) -> None:
        """Wait from time to time until the plugin has read everything.

        The recorded host had time between its messages. A plugin that only gets notifications must
        not be flooded.
        """
        self._unread += 1
        self._unread_bytes += len(bytes(params))
        if self._unread < _UNREAD and self._unread_bytes < _UNREAD_BYTES:
            return
        self._unread = self._unread_bytes = 0
        answered = trio.Event()
        call = Call("ping", self._patience_s(), lambda _: answered.set())
        call.start_clock(self._deadlines)
        connection.call(call, NO_PARAMS)
        await answered.wait()

    def _answer(self, method: str, params: bytes | msgspec.Raw) -> Any:
        waiting = self._expected.get(method)
        if not waiting:
            self._verdicts.differs(method, "extra", None, _json(params))
            return result_of(method)
        expect = waiting.popleft()
        self._called[id(expect)].set()
        for field, before, after in values_differ("params", _json(expect.params), _json(params)):
            self._verdicts.differs(method, field, before, after)
        ending = expect.ending
        if ending is not None and ending.fault is not None:
            raise Refusal(_code(ending.fault.code), ending.fault.message)
        return result_of(method) if ending is None else _json(ending.result)


def _ignore(params: bytes | msgspec.Raw) -> None:
    """A log line or progress: not compared."""


def _ending(call: Call) -> RequestEnd:
    fault = None if call.error is None else RecordedError(call.error.code, call.error.message)
    result = msgspec.Raw(b"null" if call.result is None else bytes(call.result))
    return RequestEnd(
        status=str(call.status), result=result, fault=fault, elapsed_ms=call.elapsed_ms
    )


class _Timeout(msgspec.Struct, frozen=True):
    timeout_s: float | None = None


_TIMEOUT: Final = msgspec.json.Decoder(_Timeout)


def _timeout_of(params: msgspec.Raw) -> float | None:
    try:
        return _TIMEOUT.decode(params).timeout_s
    except DECODE_ERRORS:
        return None


def _code(number: int) -> ErrorCode:
    known: list[ErrorCode] = list(ErrorCode)
    return next((code for code in known if int(code) == number), ErrorCode.INTERNAL_ERROR)


def _json(data: bytes | msgspec.Raw) -> Any:
    return msgspec.json.decode(data)
