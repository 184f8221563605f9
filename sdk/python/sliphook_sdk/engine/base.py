"""What both engines share: the host's messages, and the handler that each of them calls."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from sliphook_sdk.framing import FrameSplitter, FramingError
from sliphook_sdk.process.exit import LINGER_S, end_process
from sliphook_sdk.service import EntryHandlers, Invocation, Service
from sliphook_sdk.wire.rpc import Peer

if TYPE_CHECKING:
    from collections.abc import Callable

    from sliphook_sdk.plugin import Plugin
    from sliphook_sdk.process.streams import Output
    from sliphook_sdk.protocol import ToolResult
    from sliphook_sdk.wire.call import Call

MAX_HANDLERS: Final = 64
"""Handlers that run in threads at the same time; further calls wait until one ends."""

INLINE: Final = frozenset(("initialize", "ping"))
"""Requests answered before the next message is read: they call no function of the author."""


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
        self._is_shut_down = False
        self._splitter = FrameSplitter()
        self.peer.handle("initialize", self.service.initialize)
        self.peer.handle("ping", lambda call: {})
        self.peer.handle("shutdown", self._shutdown)
        self.peer.handle("tool/call", partial(self.answer, self.service.tool))
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

    def answer(self, prepare: Callable[[Call], Invocation | ToolResult], call: Call) -> Any:
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
            if call.method in INLINE:
                self.peer.dispatch(call)
            elif call.method == "exit":
                # from here on as at the end of the input
                data = b""
            else:
                calls.append(call)
        if not data and self.grace_s is None:
            self.grace_s = 0.0 if self._is_shut_down else LINGER_S
        return calls

    def _shutdown(self, call: Call) -> dict[str, Any]:
        self._is_shut_down = True
        return {}


def is_ordered(call: Call) -> bool:
    """True if the call waits until all events before it are done: an event, or `shutdown`."""
    return call.id is None or call.method == "shutdown"
