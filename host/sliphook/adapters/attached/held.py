"""Blocks that are entered by one hook and left by another: each is held by a task of its own.

The first of them is our session's.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, Final, Generic, Protocol, TypeVar

import trio

from sliphook import HostError, Interruption, PluginHost, Session
from sliphook.adapters.dialects.dialect import Dialect
from sliphook.adapters.dialects.told import Happening, Prompted, SessionStarted

BESIDE_S: Final = 0.1
"""How long a first prompt waits for the start that the agent tells beside it."""

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
    """Enter the block in a new task; what entering raises is raised here.

    Raises:
        HostError: the nursery was cancelled meanwhile.
    """
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
        finally:
            if held is not None:
                held.left.set()
            entered.set()  # also if the nursery was cancelled before

    nursery.start_soon(task)
    await entered.wait()
    found = outcome[0] if outcome else HostError("the session is over")
    if isinstance(found, Exception):
        raise found
    return found


class Beginning:
    """The beginning of one agent session.

    Args:
        dialect: the agent's.
        host: opens our session.
        nursery: holds its block.

    Attributes:
        first: what our session was opened with; None until then.
    """

    def __init__(self, dialect: Dialect, host: PluginHost, nursery: trio.Nursery) -> None:
        self.first: Happening | None = None
        self._dialect = dialect
        self._host = host
        self._nursery = nursery
        self._start: SessionStarted | None = None
        self._told = trio.Event()

    def tell(self, start: SessionStarted) -> None:
        """A start has come; of several before our session is open, the first one counts."""
        self._start = self._start or start
        self._told.set()

    async def open(
        self, told: Happening, interrupted: Callable[[Interruption], None]
    ) -> Held[Session]:
        """Open our session with its start, or else with what was told first.

        Args:
            told: a hook that needs it.
            interrupted: told of its interrupts.
        """
        if isinstance(told, Prompted) and self._dialect.starts_beside_prompt:
            with trio.move_on_after(BESIDE_S):
                await self._told.wait()
        self.first = first = self._start or told
        # a session of which nothing was told goes on: its daemon was killed, or is new
        source: Any = "resume"
        if isinstance(first, SessionStarted) and first.source != "compacted":
            source = first.source
        meta: dict[str, Any] = {"agent": self._dialect.name}
        for name in ("transcript_path", "permission_mode"):
            if (value := getattr(first, name)) is not None:
                meta[name] = value
        block = self._host.session(
            session_key=f"{self._dialect.name}:{first.session_id}",
            platform=self._dialect.name,
            cwd=first.cwd,
            model=first.model,
            source=source,
            meta=meta,
            on_interrupt=interrupted,
        )
        return await hold(self._nursery, block)
