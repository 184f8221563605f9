"""The engine of plugins with an `async def` among their handlers: asyncio in the main thread.

Their plain functions run in a pool of threads.
"""

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
from sliphook_sdk.forked import end_child, in_children, say
from sliphook_sdk.process.exit import LINGER_S, end_process
from sliphook_sdk.process.signals import Signals
from sliphook_sdk.protocol import ErrorCode, limits
from sliphook_sdk.runtime.log import note_origins
from sliphook_sdk.service import Invocation

from .awake_selector import AwakeSelector
from .base import MAX_HANDLERS, SHUT_LINGER_S, Engine, is_ordered

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from sliphook_sdk.plugin import Plugin
    from sliphook_sdk.process.streams import Output
    from sliphook_sdk.protocol import Payload
    from sliphook_sdk.registration.entry_handlers import EntryHandlers
    from sliphook_sdk.wire.call import Call
    from sliphook_sdk.wire.replies import DeferredReply
    from sliphook_sdk.wire.rpc import EndpointReply

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
        self._loop = self._reading_loop()
        self._threads = ThreadPoolExecutor(MAX_HANDLERS, "handler", note_origins)
        self._tasks: set[asyncio.Task[None]] = set()
        self._jobs: set[Future[None]] = set()
        self._ordered: deque[Call] = deque()
        self._ordered_run = False
        self._cleaning_up: asyncio.Future[None] | None = None
        self._event: Coroutine[Any, Any, None] | None = None
        in_children(self._abandon)

    def serve(self) -> None:
        """Serve until the process ends. For the main thread."""
        note_origins()
        threading.Thread(target=self._watchdog, daemon=True).start()
        self._loop.run_forever()

    def answer(self, prepare: Callable[[Call], Any], call: Call) -> Any:
        """See `Engine`."""
        ready = prepare(call)
        if not isinstance(ready, Invocation):
            return ready
        reply = self.peer.defer(call)
        if ready.handler.is_async:
            task = self._loop.create_task(self._run(reply, ready))
            self._tasks.add(task)  # the loop holds tasks only weakly
            if call.method == "shutdown":
                self._cleaning_up = task  # goes on after its cancel, until the process ends
            else:
                call.stop = partial(self._cancel, task, call)
        else:
            try:
                job = self._threads.submit(self._run_in_thread, reply, ready)
            except RuntimeError:
                # the system gives no more threads, but the job is queued: it must not run later,
                # after its call has been refused
                call.cancel()
                raise
            self._jobs.add(job)
            job.add_done_callback(self._jobs.discard)
            if call.method == "shutdown":
                self._cleaning_up = asyncio.wrap_future(job, loop=self._loop)
            else:
                call.stop = partial(self._cancel_job, job, call)
        return reply

    def tell(self, handlers: EntryHandlers, call: Call) -> None:
        """See `Engine`."""
        payload, invocations = self.service.event(handlers, call)
        self._event = self._run_event(handlers, payload, invocations)

    def _reading_loop(self) -> asyncio.AbstractEventLoop:
        loop = asyncio.SelectorEventLoop(AwakeSelector())
        try:
            loop.add_reader(self._incoming, self._read)
        except PermissionError:  # standard input is a file, which epoll does not accept
            loop.close()
            loop = asyncio.SelectorEventLoop(selectors.PollSelector())
            loop.add_reader(self._incoming, self._read)
        return loop

    def _read(self) -> None:
        # this does not block: the loop has found the descriptor readable
        data = os.read(self._incoming, _READ_BYTES)
        for call in self.receive(data):
            if not is_ordered(call):
                self.peer.dispatch(call)
                continue
            self._ordered.append(call)
            if not self._ordered_run:
                self._ordered_run = True
                self._begin_ordered()
        if self.grace_s is not None:
            self._loop.remove_reader(self._incoming)
            self._end_within(self.grace_s)

    def _begin_ordered(self) -> None:
        task = self._loop.create_task(self._run_ordered())
        self._tasks.add(task)
        task.add_done_callback(self._end_ordered)

    def _end_ordered(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if task.cancelled():  # before it ran: the author's code has cancelled all tasks there are
            self._begin_ordered()

    async def _run_ordered(self) -> None:
        """Run the events that wait, one after the other."""
        while self._ordered:
            self.peer.dispatch(self._ordered.popleft())
            if self._event is not None:
                event, self._event = self._event, None
                try:
                    await event
                except Exception as exc:  # later calls, such as `shutdown`, must still run
                    self.peer.log_error(f"the SDK failed in an event: {describe(exc)}")
        # at once: an event that comes now begins before a hook that comes behind it
        self._ordered_run = False

    async def _run_event(
        self, handlers: EntryHandlers, payload: Payload, invocations: list[Invocation]
    ) -> None:
        for invocation in invocations:
            # it is in the log, and an event has no reply; the author's code has cancelled this task
            with suppress(RpcError, asyncio.CancelledError):
                if invocation.handler.is_async:
                    await self.service.run_async(invocation)
                else:
                    await self._loop.run_in_executor(self._threads, self.service.run, invocation)
        self.service.event_done(handlers, payload)

    async def _run(self, reply: DeferredReply | EndpointReply, invocation: Invocation) -> None:
        # the task itself replies: a done callback would cost another pass of the loop
        try:
            reply.answer(await self.service.run_async(invocation))
        except RpcError as exc:
            reply.refuse(exc)
        finally:
            self._tasks.discard(cast("asyncio.Task[None]", asyncio.current_task()))

    def _run_in_thread(self, reply: DeferredReply | EndpointReply, invocation: Invocation) -> None:
        try:
            if invocation.call.cancelled:  # while it waited for a thread
                raise RpcError(ErrorCode.REQUEST_CANCELLED, ErrorCode.REQUEST_CANCELLED.text)
            reply.answer(self.service.run(invocation))
        except RpcError as exc:
            reply.refuse(exc)

    def _cancel(self, task: asyncio.Task[None], call: Call) -> None:
        def done(_: asyncio.Task[None]) -> None:
            # a task that has not begun is cancelled before it reaches its own `discard` and reply
            self._tasks.discard(task)
            if task.cancelled():
                self.peer.withdraw(call)

        task.cancel()
        task.add_done_callback(done)

    def _cancel_job(self, job: Future[None], call: Call) -> None:
        if job.cancel():  # it still waited for a thread
            self.peer.withdraw(call)

    def _end_within(self, seconds: float) -> None:
        async def end() -> None:
            until = self._loop.time() + (seconds or SHUT_LINGER_S)
            under_way = [*self._tasks, *map(asyncio.wrap_future, self._jobs)]
            left = self.clean_up(seconds or SHUT_LINGER_S)
            if left is not None:
                self._cleaning_up = self._loop.create_task(self._clean_up(left))
            if under_way:
                await asyncio.wait(under_way, timeout=seconds)
            if self._cleaning_up is not None:
                left_s = max(0.0, until - self._loop.time())
                await asyncio.wait([self._cleaning_up], timeout=left_s)
            end_process(0)

        # kept, since the loop holds tasks only weakly
        self._ending = self._loop.create_task(end())

    async def _clean_up(self, invocation: Invocation) -> None:
        with suppress(RpcError):  # it is in the log
            if invocation.handler.is_async:
                await self.service.run_async(invocation)
            else:
                await self._loop.run_in_executor(self._threads, self.service.run, invocation)

    def _abandon(self) -> None:
        """In a forked child: its handler may go on to its next `await`, and all others nowhere."""
        ready = getattr(self._loop, "_ready", None)
        if isinstance(ready, deque):
            ready.clear()  # pyright: ignore[reportUnknownMemberType]
        # from Python 3.14 on the loop is not the child's, and the step that has forked fails in it
        self._loop.set_exception_handler(_pass_over)
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon(_no_way_on)

    def _watchdog(self) -> None:
        """End the process even if a handler blocks the loop."""
        poll = select.poll()
        poll.register(self._incoming, 0)  # only the hang-up
        poll.register(self._signals.fd, select.POLLIN)
        while True:
            for fd, _ in poll.poll():
                patience_s = SHUT_LINGER_S if self.is_shut_down else LINGER_S
                if fd == self._signals.fd:
                    if not self._signals.ending():
                        continue
                    patience_s = limits.SHUTDOWN_TIMEOUT_S
                    self._loop.call_soon_threadsafe(self._end_within, patience_s)
                # longer than the loop gives its handlers: if that still runs, it ends in order
                threading.Event().wait(2 * patience_s)
                end_process(0)


def _pass_over(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Tell nothing of what fails in the loop."""


def _no_way_on() -> None:
    say("a forked child awaits something, but the event loop is the plugin's: the child ends here")
    end_child(SystemExit(1))
