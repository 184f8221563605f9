"""Pure: one turn out of a trace."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from .exchanges import facts_of
from .record import TraceRecord

__all__ = ["TurnPlace", "only_turn", "turn_named"]


class TurnPlace(NamedTuple):
    """The place of a turn in a trace.

    Attributes:
        turn_id: Its id.
        session_id: The session's.
        first: The index of its first record.
        last: The index of its last.
    """

    turn_id: str
    session_id: str | None
    first: int
    last: int


def turn_named(wanted: str, records: Iterable[TraceRecord]) -> TurnPlace:
    """Find a turn.

    Args:
        wanted: Its number in the order of appearance, from 1, or the beginning of its id.
        records: The whole trace.

    Raises:
        LookupError: there is none, or there are several; the argument is why, for people.
    """
    turns: dict[str, TurnPlace] = {}
    for index, record in enumerate(records):
        turn_id = record.turn_id
        if turn_id is not None:
            known = turns.get(turn_id)
            if known is None:
                turns[turn_id] = TurnPlace(turn_id, record.session_id, index, index)
            elif record.kind != "late":  # a late answer may come long after the turn
                turns[turn_id] = known._replace(last=index)
    found = list(turns.values())
    # `isdigit` alone takes a superscript two, which `int` refuses. A number that is too large
    # may be the beginning of an id.
    if wanted.isascii() and wanted.isdigit() and 1 <= int(wanted) <= len(found):
        return found[int(wanted) - 1]
    fitting = [turn for turn in found if turn.turn_id.startswith(wanted)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise LookupError(f"{len(fitting)} turns have an id that begins with {wanted!r}")
    there = f"the last one is {len(found)}" if found else "there is none at all"
    raise LookupError(f"there is no turn {wanted!r}; {there}")


def only_turn(records: Iterable[TraceRecord], turn: TurnPlace) -> Iterator[TraceRecord]:
    """The records of the turn, and those between them of no turn: a crash, a line on stderr.

    After the last one follow the cancels of its requests and the answers to them.
    """
    asked: defaultdict[str, set[int | str]] = defaultdict(set)
    for index, record in enumerate(records):
        if record.kind == "spawn":  # a new process begins with new ids
            asked.pop(record.plugin, None)
        if (
            record.turn_id == turn.turn_id
            and record.direction == "to_plugin"
            and record.id is not None
        ):
            asked[record.plugin].add(record.id)
        if index > turn.last:
            concerns = (
                facts_of(record).params.id
                if record.method == "$/cancelRequest"
                else record.id
                if record.kind == "late"
                else None
            )
            if concerns in asked[record.plugin]:
                yield record
        elif record.kind == "header" or (index >= turn.first and _is_of(record, turn)):
            yield record


def _is_of(record: TraceRecord, turn: TurnPlace) -> bool:
    return record.turn_id == turn.turn_id or (
        record.turn_id is None and record.session_id in (None, turn.session_id)
    )
