"""A message of a plugin for the model (`host/submit`), and those that wait in one session."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec

from sliphook.errors import HostError

Unanswered = Literal["dropped", "refused"]
"""How the message ends that gets no turn, as in `submission_end`."""


class Submission(msgspec.Struct, frozen=True, kw_only=True):
    """A message that a plugin has submitted; `Session.turn` takes it like a user's text.

    It is text for the model, whatever is in it: no slash command, and no answer to a question.

    Attributes:
        message_id: unique; the plugin knows it too.
        plugin: whose message it is; users, guards and the other plugins are told.
        session_id: the session that it is for.
        session_key: that session's key, as the plugin gave it.
        platform: that session's platform.
        user_id: that session's user.
        text: the message, as it came: quote what you show of it.
    """

    message_id: str
    plugin: str
    session_id: str
    session_key: str
    platform: str | None
    user_id: str | None
    text: str


class Waiting:
    """The messages that a session has been given and that have had no turn."""

    def __init__(self) -> None:
        self._by_id: dict[str, Submission] = {}

    def __iter__(self) -> Iterator[Submission]:
        return iter(list(self._by_id.values()))

    def __bool__(self) -> bool:
        return bool(self._by_id)

    def add(self, submission: Submission) -> None:
        """It waits from now on."""
        self._by_id[submission.message_id] = submission

    def remove(self, submission: Submission) -> bool:
        """It waits no more; False if it did not."""
        return self._by_id.pop(submission.message_id, None) is not None

    def begin(self, submission: Submission) -> None:
        """Its turn begins.

        Raises:
            HostError: it does not wait: it was dropped, or has had its turn.
        """
        if not self.remove(submission):
            raise HostError(
                f"the message {submission.message_id} of {submission.plugin} does not wait in this"
                " session: it was dropped, or has had its turn"
            )
