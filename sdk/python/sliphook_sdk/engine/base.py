"""What both engines share: the host's messages, and the handler that each of them calls."""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import msgspec

from sliphook_sdk.errors import RpcError
from sliphook_sdk.framing import FrameSplitter, FramingError
from sliphook_sdk.process.exit import LINGER_S, end_process
from sliphook_sdk.protocol import ErrorCode, limits
from sliphook_sdk.service import READ_S, START_S, Invocation, Service
from sliphook_sdk.wire.call import Call
from sliphook_sdk.wire.rpc import Peer

if TYPE_CHECKING:
    from collections.abc import Callable

    from sliphook_sdk.plugin import Plugin
    from sliphook_sdk.process.streams import Output
    from sliphook_sdk.registration.entry_handlers import EntryHandlers

MAX_HANDLERS: Final = 64
"""Handlers that run in threads at the same time; further calls wait until one ends."""

SHUT_LINGER_S: Final = limits.EXIT_GRACE_S - 0.5
"""How long `on_shutdown` may still take after `exit`; then the host would send SIGTERM."""


class Engine:
    """The part of an engine that neither reads bytes nor runs functions.

    Attributes:
        peer: the host.
        service: finds and runs the handler of each message.
        grace_s: None while the host may send more; after that, the seconds that running handlers
            get before the process ends.
    """

    def __init__(self, plugin: Plugin[Any], output: Output) -> None:
        self.peer = Peer(output.write)
        self.service = Service(plugin, self.peer)
        self.grace_s: float | None = None
        self.is_shut_down = False
        self._splitter = FrameSplitter()
        # answered before the next message is read, since they call no function of the author
        self._inline = {"ping"} if "on_start" in plugin.life else {"initialize", "ping"}
        self.peer.handle("initialize", partial(self.answer, self._initialize), direct=True)
        self.peer.handle("ping", lambda call: {})
        self.peer.handle("shutdown", partial(self.answer, self._shutdown))
        self.peer.handle("tool/call", partial(self.answer, self.service.tool), direct=True)
        self.peer.handle("command/run", partial(self.answer, self.service.command))
        for name, handlers in self.service.entries.items():
            self.peer.handle(f"event/{name}", partial(self.tell, handlers))
            if handlers.can_be_asked:
                self.peer.handle(
                    f"hook/{name}",
                    partial(self.answer, partial(self.service.hook, handlers)),
                    direct=True,
                )

    def serve(self) -> None:
        """Serve until the process ends. For the main thread."""
        raise NotImplementedError

    def answer(self, prepare: Callable[[Call], Any], call: Call) -> Any:
        """Handle a request, for `Peer.handle`.

        Args:
            prepare: gives the invocation that answers the call, or the answer itself.
            call: the request.
        """
        raise NotImplementedError

    def tell(self, handlers: EntryHandlers, call: Call) -> None:
        """Handle an event, for `Peer.handle`."""
        raise NotImplementedError

    def receive(self, data: bytes) -> list[Call]:
        """Take in what was read, and return the calls that need a function of the author, in order.

        The end of the input and `exit` set `grace_s`: after `shutdown` the host waits for no
        answer, before it the host may.
        """
        calls: list[Call] = []
        try:
            bodies = self._splitter.feed(data)
        except FramingError as exc:
            self.peer.log_error(f"what the host wrote is no message: {exc}")
            end_process(1)
        for body in bodies:
            call = self.peer.receive(body)
            if call is None:
                continue
            if call.method in self._inline:
                self.peer.dispatch(call)
            elif call.method == "exit":
                # from here on as at the end of the input
                data = b""
            else:
                calls.append(call)
        if not data and self.grace_s is None:
            self.grace_s = 0.0 if self.is_shut_down else LINGER_S
            self.peer.close()
        return calls

    def clean_up(self, seconds: float) -> Invocation | None:
        """What is left to do at an end without `shutdown`: the invocation of `on_shutdown`."""
        return self.service.shutdown(Call(None, "shutdown", msgspec.Raw(b"{}")), seconds)

    def _shutdown(self, call: Call) -> Any:
        self.is_shut_down = True
        return self.service.shutdown(call, limits.SHUTDOWN_TIMEOUT_S + SHUT_LINGER_S) or {}

    def _initialize(self, call: Call) -> Any:
        ready = self.service.initialize(call)
        if isinstance(ready, Invocation):
            handler = ready.handler
            seconds = READ_S if self.service.runtime.manifest_only else START_S
            late = RpcError(
                ErrorCode.INTERNAL_ERROR,
                f"on_start: {handler.name}() took longer than {seconds:g} s ({handler.where})",
            )
            # a thread, since the function may block the event loop
            timer = threading.Timer(seconds, self.peer.refuse, (call, late))
            timer.daemon = True
            timer.start()
        return ready


def is_ordered(call: Call) -> bool:
    """True if the call waits until all events before it are done: an event, or `shutdown`."""
    return call.id is None or call.method == "shutdown"
