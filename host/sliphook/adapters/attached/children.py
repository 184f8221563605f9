"""The child agents of one agent session: what each is to do, and its turn as long as it works."""

from __future__ import annotations

from collections import deque
from typing import Final

import trio

from sliphook import HostError, Turn
from sliphook.adapters.dialects.told import SubagentStopped

from .held import Held, hold

MOST_CHILDREN: Final = 256


class Children:
    """The open ones.

    Args:
        nursery: holds their turns.
    """

    def __init__(self, nursery: trio.Nursery) -> None:
        self._nursery = nursery
        self._open: dict[str, Held[Turn]] = {}
        self._beginning: dict[str, trio.Event] = {}
        self._goals: deque[str] = deque(maxlen=MOST_CHILDREN)

    def is_asked_for(self, goal: str) -> None:
        """The next one that begins is to do this."""
        self._goals.append(goal)

    def next_goal(self) -> str:
        """What the one that begins now is to do, as far as that was told; each is taken once."""
        return self._goals.popleft() if self._goals else ""

    def turn_of(self, agent_id: str) -> Turn | None:
        """Its open turn."""
        held = self._open.get(agent_id)
        return held.value if held is not None and not held.value.ended else None

    async def begun(self, agent_id: str) -> Turn | None:
        """Its open turn; if it begins just now, once it has begun."""
        while (over := self._beginning.get(agent_id)) is not None:
            await over.wait()
        return self.turn_of(agent_id)

    async def begin(self, agent_id: str, parent: Turn, goal: str) -> Turn | None:
        """Its turn begins, unless another hook has begun it.

        None if there are too many, or the parent's has ended meanwhile.
        """
        if (turn := await self.begun(agent_id)) is not None:
            return turn
        # the end of those that ended with their parent's turn may never be told
        self._open = {id: held for id, held in self._open.items() if not held.value.ended}
        if len(self._open) + len(self._beginning) >= MOST_CHILDREN:
            return None
        self._beginning[agent_id] = over = trio.Event()
        try:
            self._open[agent_id] = held = await hold(self._nursery, parent.subagent(goal))
        except HostError:
            return None
        finally:
            del self._beginning[agent_id]
            over.set()
        return held.value

    async def end(self, told: SubagentStopped) -> None:
        """Its turn ends as the agent says."""
        held = self._open.pop(told.agent_id or "", None)
        if held is None:
            return
        turn = held.value
        turn.summary = told.summary
        if told.status == "failed":
            turn.finish("failed")
        if told.status == "cancelled":
            turn.interrupt("user_stop", "agent_told")
        await held.release()

    def forget(self) -> None:
        """All of them have ended with the turn of the root."""
        self._open.clear()
