"""The text of a model call that a plugin sends piece by piece, before its answer."""

from __future__ import annotations

import io
from collections.abc import Callable

from sliphook.agent_log import agent_log
from sliphook.forks import call_ending_forks
from sliphook_sdk.protocol.limits import MAX_STREAMED_BYTES

_log = agent_log(__name__)


class StreamedText:
    """What all plugins together have sent for one fire.

    Args:
        show: the agent's; shows a piece at once.
    """

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show
        # not a list: the smallest pieces would take fifty times the memory of their text
        self._all = io.StringIO()

    @property
    def shown(self) -> str:
        """All of it."""
        return self._all.getvalue()

    def of_one_request(self) -> Callable[[str], bool]:
        """Takes the pieces of one request; False: it has sent too much, and this is left out."""
        left = MAX_STREAMED_BYTES

        def take(text: str) -> bool:
            nonlocal left
            # `surrogatepass`: to measure a text must not raise, whatever is in it
            size = len(text.encode("utf-8", "surrogatepass"))
            # what comes behind a gap would be another text
            left = left - size if size <= left else -1
            if left < 0:
                return False
            self._all.write(text)
            try:
                call_ending_forks(self._show, text)
            # called from the task that reads the plugin: a fault of the agent must not end that
            except Exception:
                _log.exception("a callback of the agent failed")
            return True

        return take
