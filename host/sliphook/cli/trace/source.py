"""The trace file of a command: the records that are wanted, and a word about other lines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sliphook.cli.common import Failed, complain
from sliphook.quoting import quote
from sliphook.trace.filter import Sifted, TraceFilter

if TYPE_CHECKING:
    from sliphook.trace.reading import Trouble
    from sliphook.trace.record import TraceRecord

__all__ = ["TraceFile"]

_NAMED: Final = 10
"""How many lines that are no records are named; the others are only counted."""

_DRAWN: Final = 250_000
"""Each takes 2 KB of memory until the picture is written."""

_PIECE_BYTES: Final = 256 * 1024


class TraceFile:
    """A trace file.

    Args:
        path: The file.
        wanted: Only these records; None: all.
        turn: The number of a turn, from 1, or the beginning of its id; None: all of them.
    """

    def __init__(
        self, path: Path, wanted: TraceFilter | None = None, turn: str | None = None
    ) -> None:
        self.path = path
        self._wanted = wanted or TraceFilter()
        self._turn = turn
        self._strange = 0

    def records(self) -> Iterator[TraceRecord]:
        """The records that are wanted, in order; the file is read as they are taken.

        Raises:
            Failed: the file cannot be read, is no trace, or has no such turn.
        """
        records = self._read(self._name_line)
        if self._turn is not None:
            from sliphook.trace.one_turn import only_turn, turn_named

            try:
                records = only_turn(
                    records, turn_named(self._turn, self._read(lambda line, why: None))
                )
            except LookupError as error:
                raise Failed(f"{self.path}: {error.args[0]}") from None
        sifted = Sifted(self._wanted)
        yield from filter(sifted.fits, records)
        if (why := sifted.why_none()) is not None:
            complain(f"{self.path}: {why}")
        if self._strange > _NAMED:
            complain(f"{self.path}: {self._strange - _NAMED:,} more lines are no records")

    def drawn(self) -> Iterator[TraceRecord]:
        """The same for a view that keeps all of them before it shows anything.

        Raises:
            Failed: as `records`, or there are too many.
        """
        for number, record in enumerate(self.records()):
            if number == _DRAWN:
                raise Failed(
                    f"{self.path} has more than {_DRAWN:,} records, too many for a picture:"
                    " choose some with --turn or --filter"
                )
            yield record

    def follow(self) -> Iterator[TraceRecord]:
        """The same, and what is added later; it never ends.

        Raises:
            Failed: the file is there and cannot be read.
        """
        from sliphook.trace.follow import follow
        from sliphook.trace.reading import NotATrace

        def missing() -> None:
            complain(f"{self.path} is not there yet: waiting for it")

        try:
            yield from filter(self._wanted.fits, follow(self.path, self._name_line, missing))
        except NotATrace as error:
            raise Failed(f"{self.path} {error}") from None
        except OSError as error:
            raise Failed(f"cannot read {self.path}: {error.strerror or error}") from None

    def _read(self, trouble: Trouble) -> Iterator[TraceRecord]:
        from sliphook.trace.reading import NotATrace, records_of

        try:
            with self.path.open("rb") as file:
                yield from records_of(iter(lambda: file.read(_PIECE_BYTES), b""), trouble)
        except NotATrace as error:
            raise Failed(f"{self.path} {error}") from None
        except OSError as error:
            raise Failed(f"cannot read {self.path}: {error.strerror or error}") from None

    def _name_line(self, line: int, why: str) -> None:
        self._strange += 1
        if self._strange <= _NAMED:
            complain(f"{self.path}, line {line}: {quote(why, 200)}; passed over")
