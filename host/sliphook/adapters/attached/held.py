"""Blocks that are entered by one hook and left by another: each is held by a task of its own."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Any, Generic, TypeVar

import trio

T = TypeVar("T")


class Held(Generic[T]):
    """An entered block.

    Attributes:
        value: what entering gave.
        left: the block has been left.
    """

    def __init__(self, value: T) -> None:
        self.value = value
        self.left = trio.Event()
        self._released = trio.Event()

    @classmethod
    async def enter(
        cls, nursery: trio.Nursery, block: AbstractAsyncContextManager[T, Any]
    ) -> Held[T]:
        """Enter the block in a new task; what entering raises is raised here."""
        outcome: list[Held[T] | Exception] = []
        entered = trio.Event()

        async def hold() -> None:
            held: Held[T] | None = None
            try:
                async with block as value:
                    held = cls(value)
                    outcome.append(held)
                    entered.set()
                    await held._released.wait()
            except Exception as error:
                if held is not None:
                    raise
                outcome.append(error)
                entered.set()
            finally:
                if held is not None:
                    held.left.set()

        nursery.start_soon(hold)
        await entered.wait()
        found = outcome[0]
        if isinstance(found, Exception):
            raise found
        return found

    async def release(self) -> None:
        """Leave the block, and wait until it is left."""
        self._released.set()
        await self.left.wait()
