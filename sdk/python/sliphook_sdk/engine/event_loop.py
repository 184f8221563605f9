"""The engine of plugins with an `async def` among their handlers: asyncio in the main thread; its plain functions run in threads."""

from __future__ import annotations

import asyncio
import os
import select
import selectors
import threading
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from sliphook_sdk.errors import RpcError, describe
from sliphook_sdk.process.exit import LINGER_S, end_process
from sliphook_sdk.process.signals import Signals
from sliphook_sdk.protocol import ErrorCode, limits
from sliphook_sdk.service import Invocation, Route

from .engine import MAX_HANDLERS, Engine, in_turn

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from sliphook_sdk.plugin import Plugin
    from sliphook_sdk.process.streams import Output
    from sliphook_sdk.protocol import Payload, ToolResult
    from sliphook_sdk.wire.call import Call
    from sliphook_sdk.wire.rpc import Later, LaterByEndpoint

_READ_BYTES: Final = 65536


class AsyncEngine(Engine):
    """Serves the host in one event loop.

    Args:
        plugin: the plugin.
        incoming: the descriptor of the host's messages.
        output: where answers go.
    """

    def __init__(self, plugin: Plugin[Any], incoming: int, output: Output) -> None:
        super().__init__(plugin, output)
        self._incoming = incoming
        self._signals = Signals()
        self._loop = self._listen()
        self._threads = ThreadPoolExecutor(MAX_HANDLERS, "handler")
        self._tasks: set[asyncio.Task[None]] = set()
        self._jobs: set[Future[None]] = set()
        self._events: deque[Call] = deque()
        self._telling = False
        self._told: Coroutine[Any, Any, None] | None = None

    def serve(self) -> None:
        """Serve until the process ends. For the main thread."""
        threading.Thread(target=self._watch, daemon=True).start()
        self._loop.run_forever()

    def answer(self, prepare: Callable[[Call], Invocation | ToolResult], call: Call) -> Any:
        """See `Engine`."""
        ready = prepare(call)
        if not isinstance(ready, Invocation):
            return ready
        later = self.peer.later(call)
        if ready.handler.is_async:
            task = self._loop.create_task(self._work(later, ready))
            self._tasks.add(task)  # the loop itself holds tasks weakly
            call.stop = partial(self._stop, task)
        else:
            try:
                job = self._threads.submit(self._work_in_thread, later, ready)
            except RuntimeError:  # the system gives no more threads; it waits for one all the same, and shall not run once it is refused
                call.cancel()
                raise
            self._jobs.add(job)
            job.add_done_callback(self._jobs.discard)
        return later

    def tell(self, route: Route, call: Call) -> None:
        """See `Engine`."""
        payload, invocations = self.service.event(route, call)
        self._told = self._tell(route, payload, invocations)

    def _listen(self) -> asyncio.AbstractEventLoop:
        loop: asyncio.AbstractEventLoop = asyncio.new_event_loop()
        try:
            loop.add_reader(self._incoming, self._read)
        except PermissionError:  # standard input is a file, which epoll does not take
            loop.close()
            loop = asyncio.SelectorEventLoop(selectors.PollSelector())
            loop.add_reader(self._incoming, self._read)
        return loop

    def _read(self) -> None:
        data = os.read(self._incoming, _READ_BYTES)
        for call in self.arrivals(data):
            if not in_turn(call):
                self.peer.dispatch(call)
                continue
            self._events.append(call)
            if not self._telling:
                self._telling = True
                task = self._loop.create_task(self._tell_all())
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
        if self.over is not None:
            self._loop.remove_reader(self._incoming)
            self._end_within(self.over)

    async def _tell_all(self) -> None:
        """Run what waits in turn, one after the other."""
        while self._events:
            self.peer.dispatch(self._events.popleft())
            if self._told is not None:
                told, self._told = self._told, None
                try:
                    await told
                except Exception as exc:  # what comes behind it, as the request for shutdown, does not wait for ever
                    self.peer.complain(f"the SDK failed in an event: {describe(exc)}")
        self._telling = False

    async def _tell(self, route: Route, payload: Payload, invocations: list[Invocation]) -> None:
        for invocation in invocations:
            with suppress(RpcError):  # it is in the log, and nobody waits for it
                if invocation.handler.is_async:
                    await self.service.run_async(invocation)
                else:
                    await self._loop.run_in_executor(self._threads, self.service.run, invocation)
        self.service.told(route, payload)

    async def _work(self, later: Later | LaterByEndpoint, invocation: Invocation) -> None:
        # the answer goes out from inside the task: a done callback would cost another round of the
        # loop
        try:
            later.answer(await self.service.run_async(invocation))
        except RpcError as exc:
            later.refuse(exc)
        finally:
            self._tasks.discard(cast("asyncio.Task[None]", asyncio.current_task()))

    def _work_in_thread(self, later: Later | LaterByEndpoint, invocation: Invocation) -> None:
        try:
            if invocation.call.cancelled:  # while it waited for a thread
                raise RpcError(ErrorCode.REQUEST_CANCELLED, ErrorCode.REQUEST_CANCELLED.text)
            later.answer(self.service.run(invocation))
        except RpcError as exc:
            later.refuse(exc)

    def _stop(self, task: asyncio.Task[None]) -> None:
        task.cancel()
        task.add_done_callback(
            self._tasks.discard
        )  # one that has not begun yet will never do it itself

    def _end_within(self, seconds: float) -> None:
        async def end() -> None:
            under_way = [*self._tasks, *map(asyncio.wrap_future, self._jobs)]
            if under_way:
                await asyncio.wait(under_way, timeout=seconds)
            end_process(0)

        self._ending = self._loop.create_task(end())

    def _watch(self) -> None:
        """End the process also where the loop stands still, because a handler does not give it back."""
        poll = select.poll()
        poll.register(self._incoming, 0)  # nothing but the hang-up
        poll.register(self._signals.fd, select.POLLIN)
        while True:
            for fd, _ in poll.poll():
                patience_s = LINGER_S
                if fd == self._signals.fd:
                    if not self._signals.ending():
                        continue
                    patience_s = limits.SHUTDOWN_TIMEOUT_S
                    self._loop.call_soon_threadsafe(self._end_within, patience_s)
                threading.Event().wait(2 * patience_s)
                end_process(0)
