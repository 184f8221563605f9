"""The trace: a record of every message, the sinks that take records, and what reads them again.

`record` is what the host hands out, `bodies` are the bodies of records that are no messages, and
`from_body` reads from a body what its record lacks. `background_sink` carries records off the
host's loop to one of two sinks, `live_sink` (a terminal) and `file_sink`. `line_format` is the
format of the file, `render` shows a record to people, and `redact` keeps secrets out of both.
`reading` and `follow` read a file, `filter` and `one_turn` choose from it, `exchanges` says which
records belong together, and `views` shows them.

This package knows nothing of plugins. Public are the names below and `sliphook.trace.record`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sliphook.lazy_names import lazy_names

if TYPE_CHECKING:
    from .file_sink import FileTrace
    from .live_sink import LiveTrace
    from .record import Tee, TraceRecord, TraceSink

__all__ = ["FileTrace", "LiveTrace", "Tee", "TraceRecord", "TraceSink"]

__getattr__ = lazy_names(
    __name__,
    {
        "FileTrace": "file_sink",
        "LiveTrace": "live_sink",
        "Tee": "record",
        "TraceRecord": "record",
        "TraceSink": "record",
    },
)
