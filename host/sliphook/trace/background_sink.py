"""What both sinks share: a thread that writes the records, and the secrets that it replaces."""

from __future__ import annotations

import errno
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec

from sliphook.files.background_writer import BackgroundWriter

from .record import TraceRecord
from .redact import BEHIND, Redactor

__all__ = ["CLOSE_S", "KEPT_BYTES", "BackgroundSink"]

BODY_BYTES: Final = 256 * 1024
"""A longer body is cut before anything is done with it (`cut`).

Reading JSON keeps the interpreter's lock: for so much of it, 4 ms at most.
"""

KEPT_BYTES: Final = BODY_BYTES + BEHIND
"""A little more than is written, so that a secret across the cut is found."""

MAX_WAITING: Final = 10_000
"""Records that wait for the thread at most; further ones are lost and counted."""

MAX_WAITING_BYTES: Final = 32 * 1024 * 1024
"""The same for the bodies of the records that wait."""

GATHER_S: Final = 0.02
"""How long the thread lets records gather: waking it costs the host more than a record does."""

BATCH: Final = 64
"""Records that are written at once; then the thread lets the host's loop have the interpreter."""

BATCH_BYTES: Final = 64 * 1024
"""The same for their bodies; one that is longer is written alone."""

TEXT_CHARS: Final = 1_000
"""A longer method or id is cut; a plugin may choose both."""

CLOSE_S: Final = 2.0
"""How long `close` waits until the rest is written."""

HELD_S: Final = 0.0005
"""How long the thread works on a record before it lets go of the interpreter.

One that is asked for it does so after 5 ms, and the host's loop asks for it behind each system call
of a pass.
"""

LET_GO_S: Final = 0.0001
"""So long: a thread that only offers it has it again before another one wakes."""


class BackgroundSink(ABC):
    """A `TraceSink` with a thread that writes the records.

    Args:
        name: The thread's name.
        at_end: Called in the thread when all is written, also if `close` did not wait for it.

    Raises:
        OSError: the system has no room for another thread.
    """

    def __init__(self, name: str, *, at_end: Callable[[], object] | None = None) -> None:
        self._redactor = Redactor(pause=self._let_go)
        self._let_go_at_s = 0.0
        self._writer = BackgroundWriter(
            self._write,
            name=name,
            max_items=MAX_WAITING,
            max_bytes=MAX_WAITING_BYTES,
            size_of=_body_bytes,
            max_batch=BATCH,
            max_batch_bytes=BATCH_BYTES,
            gather_s=GATHER_S,
            rests=True,
            at_end=at_end,
        )
        try:
            self._writer.start()
        except RuntimeError as error:
            raise OSError(errno.EAGAIN, str(error)) from None

    def record(self, record: TraceRecord) -> None:
        """Queue one record, a long one without its end. Never blocks, never raises."""
        self._writer.put(_bounded(record))

    def hide(self, secrets: Iterable[str]) -> None:
        """Replace these from now on."""
        # No lock against the thread: a record with one of these is queued only after this call.
        self._redactor.add(secrets)

    def _redacted(self, record: TraceRecord) -> TraceRecord:
        """The record with every secret replaced; `size` still tells what went over the wire.

        If nothing was replaced it is the same object; of a body that is `cut`, so much is kept.
        """
        limit = BODY_BYTES if record.cut else None
        found: dict[str, object] = {}
        for name in ("method", "verdict", "note", "id"):
            text = getattr(record, name)
            if isinstance(text, str) and (shown := self._redactor.text(text)) != text:
                found[name] = shown
        if record.body is not None:
            body = self._redactor.data(record.body, limit)
            if body != record.body:
                found["body"] = body
        return msgspec.structs.replace(record, **found) if found else record

    def _let_go(self) -> None:
        worked_s = time.thread_time()
        if worked_s - self._let_go_at_s >= HELD_S:
            time.sleep(LET_GO_S)
            self._let_go_at_s = worked_s

    @abstractmethod
    def _write(self, batch: Sequence[TraceRecord]) -> int:
        """Write the next records, in the thread; returns how many of them were lost."""


def _bounded(record: TraceRecord) -> TraceRecord:
    """The record, with no more of its texts than is worked on: the rest is freed at once."""
    body, method, request_id = record.body, record.method, record.id
    if body is not None and len(body) > BODY_BYTES:
        record = msgspec.structs.replace(record, body=body[:KEPT_BYTES], cut=True)
    if method is not None and len(method) > TEXT_CHARS:
        record = msgspec.structs.replace(record, method=method[:TEXT_CHARS] + "…")
    if isinstance(request_id, str) and len(request_id) > TEXT_CHARS:
        record = msgspec.structs.replace(record, id=request_id[:TEXT_CHARS] + "…")
    return record


def _body_bytes(record: TraceRecord) -> int:
    return 0 if record.body is None else len(record.body)
