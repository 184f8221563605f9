"""Pure: the author's state of each session."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, Mapping, ValuesView
from typing import TYPE_CHECKING, Any, Generic, Optional, Union, overload

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    StateT = TypeVar("StateT", default=Any)
    T = TypeVar("T")
else:
    from typing import TypeVar

    StateT = TypeVar("StateT")
    T = TypeVar("T")


class Sessions(Mapping[str, StateT], Generic[StateT]):
    """One state for each session; `sessions[session_id]` creates it at its first use.

    Nothing else does: `get`, `values` and `items` give what there is, also in a thread while a
    session begins or ends. A state is removed after the handlers of the session's `session_end`
    have run.
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

    @overload
    def get(self, key: str, /) -> Optional[StateT]: ...

    @overload
    def get(self, key: str, /, default: Union[StateT, T]) -> Union[StateT, T]: ...

    def get(self, key: str, /, default: Any = None) -> Any:
        """The state, or the default if there is none."""
        return self._states.get(key, default)

    def values(self) -> ValuesView[StateT]:
        """A copy: the states that there are."""
        return dict(self._states).values()

    def items(self) -> ItemsView[str, StateT]:
        """A copy: the states that there are, by session."""
        return dict(self._states).items()

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
