"""One conversation: from `session_start` to `session_end`, and the turns in between.

The methods that end it never wait.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from types import TracebackType
from typing import Any, Literal, cast

import trio

from sliphook.dispatch.fire import Fire
from sliphook.dispatch.outcome import Context
from sliphook.errors import opened_twice
from sliphook_sdk.protocol import AlertLevel

from .arguments.functions import check_plain
from .arguments.plain import (
    check_flag,
    check_free,
    check_object,
    check_text,
    check_texts,
    check_word,
)
from .arguments.structs import check_struct
from .hooks import Hooks
from .host import SessionHost
from .interrupt import InterruptReason, exit_kind, interrupt_turns
from .results import Interruption
from .state import SessionState
from .submission import Submission, Unanswered
from .turn import Turn

EndReason = Literal["exit", "reset", "signal", "error", "shutdown"]
StartSource = Literal["startup", "resume", "reset"]
TurnSource = Literal["user", "command", "queued"]
"""How a user's text came; that of a plugin is `plugin`."""


class Session(SessionState):
    """One conversation. Made by `PluginHost.session`, used as `async with`.

    Entering puts `session_start` to the plugins and does not wait for the answers (see `ready`).
    Leaving, for any reason, tells `session_end` exactly once, after the `turn_end` of an open turn.
    Entering raises ValueError if an open session has its id; then no plugin is told anything.

    Attributes:
        session_id: unique; another after `reset`.
        session_key: the agent's own name for the conversation.
        turn_count: turns opened so far, without those of child agents.
        ended: `session_end` has been told.
        asking: held while a person is asked, as a session asks one question at a time.
    """

    def __init__(
        self,
        host: SessionHost,
        sessions: dict[str, Session],
        *,
        session_key: str | None,
        platform: str | None,
        user_id: str | None,
        cwd: str | os.PathLike[str] | None,
        model: str | None,
        source: StartSource,
        meta: dict[str, Any] | None,
        session_id: str | None,
        on_interrupt: Callable[[Interruption], None] | None,
    ) -> None:
        check_word("source", source, StartSource)
        check_texts(
            none=True,
            session_key=session_key,
            platform=platform,
            user_id=user_id,
            model=model,
            session_id=session_id,
            cwd=os.fspath(cwd) if isinstance(cwd, os.PathLike) else cwd,
        )
        # here, so that the mistake is not raised inside a turn
        check_object("meta", meta)
        check_plain("on_interrupt", on_interrupt)
        super().__init__(
            session_key=session_key,
            platform=platform,
            user_id=user_id,
            cwd=cwd,
            model=model,
            meta=meta,
            session_id=session_id,
            on_interrupt=on_interrupt,
        )
        self.hooks = Hooks(self, host)
        self._sessions = sessions  # the host's open sessions by id, this one's while it is open
        self._source: StartSource = source
        self._end_reason: EndReason | None = None
        self._start: Fire | None = None

    # -- the scope

    @trio.lowlevel.enable_ki_protection
    async def __aenter__(self) -> Session:
        if self.ended or self._sessions.get(self.session_id) is self:
            raise opened_twice("session", "host.session()")
        check_free(self.session_id, self._sessions)
        self._sessions[self.session_id] = self
        self._begin_start(self._source)
        return self

    @trio.lowlevel.enable_ki_protection
    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self.hooks.host.home.is_elsewhere:
            return
        reasons: dict[str, EndReason] = {
            "none": "exit",
            "cancelled": "shutdown",
            "signal": "signal",
            "error": "error",
        }
        self.close(self._end_reason or reasons[exit_kind(error)])

    @property
    def open_turn(self) -> Turn | None:
        """The open turn of the root agent, or None."""
        return cast("Turn | None", self.open_root)

    @trio.lowlevel.enable_ki_protection
    async def ready(self) -> list[Context]:
        """Wait for the answers to `session_start`; returns the texts for the system prompt."""
        if self._start is None:
            return []
        # not owned: several turns may wait for it, so one of them must not withdraw it
        return list((await self._start.wait(owned=False)).context)

    def turn(
        self,
        text: str | Submission,
        *,
        source: TurnSource = "user",
        interrupt: bool = False,
    ) -> Turn:
        """A turn for the user's `text`, to be used as `async with`.

        Args:
            text: what the user wrote, or a message that a plugin has submitted; `Turn.submit` puts
                it to the plugins.
            source: how the user's text came.
            interrupt: interrupt an open turn first (`new_message`).

        Raises:
            TurnOpen: on entering, if a turn is open and `interrupt` is not set.
            HostError: on entering, if the session has ended, or the plugin's message was dropped.
            TypeError, ValueError: an argument has a wrong type; there is no such source.
        """
        check_word("source", source, TurnSource)
        check_flag("interrupt", interrupt)
        if isinstance(text, Submission):
            check_struct("text", text, Submission)
            return Turn(
                self,
                self.hooks,
                text.text,
                source="plugin",
                interrupt=interrupt,
                submission=text,
            )
        check_text("text", text)
        return Turn(self, self.hooks, text, source=source, interrupt=interrupt)

    @trio.lowlevel.enable_ki_protection
    def drop_submission(self, submission: Submission, outcome: Unanswered = "dropped") -> None:
        """Tell that a plugin's message gets no turn; nothing if it does not wait any more.

        The end of the session drops all that wait.

        Args:
            submission: the message.
            outcome: `dropped` by the user, as by `/stop`; `refused` by the agent.

        Raises:
            ValueError: there is no such outcome.
        """
        check_word("outcome", outcome, Unanswered)
        check_struct("submission", submission, Submission)
        if self.waiting.remove(submission):
            self.hooks.tell_submission_end(submission, outcome)

    @trio.lowlevel.enable_ki_protection
    def interrupt(
        self, reason: InterruptReason = "user_stop", invalidation_reason: str = "host_interrupt"
    ) -> bool:
        """Abandon the open turn at once; never waits.

        When this returns, the plugins have been told or their messages are queued before all
        others, every request of the turn is settled, `turn_end` is told, and the turn's block is
        being cancelled. The next turn may begin at once.

        Args:
            reason: why, one of the protocol's words.
            invalidation_reason: why exactly, in the agent's words.

        Returns:
            False if no turn is open.

        Raises:
            ValueError: there is no such reason.
        """
        if self.hooks.host.home.is_elsewhere:
            self.hooks.host.home.refuse_elsewhere()
        check_word("reason", reason, InterruptReason)
        check_text("invalidation_reason", invalidation_reason)
        turn = self.open_root
        if turn is None:
            return False
        interrupt_turns(self.hooks, turn, reason, invalidation_reason)
        return True

    @trio.lowlevel.enable_ki_protection
    def interrupt_all(
        self, reason: InterruptReason = "user_stop", invalidation_reason: str = "host_interrupt"
    ) -> None:
        """Abandon the open turn, and the children that work in the background."""
        self.interrupt(reason, invalidation_reason)
        for child in list(self.background):
            interrupt_turns(self.hooks, child, reason, invalidation_reason)

    @trio.lowlevel.enable_ki_protection
    def reset(self, cause: str = "new_command", *, session_id: str | None = None) -> None:
        """Begin anew (`/new`): interrupt, `session_end`, `session_reset`, `session_start`.

        Never waits; for the answers to `session_start` see `ready`.

        Args:
            cause: what the user did.
            session_id: the agent's own id for the new session; None makes one.

        Raises:
            ValueError: an open session has that id.
        """
        check_text("cause", cause)
        check_text("session_id", session_id, none=True)
        check_free(session_id, self._sessions)
        if self.ended:
            return
        self.interrupt_all("reset", cause)
        # before the new id and the new counts: `session_end` is about the old session
        self._end("reset")
        old_id = self.begin_anew(session_id)
        self._forget(old_id)
        self._sessions[self.session_id] = self
        self.hooks.tell("session_reset", old_session_id=old_id, cause=cause)
        self._begin_start("reset")

    def end(self, reason: EndReason) -> None:
        """Set the reason that `session_end` gives when the block is left.

        Raises:
            ValueError: there is no such reason.
        """
        check_word("reason", reason, EndReason)
        self._end_reason = reason

    @trio.lowlevel.enable_ki_protection
    def close(self, reason: EndReason) -> None:
        """End the session now, also from outside its block; leaving the block then does nothing.

        Raises:
            ValueError: there is no such reason.
        """
        check_word("reason", reason, EndReason)
        if self.ended:
            return
        # first, so that `turn_end` comes before `session_end`
        self.interrupt_all(
            "signal" if reason == "signal" else "shutdown",
            "sigint" if reason == "signal" else "host_interrupt",
        )
        self._end(reason)
        self.mark_ended()
        self._forget(self.session_id)

    def _begin_start(self, source: StartSource) -> None:
        self._start = self.hooks.begin("session_start", None, source=source, model=self.model)

    def _forget(self, session_id: str) -> None:
        """Remove an id from the open sessions, with the tools that were offered for it alone."""
        self._sessions.pop(session_id, None)
        self.hooks.host.plugin_calls.table.end_session(session_id)

    def _end(self, reason: EndReason) -> None:
        self.hooks.lists.forget()
        if self._start is not None:
            # a plugin may be at `session_start` still; its answer is not wanted any more
            self._start.withdraw()
            self._start = None
        for submission in self.waiting:
            self.drop_submission(submission)
        self.hooks.tell("session_end", reason=reason, **self.totals())

    # -- what the agent tells and asks for

    def notification(self, level: AlertLevel, message: str, source: str = "agent") -> None:
        """Tell the plugins that the agent shows the user an error or a warning.

        Raises:
            ValueError: there is no such level.
        """
        check_word("level", level, AlertLevel)
        check_texts(message=message, source=source)
        # nothing may come behind `session_end`
        if not self.ended:
            self.hooks.tell(
                "notification", self.open_root, level=level, message=message, source=source
            )

    @trio.lowlevel.enable_ki_protection
    async def run_command(self, name: str, arguments: str = "") -> str:
        """Run a plugin's slash command; returns what the user reads.

        Raises:
            HostError: there is no such command, or the plugin failed; str() is one line.
        """
        check_texts(name=name, arguments=arguments)
        return await self.hooks.host.plugin_calls.run_command(self, name, arguments)
