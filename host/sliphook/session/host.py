"""What a session needs of the host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sliphook.dispatch.broadcast import Listeners
    from sliphook.dispatch.hook_recorder import HookRecorder
    from sliphook.dispatch.outcome import Outcome
    from sliphook.dispatch.policy import Subscriber
    from sliphook.plugin.supervision import Plugin
    from sliphook.transport.deadlines import Deadlines

    from .session import Session
    from .tool_call import ToolHost


class SessionHost(Protocol):
    """What a session needs of the host."""

    @property
    def recorder(self) -> HookRecorder | None:
        """Who looks on while hooks are fired, or None."""
        ...

    @property
    def deadlines(self) -> Deadlines:
        """The watchdog."""
        ...

    @property
    def tool_host(self) -> ToolHost:
        """The plugins' tools and commands."""
        ...

    @property
    def plugins_by_name(self) -> Mapping[str, Plugin]:
        """All plugins."""
        ...

    def everybody(self) -> Sequence[Plugin]:
        """All plugins, and those that the user has removed and that are still being ended: they may owe something."""
        ...

    def subscribers(self, name: str) -> Sequence[Subscriber]:
        """Who hears a hook or event."""
        ...

    def listeners(self, name: str) -> Sequence[Listeners]:
        """Those of them who are there."""
        ...

    def session_opened(self, session: Session, old_id: str | None) -> None:
        """The session lives, under its id; `old_id` is the one that it had before."""
        ...

    def session_closed(self, session: Session) -> None:
        """The session is over."""
        ...

    def hook_answered(self, name: str, outcome: Outcome) -> None:
        """All answers to a hook are there; the user may have to hear of those that failed."""
        ...
