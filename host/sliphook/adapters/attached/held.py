"""Blocks that are entered by one hook and left by another: each is held by a task of its own."""

from __future__ import annotations

from types import TracebackType
from typing import Generic, Protocol, TypeVar

import trio

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class EntersAndLeaves(Protocol[T_co]):
    """What `async with` takes."""

    async def __aenter__(self) -> T_co: ...

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> bool | None: ...


class Held(Generic[T]):
    """An entered block.

    Attributes:
        value: what entering gave.
        released: it is to be left.
        left: the block has been left.
    """

    def __init__(self, value: T) -> None:
        self.value = value
        self.left = trio.Event()
        self.released = trio.Event()

    async def release(self) -> None:
        """Leave the block, and wait until it is left."""
        self.released.set()
        await self.left.wait()


async def hold(nursery: trio.Nursery, block: EntersAndLeaves[T]) -> Held[T]:
    """Enter the block in a new task; what entering raises is raised here."""
    outcome: list[Held[T] | Exception] = []
    entered = trio.Event()

    async def task() -> None:
        held: Held[T] | None = None
        try:
            async with block as value:
                held = Held(value)
                outcome.append(held)
                entered.set()
                await held.released.wait()
        except Exception as error:
            if held is not None:
                raise
            outcome.append(error)
            entered.set()
        finally:
            if held is not None:
                held.left.set()

    nursery.start_soon(task)
    await entered.wait()
    found = outcome[0]
    if isinstance(found, Exception):
        raise found
    return found
