"""A block of the trio face that is open in the loop while a caller's block is open outside it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Generic, TypeVar

import trio

from .loop_call import Interrupted
from .portal import HostClosed, Portal

T = TypeVar("T")


class OpenBlock(Generic[T]):
    """An `async with` block that is open in a task of the loop, from `enter` to `leave`.

    Calls that belong to it run inside it.

    Args:
        portal: the loop.
        manager: what is entered.
        parent: the block in which this one runs, and with which it is cancelled.
        on_cancelled: called in the loop when the block is cancelled before it is left.
        on_given_up: called in the loop when the block is being left, before those inside it are.

    Attributes:
        nursery: where its calls run; None before, after, and once it is cancelled.
    """

    def __init__(
        self,
        portal: Portal,
        manager: AbstractAsyncContextManager[T],
        *,
        parent: OpenBlock[Any] | None = None,
        on_cancelled: Callable[[], None] | None = None,
        on_given_up: Callable[[], None] | None = None,
    ) -> None:
        self.portal = portal
        self.parent = parent
        self.nursery: trio.Nursery | None = None
        self.cancelled = False
        self._manager = manager
        self._on_cancelled = on_cancelled
        self._on_given_up = on_given_up
        self._scope = trio.CancelScope()
        self._leave = trio.Event()
        self._left = trio.Event()
        self._error: BaseException | None = None
        self._raised: BaseException | None = None
        self._children: set[OpenBlock[Any]] = set()

    async def enter(self) -> T:
        """Enter the block; in the loop, in a call of the parent's."""
        home = (
            self.parent.nursery
            if self.parent is not None
            # the portal's own: it runs the call in which this is
            else trio.lowlevel.current_task().parent_nursery
        )
        if home is None:
            raise (
                self.parent.why_over()
                if self.parent is not None
                else HostClosed("the host was closed")
            )
        # in a task of its own: one task must enter and leave trio's scopes, and a call's task ends
        value: T = await home.start(self._hold)
        return value

    async def leave(self, error: BaseException | None = None, *, cancel: bool = False) -> None:
        """Leave the block as the caller's block is left, and wait until that is done; in the loop.

        Does nothing if it was never entered.

        Args:
            error: what left the caller's block, or None.
            cancel: the caller was cancelled.

        Raises:
            BaseException: what leaving raised itself.
        """
        if self not in self.portal.blocks:
            return
        self._error = error
        if cancel:
            self._scope.cancel()
        self.give_up()
        # the caller's block must not be over before this one is
        with trio.CancelScope(shield=True):
            await self._left.wait()
        if self._raised is not None:
            raise self._raised

    def give_up(self) -> None:
        """Leave the block and those inside it without waiting for their callers; in the loop."""
        if self._on_given_up is not None:
            self._on_given_up()
        for child in list(self._children):
            child.give_up()
        self._leave.set()

    def why_over(self) -> BaseException:
        """Why no call can run in it."""
        return (
            Interrupted("the turn was interrupted")
            if self.cancelled
            else HostClosed("its block is not open")
        )

    async def _hold(self, *, task_status: trio.TaskStatus[T]) -> None:
        with trio.CancelScope() as scope:
            value = await self._manager.__aenter__()
            self._scope = scope  # now: it may have been entered before, and be open
            siblings = self.parent._children if self.parent is not None else set[OpenBlock[Any]]()
            siblings.add(self)
            self.portal.blocks.add(self)
            try:
                await self._stay_and_exit(value, task_status)
            finally:
                siblings.discard(self)
                self.portal.blocks.discard(self)
                self._left.set()

    async def _stay_and_exit(self, value: T, task_status: trio.TaskStatus[T]) -> None:
        cancelled: BaseException | None = None
        try:
            async with trio.open_nursery() as nursery:
                self.nursery = nursery
                task_status.started(value)
                try:
                    await self._leave.wait()
                except trio.Cancelled:
                    self.cancelled = True
                    raise
                finally:
                    # from here on no call can begin
                    self.nursery = None
                # calls that other threads or tasks of the caller have not finished
                nursery.cancel_scope.cancel()
        except BaseException as error:
            # trio's Cancelled, one or a group: what a call raises goes to its caller alone
            cancelled = error
            if self.cancelled and self._on_cancelled is not None:
                self._on_cancelled()
            with trio.CancelScope(shield=True):
                # the caller's code may be inside its block still; the end is told when it is left
                await self._leave.wait()
        why = self._error or cancelled
        try:
            swallowed = await self._manager.__aexit__(
                type(why) if why is not None else None, why, None
            )
        except trio.Cancelled:
            raise
        except BaseException as raised:
            # for `leave` to raise: from here it would end the portal's nursery
            self._raised = raised
            return
        # the scope that was cancelled is further out, and has to see it
        if cancelled is not None and why is cancelled and not swallowed:
            raise cancelled
