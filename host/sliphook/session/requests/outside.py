"""What is put to plugins outside any session, by hand, and what they ask the person meanwhile."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import trio

from sliphook.session.questions.question import OpenQuestion


class Outside:
    """The calls and fires under way outside any session.

    Each has the id of a session that is not open, which plugins ask with.

    Attributes:
        asking: held while the person is asked: one question at a time.
    """

    def __init__(self) -> None:
        self.asking = trio.Lock()
        self._under_way: dict[str, list[set[OpenQuestion]]] = {}

    def __contains__(self, session_id: str) -> bool:
        return session_id in self._under_way

    def questions(self, session_id: str) -> set[OpenQuestion]:
        """Those of the call that began last; further ones are added to it.

        Raises:
            KeyError: nothing is under way with this id.
        """
        return self._under_way[session_id][-1]

    @contextmanager
    def under_way(self, session_id: str) -> Generator[None]:
        """While something is under way; its end is the end of its questions."""
        mine: set[OpenQuestion] = set()
        together = self._under_way.setdefault(session_id, [])
        together.append(mine)
        try:
            yield
        finally:
            # by identity: two empty sets are equal
            together[:] = [one for one in together if one is not mine]
            if not together:
                del self._under_way[session_id]
            for question in mine:
                question.settle("interrupted")
