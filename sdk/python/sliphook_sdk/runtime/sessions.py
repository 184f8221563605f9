"""Pure: the author's state of each session."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    StateT = TypeVar("StateT", default=Any)
else:
    from typing import TypeVar

    StateT = TypeVar("StateT")


class Sessions(Mapping[str, StateT], Generic[StateT]):
    """One state for each session; `sessions[session_id]` creates it at its first use.

    It is removed after the handlers of the session's `session_end` have run.
    """

    def __init__(self, make: Callable[[], StateT] | None) -> None:
        self._make = make
        self._states: dict[str, StateT] = {}

    def __getitem__(self, session_id: str) -> StateT:
        if self._make is None:
            raise LookupError(
                "the plugin keeps no state of sessions; say what it is: Plugin(..., sessions=dict)"
            )
        try:
            return self._states[session_id]
        except KeyError:
            # two threads that meet a new session at the same time get the same state
            return self._states.setdefault(session_id, self._make())

    def __contains__(self, session_id: object) -> bool:
        return session_id in self._states

    def __iter__(self) -> Iterator[str]:
        # a copy: another thread may add a session meanwhile
        return iter(tuple(self._states))

    def __len__(self) -> int:
        return len(self._states)

    def forget(self, session_id: str) -> None:
        """Remove the state of a session that has ended."""
        self._states.pop(session_id, None)
