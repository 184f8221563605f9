"""Pure: the fields of a record that only its body tells.

The host does not parse a body to record it; the sinks and the readers do that with this module.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from sliphook.wire.decoding import DECODE_ERRORS

from .record import TraceRecord

__all__ = ["complete", "told_by_body"]


# These structs have few fields on purpose: msgspec skips all others without making objects.
class _Place(msgspec.Struct, frozen=True):
    session_id: str | None = None
    turn_id: str | None = None
    seq: int | None = None


class _Asked(msgspec.Struct, frozen=True):
    params: _Place = _Place()


class _Answer(msgspec.Struct, frozen=True):
    decision: str | None = None


class _Answered(msgspec.Struct, frozen=True):
    result: _Answer | None = None


_asked: Final = msgspec.json.Decoder(_Asked)
_answered: Final = msgspec.json.Decoder(_Answered)


def complete(record: TraceRecord) -> TraceRecord:
    """`record` with what only its body tells: its place in the session, a hook's decision."""
    found = told_by_body(record)
    return msgspec.structs.replace(record, **found) if found else record


def told_by_body(record: TraceRecord) -> dict[str, Any]:
    """The fields that `complete` would change, with their values."""
    if (
        record.kind not in ("message", "late", "drop")
        or record.body is None
        or record.cut
        or record.method is None
    ):
        return {}
    try:
        if record.direction == "from_plugin":
            # An error has its verdict already; of all results only a hook's holds a decision.
            if record.verdict is not None or not record.method.startswith("hook/"):
                return {}
            result = _answered.decode(record.body).result
            return (
                {"verdict": result.decision}
                if result is not None and result.decision is not None
                else {}
            )
        if not record.method.startswith(("hook/", "event/", "tool/", "command/")):
            return {}
        place = _asked.decode(record.body).params
    except DECODE_ERRORS:
        return {}
    return {
        "session_id": record.session_id or place.session_id,
        "turn_id": record.turn_id or place.turn_id,
        "seq": place.seq,
    }
