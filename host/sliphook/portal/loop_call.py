"""One call in the loop for a caller outside of it, and what the caller does for it meanwhile."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from functools import partial, wraps
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, cast

import trio

from sliphook.session.arguments.functions import check_function, check_plain

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class Interrupted(BaseException):
    """The turn was interrupted while one of its calls was under way, or before the call began.

    Stops at the end of the turn's block. Like trio's Cancelled it is no `Exception`: an agent that
    catches every error of a tool does not catch this.
    """


class Caller(Protocol):
    """Waits outside the loop for one call."""

    def settled(self) -> None:
        """The call is over. Called once, in the loop's thread."""
        ...

    async def have_done(self, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """In the loop: have the caller call `function`; returns what it returned, or raises."""
        ...

    def have_soon(self, function: Callable[..., object], *args: Any) -> None:
        """In the loop: have the caller call `function` before the call is over; never waits."""
        ...


class LoopCall(Generic[R]):
    """One function that runs in the loop for a caller outside it."""

    def __init__(self, function: Callable[[], Any], caller: Caller) -> None:
        self.caller = caller
        self._function = function
        self._scope = trio.CancelScope()
        self._value: R | None = None
        self._error: BaseException | None = None
        self._over = False

    def run_at_once(self) -> None:
        """Run a plain function."""
        try:
            self._settle(self._function(), None)
        # an exception that gets out of `run_sync_soon` would crash the loop
        except BaseException as error:
            self._settle(None, error)

    async def run(self) -> None:
        """Run an async function; the only work of its task."""
        # each task has its own context, so calls side by side find their own callers
        _under_way.set(self)
        try:
            with self._scope:
                self._settle(await self._function(), None)
            # reached unsettled only if the scope swallowed what `cancel` raised
            self._settle(None, Interrupted("the call was given up"))
        except trio.Cancelled:
            self._settle(None, Interrupted("the turn was interrupted"))
            raise
        # not raised: in the nursery it would cancel all other calls
        except BaseException as error:
            self._settle(None, error)

    def refuse(self, error: BaseException) -> None:
        """The call cannot run any more."""
        self._settle(None, error)

    def cancel(self) -> None:
        """Give the call up; in the loop's thread."""
        self._scope.cancel()

    def result(self) -> R:
        """What the function returned; raises what it raised."""
        if self._error is not None:
            raise self._error
        return cast("R", self._value)

    def _settle(self, value: R | None, error: BaseException | None) -> None:
        if not self._over:
            self._value, self._error, self._over = value, error, True
            self.caller.settled()


_under_way: ContextVar[LoopCall[Any]] = ContextVar("sliphook_call")


async def have_caller_do(function: Callable[..., Any], *args: Any) -> Any:
    """In the loop, inside a call: have its caller call a function of the agent's."""
    return await _under_way.get().caller.have_done(function, args)


def for_caller(what: str, function: Callable[..., Any] | None) -> Callable[..., Any] | None:
    """The same function of the agent's, called by the caller of the call under way; or None.

    Raises:
        TypeError: it is neither; `what` names it.
    """
    check_function(what, function)
    return partial(have_caller_do, function) if function is not None else None


def caller_shows(
    method: Callable[Concatenate[T, P], Awaitable[R]],
) -> Callable[Concatenate[T, P], Awaitable[R]]:
    """The same method of a turn, whose `on_text` is called by the caller and not in the loop."""

    @wraps(method)
    async def call(turn: T, /, *args: P.args, **kwargs: P.kwargs) -> R:
        given = cast("dict[str, Any]", kwargs)
        check_plain("on_text", given.get("on_text"))
        if given.get("on_text") is not None:
            # the pieces come in another task, which does not know the caller
            caller = _under_way.get().caller
            given["on_text"] = partial(caller.have_soon, given["on_text"])
        return await method(turn, *args, **kwargs)

    return call
