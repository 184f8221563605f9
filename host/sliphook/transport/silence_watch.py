"""A message that was begun must go on: a plugin that falls silent inside of one is given up."""

from __future__ import annotations

from collections.abc import Callable

from sliphook_sdk.protocol.limits import MESSAGE_SILENCE_S

from .deadlines import Deadlines, Timer


class SilenceWatch:
    """Runs a timer from the last byte that came while a message is unfinished.

    Args:
        deadlines: the host's deadlines.
        silent: called after `MESSAGE_SILENCE_S` without a byte, with a sentence that says so.
    """

    def __init__(self, deadlines: Deadlines, silent: Callable[[str], None]) -> None:
        why = f"it began a message and was silent for {MESSAGE_SILENCE_S:g} s"
        self._deadlines = deadlines
        self._timer = Timer(lambda: silent(why))
        self._runs = False
        self._grew = False

    def grew(self) -> None:
        """Bytes came."""
        self._grew = True

    def look(self, mid_message: bool) -> None:
        """All that came has been handled; `mid_message`: it ends inside of a message.

        To look again without new bytes is no sign of life: the timer goes on.
        """
        if not mid_message:
            self.stop()
        elif self._grew:
            # adding it again moves its deadline: the time counts from the newest bytes
            self._deadlines.add(self._timer, MESSAGE_SILENCE_S)
            self._runs = True
        self._grew = False

    def stop(self) -> None:
        """Stop the timer."""
        if self._runs:
            self._deadlines.remove(self._timer, MESSAGE_SILENCE_S)
            self._runs = False
