"""What both sinks share: a thread that writes the records, and the secrets that it replaces."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Final

from sliphook.files.background_writer import BackgroundWriter

from .record import TraceRecord
from .redact import Redactor

__all__ = ["CLOSE_S", "BackgroundSink"]

MAX_WAITING: Final = 10_000
"""Records that wait for the thread at most; further ones are lost and counted."""

MAX_WAITING_BYTES: Final = 32 * 1024 * 1024
"""The same for the bodies of the records that wait."""

GATHER_S: Final = 0.02
"""How long the thread lets records gather: waking it costs the host more than a record does."""

BATCH: Final = 64
"""Records that are written at once; then the thread lets the host's loop have the interpreter."""

CLOSE_S: Final = 2.0
"""How long `close` waits until the rest is written."""


class BackgroundSink(ABC):
    """A `TraceSink` with a thread that writes the records.

    Args:
        name: The thread's name.
    """

    def __init__(self, name: str) -> None:
        self._redactor = Redactor()
        self._writer = BackgroundWriter(
            self._write,
            name=name,
            max_items=MAX_WAITING,
            max_bytes=MAX_WAITING_BYTES,
            size_of=_body_bytes,
            max_batch=BATCH,
            gather_s=GATHER_S,
        )
        self._writer.start()

    def record(self, record: TraceRecord) -> None:
        """Queue one record. Never blocks, never raises."""
        self._writer.put(record)

    def hide(self, secrets: Iterable[str]) -> None:
        """Replace these from now on."""
        # No lock against the thread: a record with one of these is queued only after this call.
        self._redactor.add(secrets)

    @abstractmethod
    def _write(self, batch: Sequence[TraceRecord]) -> int:
        """Write the next records, in the thread; returns how many of them were lost."""


def _body_bytes(record: TraceRecord) -> int:
    return 0 if record.body is None else len(record.body)
