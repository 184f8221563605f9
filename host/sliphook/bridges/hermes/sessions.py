"""Hermes's sessions: a session of Sliphook each, under the same id."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final, Literal

from sliphook import Interruption
from sliphook.blocking import PluginHost, Session

_BOUNDARIES: Final = ("new_session", "session_boundary")
"""Reasons of `on_session_finalize` that `on_session_reset` follows."""


def session_id_of(agent: Any) -> str:
    """Hermes's id of the agent's session; the background review has another one of ours.

    Hermes lets it have its parent's, while the parent's next run may be under way.
    """
    plain = str(getattr(agent, "session_id", None) or "unknown")
    review = getattr(agent, "_memory_write_origin", "") == "background_review"
    return f"{plain}/review" if review else plain


class Sessions:
    """The open sessions.

    Args:
        host: gives the host, open.
        on_interrupt: called for each interrupt of a turn.
    """

    def __init__(
        self, host: Callable[[], PluginHost], on_interrupt: Callable[[Interruption], None]
    ) -> None:
        self._host = host
        self._on_interrupt = on_interrupt
        self._lock = threading.RLock()
        self._open: dict[str, Session] = {}
        self._resetting: str | None = None

    def find(self, agent: Any, *, resumed: bool) -> Session:
        """The session of an agent; opened if it is not.

        Args:
            agent: Hermes's agent.
            resumed: the agent has a history that we do not know.
        """
        key = session_id_of(agent)
        # two runs of one id may begin at once; entering waits for no plugin
        with self._lock:
            found = self._open.get(key)
            if found is None or found.ended:
                found = self._enter(agent, key, "resume" if resumed else "startup")
                self._open[key] = found
            return found

    def beside(self, agent: Any) -> Session:
        """A session for one run alone; it is left with the run."""
        return self._enter(agent, None, "startup")

    def only(self) -> Session | None:
        """The open session, if there is one alone."""
        with self._lock:
            found = [one for one in set(self._open.values()) if not one.ended]
        return found[0] if len(found) == 1 else None

    def also_known(self, agent: Any, session: Session) -> None:
        """After a run: a compression may have given the agent's session another id."""
        with self._lock:
            self._open.setdefault(session_id_of(agent), session)

    def finalize(self, session_id: object, reason: object) -> None:
        """Hermes's `on_session_finalize`."""
        if reason in _BOUNDARIES:
            self._resetting = str(session_id)
            return
        self.end(str(session_id), "shutdown" if reason == "shutdown" else "exit")

    def reset(self, session_id: object, old_session_id: object) -> None:
        """Hermes's `on_session_reset`."""
        old = str(old_session_id or self._resetting)
        new = str(session_id) if session_id else None
        with self._lock:
            session = self._open.pop(old, None)
            if session is None or session.ended:
                return
            if new is not None:
                self._open[new] = session
        taken = session.session_id == new
        session.reset("new_command", session_id=None if taken else new)

    def end(self, session_id: str, reason: Literal["exit", "shutdown"]) -> None:
        """End a session, if it is open."""
        with self._lock:
            session = self._open.get(session_id)
        if session is not None:
            self.leave(session, reason)

    def leave(self, session: Session, reason: Literal["exit", "shutdown"] = "exit") -> None:
        """Leave a session."""
        # ended in the lock: two open sessions cannot have one id, and a run may begin at once
        with self._lock:
            for key in [key for key, one in self._open.items() if one is session]:
                del self._open[key]
            session.end(reason)
        session.leave()

    def close_agent(self, agent: Any) -> None:
        """`AIAgent.close`: the only sign of the end of `hermes -z`."""
        if not getattr(agent, "_end_session_on_close", True):
            return
        key = session_id_of(agent)
        with self._lock:
            session = self._open.get(key)
        if session is not None and session.open_turn is None:
            self.end(key, "exit")

    def _enter(
        self, agent: Any, session_id: str | None, source: Literal["startup", "resume"]
    ) -> Session:
        text = {
            name: str(value) if value is not None else None
            for name, value in (
                ("user_id", getattr(agent, "_user_id", None)),
                ("model", getattr(agent, "model", None)),
                ("platform", getattr(agent, "platform", None) or None),
            )
        }
        session = self._host().session(
            session_key=str(getattr(agent, "_gateway_session_key", None) or "main"),
            platform=text["platform"],
            user_id=text["user_id"],
            model=text["model"],
            source=source,
            session_id=session_id,
            meta={
                "agent": "hermes",
                "session_id": str(getattr(agent, "session_id", None) or ""),
                "background": session_id is not None and session_id.endswith("/review"),
            },
            on_interrupt=self._on_interrupt,
        )
        return session.enter()
