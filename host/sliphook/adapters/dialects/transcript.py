"""Pure: what an agent's transcript tells that no hook tells: that the person has stopped it.

The format is the agent's own, and may change with each version; then nothing is found.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, cast

import msgspec

from sliphook_sdk.protocol.weight import weigh

from .reading import Fields, WrongField

MAX_LINE_BYTES: Final = 64 * 1024
"""A longer line tells of something else."""
_PLAIN: Final = re.compile(r"[A-Za-z0-9_-]{1,128}")
"""An id that may be a part of a path."""


class Transcript(msgspec.Struct, frozen=True, kw_only=True):
    """A file that grows by a JSON object a line.

    Attributes:
        mark: bytes that are in each line that tells of an interrupt.
        interrupt: whether such a line does.
        path: where it is, from the home folder, with `{session_id}` in it; "" if hooks tell.
    """

    mark: bytes
    interrupt: Callable[[Fields], bool]
    path: str = ""

    def of_session(self, session_id: str) -> str | None:
        """Where it is, from the home folder; None if that is not known."""
        if not self.path or _PLAIN.fullmatch(session_id) is None:
            return None
        return self.path.format(session_id=session_id)

    def tells_interrupt(self, line: bytes) -> bool:
        """Whether the line says that the person has stopped the agent. Never raises."""
        if self.mark not in line or len(line) > MAX_LINE_BYTES or weigh(line).excess is not None:
            return False
        try:
            entry = msgspec.json.decode(line)
            return isinstance(entry, dict) and self.interrupt(Fields(cast(dict[str, Any], entry)))
        except (msgspec.MsgspecError, UnicodeError, RecursionError, WrongField):
            return False
