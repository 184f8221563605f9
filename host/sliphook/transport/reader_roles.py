"""Pure: which task reads one plugin's pipe, and what hands it over; `reader` says why."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final, Literal, TypeAlias

ReaderRole: TypeAlias = Literal["task", "caller", "lull", "ended", "closed"]
"""Which task reads the pipe:

- task: the reader's task waits for it, or rests because the plugin sends too much.
- caller: one caller reads for its reply; the reader's task is parked, or on its way there.
- lull: no task reads; a timer will give the pipe back to the reader's task.
- ended: no task reads, the stream is over.
- closed: no task reads, the host has closed the pipe.
"""

ReaderEvent: TypeAlias = Literal[
    "caller came",
    "caller left",
    "caller left work",
    "reply due",
    "lull over",
    "end",
    "close",
]
"""What happens to a reader:

- caller came: a caller is about to read for its reply.
- caller left: it reads no longer, and nothing is left to do.
- caller left work: it reads no longer, and replies are due or messages have not been handled.
- reply due: a request was sent for whose reply no caller reads.
- lull over: the lull's timer has fired.
- end: the stream has ended.
- close: the pipe has been closed.
"""

TABLE: Final = MappingProxyType[tuple[ReaderRole, ReaderEvent], ReaderRole](
    {
        ("task", "caller came"): "caller",
        ("task", "reply due"): "task",
        ("task", "end"): "ended",
        ("task", "close"): "closed",
        ("caller", "caller left"): "lull",
        ("caller", "caller left work"): "task",
        ("caller", "reply due"): "caller",
        ("caller", "lull over"): "caller",  # the timer of the lull before may still run
        ("caller", "end"): "ended",
        ("caller", "close"): "closed",
        ("lull", "caller came"): "caller",
        ("lull", "reply due"): "task",
        ("lull", "lull over"): "task",
        ("lull", "end"): "ended",
        ("lull", "close"): "closed",
        # no "lull over" from here on: a move to one of these roles stops the timer
        ("ended", "caller left"): "ended",
        ("ended", "caller left work"): "ended",
        ("ended", "reply due"): "ended",
        ("ended", "close"): "closed",
        ("closed", "caller left"): "closed",
        ("closed", "caller left work"): "closed",
        ("closed", "reply due"): "closed",
    }
)
"""Every move there is.

A pair that is not in the table cannot happen; to look it up raises KeyError, and the host is at
fault.
"""
