"""The engine of plugins whose handlers are plain functions: threads as leader and followers.

The thread that reads a request also runs its handler and writes the answer, while another thread
waits to read. So a request is not handed from thread to thread, a cancel is read while the handler
runs, and a slow handler delays nothing else. There is always one thread more than running handlers.
Calls that come in one read wait in a `Backlog`, for the thread that read them or for other threads.
"""

from __future__ import annotations

import threading
import traceback
from collections import deque
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any

from sliphook_sdk.errors import RpcError
from sliphook_sdk.process.exit import end_process
from sliphook_sdk.process.signals import Signals
from sliphook_sdk.protocol import limits
from sliphook_sdk.runtime.log import note_origins
from sliphook_sdk.service import Invocation

from .backlog import WATCH_S, Backlog
from .base import MAX_HANDLERS, SHUT_LINGER_S, Engine, is_ordered
from .poller import EpollPoller, LockPoller

if TYPE_CHECKING:
    from collections.abc import Callable

    from sliphook_sdk.plugin import Plugin
    from sliphook_sdk.process.streams import Output
    from sliphook_sdk.registration.entry_handlers import EntryHandlers
    from sliphook_sdk.wire.call import Call

    from .poller import Poller


class ThreadEngine(Engine):
    """Serves the host with as many threads as handlers run at the same time, and one to read.

    Args:
        plugin: the plugin; its handlers are plain functions.
        incoming: the descriptor of the host's messages.
        output: where answers go.
    """

    def __init__(self, plugin: Plugin[Any], incoming: int, output: Output) -> None:
        super().__init__(plugin, output)
        self._signals = Signals()
        self._poller = _poller(incoming, self._signals.fd)
        self._lock = threading.Lock()
        # the lock guards all of the following; the first of the ordered calls is in the backlog
        # too, where it stands for all of them
        self._backlog: Backlog[Call] = Backlog()
        self._ordered: deque[Call] = deque()
        self._ordered_run = False
        self._running = 0
        self._max_running = MAX_HANDLERS
        self._idle = 1
        self._all_done: threading.Event | None = None
        self._cleaned_up = threading.Event()  # on_shutdown is done, or has not begun
        self._cleaned_up.set()

    def serve(self) -> None:
        """Serve until the process ends. For the main thread, and for the threads it starts."""
        note_origins()
        while True:
            watches = bool(self._backlog) and self._begin_watch()
            data = self._poller.wait(WATCH_S if watches else None)
            # before `rearm`: calls are queued in the order in which they were read
            work = self._take([] if data is None else self.receive(data), watches)
            if data is None:
                if self._signals.ending():
                    self._end_within(limits.SHUTDOWN_TIMEOUT_S, work)
            elif self.grace_s is None:
                self._poller.rearm()
            else:
                self._poller.close()
                self._end_within(self.grace_s, work)
            self._run(work)

    def answer(self, prepare: Callable[[Call], Any], call: Call) -> Any:
        """See `Engine`."""
        ready = prepare(call)
        if not isinstance(ready, Invocation):
            return ready
        if call.method != "shutdown":
            return self.service.run(ready)
        self._cleaned_up.clear()
        return self._clean_up(ready)

    def tell(self, handlers: EntryHandlers, call: Call) -> None:
        """See `Engine`."""
        payload, invocations = self.service.event(handlers, call)
        for invocation in invocations:
            with suppress(RpcError):  # it is in the log, and an event has no reply
                self.service.run(invocation)
        self.service.event_done(handlers, payload)

    def _clean_up(self, invocation: Invocation) -> Any:
        try:
            return self.service.run(invocation)
        finally:
            self._cleaned_up.set()

    def _begin_watch(self) -> bool:
        """True if this thread, which is idle, shall watch the backlog."""
        with self._lock:
            return self._running < self._max_running and self._backlog.begin_watch(monotonic())

    def _take(self, arrived: list[Call], watched: bool) -> Call | None:
        """Take a call to run, if there is one; leave an idle thread for the input and the rest."""
        with self._lock:
            alone = len(arrived) == 1 and not (self._backlog or watched or is_ordered(arrived[0]))
            if alone and self._idle > 1 and self._running < self._max_running:
                # the fast path: this call need not pass through the backlog
                self._running += 1
                self._idle -= 1
                return arrived[0]
            for call in arrived:
                self._queue(call)
            if watched:
                self._backlog.end_watch(monotonic())
            if (
                not self._backlog
                or self._running >= self._max_running
                or not (arrived or self._backlog.spread)
            ):
                return None
            work = self._backlog.take()
            more = self._backlog.needs_thread()
            self._running += 1
            self._idle -= 1
            no_reader = not self._idle
        # before the handler runs, another thread must read: the next message may be its cancel
        if no_reader and not self._add_thread() and self._put_back(work):
            return None
        if more:
            self._poller.wake()
        return work

    def _queue(self, call: Call) -> None:
        if not is_ordered(call):
            self._backlog.append(call)
            return
        self._ordered.append(call)
        if not self._ordered_run:
            self._ordered_run = True
            self._backlog.append(call)
            self._backlog.spread = True  # requests behind events do not wait for their handlers

    def _put_back(self, work: Call) -> bool:
        """True if `work` is in the backlog again, since this thread must go on reading.

        It must if no other thread is idle and one that runs a handler can take the work later. If
        no other thread exists, this one runs the handler, and messages wait until it is done.
        """
        with self._lock:
            if self._idle or self._running == 1:
                return False
            self._backlog.appendleft(work)
            self._running -= 1
            self._idle += 1
            self._max_running = self._running
            return True

    def _run(self, work: Call | None) -> None:
        while work is not None:
            if is_ordered(work):
                self._run_ordered()
            else:
                self.peer.dispatch(work)
            work = self._next()

    def _next(self) -> Call | None:
        """The next call for a thread that has finished one, or None: then the thread is idle."""
        with self._lock:
            if self._backlog:
                return self._backlog.take()
            self._running -= 1
            self._idle += 1
            # an idle thread exists again: the shortage that `_put_back` met is over
            self._max_running = MAX_HANDLERS
            if self._all_done is not None and not self._running:
                self._all_done.set()
            return None

    def _run_ordered(self) -> None:
        """Run the events that wait, one after the other."""
        while True:
            with self._lock:
                if not self._ordered:
                    self._ordered_run = False
                    return
                call = self._ordered.popleft()
            self.peer.dispatch(call)

    def _add_thread(self) -> bool:
        with self._lock:
            self._idle += 1
        try:
            threading.Thread(target=self._serve_beside, daemon=True).start()
        except RuntimeError as exc:  # the system gives no more threads
            with self._lock:
                self._idle -= 1
            self.peer.log_error(f"no thread is left to read with: {exc}")
            return False
        return True

    def _serve_beside(self) -> None:
        """Serve in a thread of its own; what ends that would leave the plugin deaf."""
        try:
            self.serve()
        except BaseException:  # no memory, or what the author's code raises in other threads
            traceback.print_exc()
            end_process(1)

    def _end_within(self, seconds: float, work: Call | None) -> None:
        """End the process when all handlers, `work` too, are done, or when the time is up."""

        def end() -> None:
            with self._lock:
                self._all_done = threading.Event()
                if not self._running:
                    self._all_done.set()
            until = monotonic() + (seconds or SHUT_LINGER_S)
            left = self.clean_up(seconds or SHUT_LINGER_S)
            if left is not None:
                self._cleaned_up.clear()
                # beside the handlers that still run, and not here: it may never come back
                threading.Thread(target=self._clean_up, args=(left,), daemon=True).start()
            self._all_done.wait(seconds)
            self._cleaned_up.wait(max(0.0, until - monotonic()))
            end_process(0)

        try:
            threading.Thread(target=end, daemon=True).start()
        except RuntimeError:
            # the system gives no more threads; this one is free, as there is nothing more to read
            self._run(work)
            end()


def _poller(incoming: int, signals: int) -> Poller:
    try:
        return EpollPoller(incoming, signals)
    except (AttributeError, PermissionError):  # not Linux, or standard input is a file
        return LockPoller(incoming, signals)
