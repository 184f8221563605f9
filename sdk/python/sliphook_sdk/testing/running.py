"""One call of a handler under test, from its begin to its end or its cancel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Optional

from sliphook_sdk.errors import RpcError
from sliphook_sdk.service import Invocation

from .clock import Clock, JumpingClock
from .loop import LoopThread

if TYPE_CHECKING:
    from collections.abc import Callable

    from sliphook_sdk.protocol import ProgressParams
    from sliphook_sdk.service import Service

    from .link import HarnessLink


class PluginError(AssertionError):
    """The plugin would have answered with an error.

    The message is what the host would have read; the handler's exception is the cause.
    """


class CallCancelled(Exception):
    """The call was cancelled, as the test has asked; what the handler returned is dropped."""


class Ends(NamedTuple):
    """What cancels a call; each may be None.

    Attributes:
        after_s: seconds from its begin, as a user who interrupts.
        when: gets each report of its progress, and says whether that is the moment.
        timeout_s: how long the host waits.
    """

    after_s: Optional[float] = None
    when: Optional[Callable[[ProgressParams], bool]] = None
    timeout_s: Optional[float] = None


class Runner:
    """Runs the handlers of one plugin."""

    def __init__(self, service: Service, link: HarnessLink, *, jumps: bool) -> None:
        self._service = service
        self._link = link
        self._clock = JumpingClock() if jumps else Clock()
        self._loop = LoopThread(self._clock)
        self.close = self._loop.close

    def run(self, ready: Any, ends: Ends | None = None) -> Any:
        """What the handler answers; `ready` as it is if it is no call of a handler.

        Raises:
            PluginError: the handler raised, or its answer is not allowed.
            CallCancelled: it was cancelled, and the handler has come back.
            ValueError: the test's `person` has answered what is no answer.
        """
        if not isinstance(ready, Invocation):
            return ready
        ends = Ends() if ends is None else ends
        call, name = ready.call, ready.handler.name
        late: list[float] = []

        def is_late() -> None:
            late.append(ends.timeout_s or 0)
            call.cancel()

        def report(progress: ProgressParams) -> None:
            if ends.when is not None and ends.when(progress):
                call.cancel()

        self._link.report = report
        try:
            with (
                self._clock.running(call),
                self._clock.alarm(ends.after_s, call.cancel),
                self._clock.alarm(ends.timeout_s, is_late),
            ):
                if ready.handler.is_async:
                    answer = self._loop.run(self._service.run_cancellable(ready))
                else:
                    answer = self._service.run(ready)
        except RpcError as exc:
            if not call.cancelled:
                raise PluginError(exc.message) from exc.__context__
            why = f", since its {late[0]:g} s were over" if late else ""
            raise CallCancelled(f"{name} was cancelled{why}") from None
        finally:
            self._link.report = None
            misfit, self._link.misfit = self._link.misfit, None
            if misfit is not None:
                raise misfit
        if call.cancelled:
            raise CallCancelled(f"{name} was cancelled, and answered all the same")
        return answer
