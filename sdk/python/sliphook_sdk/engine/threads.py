"""The engine of plugins whose handlers are plain functions: threads that lead in turn.

The thread that reads a request also runs its handler and writes the answer; meanwhile another
thread waits to read. So there is no hand-over in the common case, a cancel is read while the
handler runs, and a slow handler holds nothing up. There is always one thread more than handlers
under way. What comes in the same read as another call waits in a `Backlog`, for the same thread or
for one of its own.
"""

from __future__ import annotations

import threading
from collections import deque
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any

from sliphook_sdk.errors import RpcError
from sliphook_sdk.process.exit import end_process
from sliphook_sdk.process.signals import Signals
from sliphook_sdk.protocol import limits
from sliphook_sdk.service import Invocation, Route

from .backlog import WATCH_S, Backlog
from .engine import MAX_HANDLERS, Engine, in_turn
from .gates import EpollGate, LockGate

if TYPE_CHECKING:
    from collections.abc import Callable

    from sliphook_sdk.plugin import Plugin
    from sliphook_sdk.process.streams import Output
    from sliphook_sdk.protocol import ToolResult
    from sliphook_sdk.wire.call import Call

    from .gates import Gate


class ThreadEngine(Engine):
    """Serves the host with as many threads as handlers need at the same time.

    Args:
        plugin: the plugin; its handlers are plain functions.
        incoming: the descriptor of the host's messages.
        output: where answers go.
    """

    def __init__(self, plugin: Plugin[Any], incoming: int, output: Output) -> None:
        super().__init__(plugin, output)
        self._signals = Signals()
        self._gate = _gate(incoming, self._signals.fd)
        self._lock = threading.Lock()
        # all of these under the lock; of the events that wait only the first is in the backlog too,
        # for them all
        self._backlog: Backlog[Call] = Backlog()
        self._events: deque[Call] = deque()
        self._telling = False
        self._running = 0
        self._most = MAX_HANDLERS
        self._idle = 1
        self._at_rest: threading.Event | None = None

    def serve(self) -> None:
        """Serve until the process ends. For the main thread, which is one of the threads."""
        while True:
            watches = bool(self._backlog) and self._watch()
            data = self._gate.wait(WATCH_S if watches else None)
            work = self._begin([] if data is None else self.arrivals(data), watches)
            if data is None:
                if self._signals.ending():
                    self._end_within(limits.SHUTDOWN_TIMEOUT_S, work)
            elif self.over is None:
                self._gate.open()
            else:
                self._gate.close()
                self._end_within(self.over, work)
            self._work_off(work)

    def answer(self, prepare: Callable[[Call], Invocation | ToolResult], call: Call) -> Any:
        """See `Engine`."""
        ready = prepare(call)
        return self.service.run(ready) if isinstance(ready, Invocation) else ready

    def tell(self, route: Route, call: Call) -> None:
        """See `Engine`."""
        payload, invocations = self.service.event(route, call)
        for invocation in invocations:
            with suppress(RpcError):  # it is in the log, and nobody waits for it
                self.service.run(invocation)
        self.service.told(route, payload)

    def _watch(self) -> bool:
        """True where this thread, which is idle, shall look after the backlog."""
        with self._lock:
            return self._running < self._most and self._backlog.watch(monotonic())

    def _begin(self, arrived: list[Call], watched: bool) -> Call | None:
        """Take work where there is any to take, and see to it that somebody is left to read and to look after the rest."""
        with self._lock:
            alone = len(arrived) == 1 and not (self._backlog or watched or in_turn(arrived[0]))
            if (
                alone and self._idle > 1 and self._running < self._most
            ):  # the usual case: there is nothing else to look after
                self._running += 1
                self._idle -= 1
                return arrived[0]
            for call in arrived:
                self._queue(call)
            if watched:
                self._backlog.watched(monotonic())
            if (
                not self._backlog
                or self._running >= self._most
                or not (arrived or self._backlog.spread)
            ):
                return None
            work = self._backlog.take()
            more = self._backlog.needs_another()
            self._running += 1
            self._idle -= 1
            lonely = not self._idle
        if lonely and not self._add_thread() and self._put_back(work):
            return None
        if more:
            self._gate.ring()
        return work

    def _queue(self, call: Call) -> None:
        if not in_turn(call):
            self._backlog.append(call)
            return
        self._events.append(call)
        if not self._telling:
            self._telling = True
            self._backlog.append(call)
            self._backlog.spread = (
                True  # what is asked behind events does not wait for their handlers
            )

    def _put_back(self, work: Call) -> bool:
        """True where this thread has to go on reading, as no other is left to; one that runs a handler takes the work when it is done."""
        with self._lock:
            if (
                self._idle or self._running == 1
            ):  # alone it has to do everything: then messages wait until the handler is done
                return False
            self._backlog.appendleft(work)
            self._running -= 1
            self._idle += 1
            self._most = self._running
            return True

    def _work_off(self, work: Call | None) -> None:
        while work is not None:
            if in_turn(work):
                self._tell_all()
            else:
                self.peer.dispatch(work)
            work = self._next()

    def _next(self) -> Call | None:
        """More work for a thread that has done some, or None: it is idle now."""
        with self._lock:
            if self._backlog:
                return self._backlog.take()
            self._running -= 1
            self._idle += 1
            self._most = MAX_HANDLERS
            if self._at_rest is not None and not self._running:
                self._at_rest.set()
            return None

    def _tell_all(self) -> None:
        """Run what waits in turn, one after the other."""
        while True:
            with self._lock:
                if not self._events:
                    self._telling = False
                    return
                call = self._events.popleft()
            self.peer.dispatch(call)

    def _add_thread(self) -> bool:
        with self._lock:
            self._idle += 1
        try:
            threading.Thread(target=self.serve, daemon=True).start()
        except RuntimeError as exc:  # the system gives no more
            with self._lock:
                self._idle -= 1
            self.peer.complain(f"no thread is left to read with: {exc}")
            return False
        return True

    def _end_within(self, seconds: float, work: Call | None) -> None:
        """End the process when all work is done, this thread's too, or the time is up."""

        def end() -> None:
            with self._lock:
                self._at_rest = threading.Event()
                if not self._running:
                    self._at_rest.set()
            self._at_rest.wait(seconds)
            end_process(0)

        try:
            threading.Thread(target=end, daemon=True).start()
        except (
            RuntimeError
        ):  # the system gives no more; there is nothing more to read, so this one can do it
            self._work_off(work)
            end()


def _gate(incoming: int, signals: int) -> Gate:
    try:
        return EpollGate(incoming, signals)
    except (AttributeError, PermissionError):  # not Linux, or standard input is a file
        return LockGate(incoming, signals)
