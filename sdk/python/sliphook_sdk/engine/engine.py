"""What both engines have in common: a plugin, the host, and which function of the author each message calls."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from sliphook_sdk.framing import FrameSplitter, FramingError
from sliphook_sdk.process.exit import LINGER_S, end_process
from sliphook_sdk.service import Invocation, Route, Service
from sliphook_sdk.wire.rpc import Peer

if TYPE_CHECKING:
    from collections.abc import Callable

    from sliphook_sdk.plugin import Plugin
    from sliphook_sdk.process.streams import Output
    from sliphook_sdk.protocol import ToolResult
    from sliphook_sdk.wire.call import Call

MAX_HANDLERS: Final = 64
"""Handlers that run in threads at the same time; further calls wait until one ends."""

AT_ONCE: Final = frozenset(("initialize", "ping"))
"""Requests that are answered before the next message is looked at: they call no function of the author."""


class Engine:
    """The part of an engine that reads no bytes and runs no function.

    Attributes:
        peer: the host.
        service: what is done with each message.
        over: None while the host may say more; else the seconds that work under way may still take
            before the process ends.
    """

    def __init__(self, plugin: Plugin[Any], output: Output) -> None:
        self.peer = Peer(output.write)
        self.service = Service(plugin, self.peer)
        self.over: float | None = None
        self._shut_down = False
        self._splitter = FrameSplitter()
        plugin.attach(self.service)
        self.peer.handle("initialize", self.service.initialize)
        self.peer.handle("ping", lambda call: {})
        self.peer.handle("shutdown", self._shutdown)
        self.peer.handle("tool/call", partial(self.answer, self.service.tool))
        self.peer.handle("command/run", partial(self.answer, self.service.command))
        for name, route in self.service.routes.items():
            self.peer.handle(f"event/{name}", partial(self.tell, route))
            if route.can_be_asked:
                self.peer.handle(
                    f"hook/{name}",
                    partial(self.answer, partial(self.service.hook, route)),
                    directly=True,
                )

    def serve(self) -> None:
        """Serve until the process ends. For the main thread."""
        raise NotImplementedError

    def answer(self, prepare: Callable[[Call], Invocation | ToolResult], call: Call) -> Any:
        """Answer a request: the handler of Endpoint.

        `prepare` says what to run, or the answer itself.
        """
        raise NotImplementedError

    def tell(self, route: Route, call: Call) -> None:
        """Run the handlers of an event: the handler of Endpoint."""
        raise NotImplementedError

    def arrivals(self, data: bytes) -> list[Call]:
        """The calls in what was read, in order; what calls no function of the author has been dealt with.

        The end of the input and `exit` set `over`. After `shutdown` nobody waits for an answer;
        before it, what was asked may be answered.
        """
        calls: list[Call] = []
        try:
            bodies = self._splitter.feed(data)
        except FramingError as exc:
            self.peer.complain(f"what the host wrote is no message: {exc}")
            end_process(1)
        for body in bodies:
            call = self.peer.receive(body)
            if call is None:
                continue
            if call.method in AT_ONCE:
                self.peer.dispatch(call)
            elif call.method == "exit":
                data = b""
            else:
                calls.append(call)
        if not data and self.over is None:
            self.over = 0.0 if self._shut_down else LINGER_S
        return calls

    def _shutdown(self, call: Call) -> dict[str, Any]:
        self._shut_down = True
        return {}


def in_turn(call: Call) -> bool:
    """True for what waits until all events before it are done: events, and the request for shutdown."""
    return call.id is None or call.method == "shutdown"
