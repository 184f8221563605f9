"""Pure: the states of a plugin as a table of moves, and the policy for restarts."""

from __future__ import annotations

import enum
from types import MappingProxyType
from typing import Final


class State(enum.Enum):
    """The state of a plugin; the value is the word that people and programs read."""

    STOPPED = "stopped"
    STARTING = "starting"
    READY = "ready"
    STOPPING = "stopping"
    RESTARTING = "restarting"
    FAILED = "failed"
    REFUSED = "refused"
    SELF_DISABLED = "self_disabled"
    DISABLED = "disabled"

    @property
    def waits(self) -> bool:
        """True if requests wait for the plugin: it is going to become ready or fail."""
        return self in (State.STARTING, State.RESTARTING)


class Target(enum.Enum):
    """The state that the host wants a plugin to reach."""

    RUNNING = enum.auto()
    DISABLED = enum.auto()
    CLOSED = enum.auto()


class Trigger(enum.Enum):
    """What moves a plugin to another state."""

    START = "start"
    MANIFEST = "manifest read"
    CANNOT_START = "cannot start"
    REFUSE = "refused"
    DECLINE = "disabled itself"
    DIED = "died"
    BROKE = "died too often"
    RETRY = "time to restart"
    STOP = "stop"
    ENDED = "ended"
    DISABLE = "disabled by the user"
    ENABLE = "enabled by the user"


_S = State
_T = Trigger

TABLE: Final = MappingProxyType(
    {
        (_S.STOPPED, _T.START): _S.STARTING,
        (_S.STARTING, _T.MANIFEST): _S.READY,
        (_S.STARTING, _T.CANNOT_START): _S.FAILED,
        (_S.STARTING, _T.REFUSE): _S.REFUSED,
        (_S.STARTING, _T.DECLINE): _S.SELF_DISABLED,
        (_S.STARTING, _T.DIED): _S.RESTARTING,
        (_S.READY, _T.DIED): _S.RESTARTING,
        (_S.READY, _T.REFUSE): _S.REFUSED,
        (_S.RESTARTING, _T.RETRY): _S.STARTING,
        (_S.RESTARTING, _T.BROKE): _S.FAILED,
        (_S.STARTING, _T.STOP): _S.STOPPING,
        (_S.READY, _T.STOP): _S.STOPPING,
        (_S.RESTARTING, _T.STOP): _S.STOPPED,
        (_S.STOPPING, _T.ENDED): _S.STOPPED,
        (_S.FAILED, _T.STOP): _S.STOPPED,
        (_S.REFUSED, _T.STOP): _S.STOPPED,
        (_S.SELF_DISABLED, _T.STOP): _S.STOPPED,
        (_S.DISABLED, _T.STOP): _S.DISABLED,
        (_S.FAILED, _T.START): _S.STARTING,
        (_S.REFUSED, _T.START): _S.STARTING,
        (_S.SELF_DISABLED, _T.START): _S.STARTING,
        (_S.STOPPED, _T.DISABLE): _S.DISABLED,
        (_S.FAILED, _T.DISABLE): _S.DISABLED,
        (_S.REFUSED, _T.DISABLE): _S.DISABLED,
        (_S.SELF_DISABLED, _T.DISABLE): _S.DISABLED,
        (_S.DISABLED, _T.ENABLE): _S.STOPPED,
    }
)
"""Every possible move. Any other is a fault of the host."""


def move(state: State, trigger: Trigger) -> State:
    """The state after `trigger`.

    Raises:
        KeyError: the table has no such move; the host is at fault.
    """
    return TABLE[state, trigger]


FIRST_DELAYS_S: Final = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0)
"""The wait before each restart in a row; the last one repeats."""
HEALTHY_S: Final = 30.0
"""After being ready for so long, earlier deaths do not count."""
BREAKER_DEATHS: Final = 5
"""The plugin is not restarted after so many deaths within `BREAKER_WINDOW_S`."""
BREAKER_WINDOW_S: Final = 60.0
JITTER: Final = 0.2
"""The random part of a wait, so that plugins which died together do not start together."""


class RestartPolicy:
    """Decides how long to wait before a restart, and when to give up; it outlives the process."""

    def __init__(self) -> None:
        self._deaths: list[float] = []
        self._in_a_row = 0
        self.restarts = 0

    def died(self, now_s: float, ready_for_s: float, jitter: float) -> float | None:
        """Count a death.

        Args:
            now_s: the time of the death.
            ready_for_s: how long the plugin had been ready; after `HEALTHY_S`, earlier deaths do
                not count.
            jitter: a random number from 0 to 1.

        Returns:
            Seconds to wait before the next start, or None if the plugin has died too often.
        """
        if ready_for_s >= HEALTHY_S:
            self._in_a_row = 0
            self._deaths.clear()
        self._deaths = [death for death in self._deaths if now_s - death < BREAKER_WINDOW_S]
        self._deaths.append(now_s)
        if len(self._deaths) >= BREAKER_DEATHS:
            return None
        delay_s = FIRST_DELAYS_S[min(self._in_a_row, len(FIRST_DELAYS_S) - 1)]
        self._in_a_row += 1
        self.restarts += 1
        return delay_s * (1 + JITTER * jitter)

    def reset(self) -> None:
        """Forget all deaths: the user has started the plugin by hand."""
        self._deaths.clear()
        self._in_a_row = 0
