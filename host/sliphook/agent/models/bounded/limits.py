"""Pure: how much of a model's answer is taken. No server may hold the loop or fill the memory.

The numbers follow from one budget: no stretch of the loop's thread takes more than 20 ms, on a
machine that decodes about 50 bytes of the worst JSON in a microsecond. What a real answer needs is
beside each of them.
"""

from __future__ import annotations

from typing import Final

from sliphook.errors import SliphookError

READ_BYTES: Final = 2 * 1024
"""Read at once. The HTTP library handles all that it has read without a pause: at 7 bytes for each
part of a body these are 300 parts."""

MAX_HEAD_BYTES: Final = 16 * 1024
MAX_HEAD_LINES: Final = 256
"""Status and headers of one response. Servers send one or two KiB in thirty lines."""

MAX_STREAM_BYTES: Final = 256 * 1024 * 1024
"""One streamed answer, all of its bytes. 128,000 tokens, each in an event of 350 bytes, are 45 MB.
"""

MAX_EVENT_BYTES: Final = 1024 * 1024
"""One event of a stream, and what comes before it; also an answer that is not streamed. Some
servers send a whole call in one event."""

MAX_EVENT_OBJECTS: Final = 8 * 1024
"""The objects in one event, counted before it is decoded."""

MAX_ERROR_BYTES: Final = 64 * 1024
"""The body of a failed request; the rest is not read. A line of it is shown."""

MAX_LIST_BYTES: Final = 3 * 1024 * 1024
"""The list of the models that a server offers; of the largest known ones it has one MB."""

MAX_ANSWER_CHARS: Final = 2 * 1024 * 1024
"""All that is kept of one answer: text, arguments, reasoning. 128,000 tokens are about 512,000
characters, and some models think as much again."""

MAX_TOOL_CALLS: Final = 128
"""The calls of one answer. Each is put to the plugins, and all run at the same time."""

MAX_PARTS: Final = 1_024
"""The parts of one event: of calls, of a content that is a list."""

MAX_ARGUMENTS_CHARS: Final = 512 * 1024
"""The arguments of one call, as a model writes them: 128,000 tokens."""

MAX_ANSWER_VALUES: Final = 40_000
"""The values in the arguments of all calls of one answer, counted before they are decoded; those of
one call are limited like a message (`protocol.limits`). Each takes a hundred bytes in memory, here
and in every plugin that is told of the call."""

MAX_NAME_CHARS: Final = 200
"""A tool's name, an id, a reason to finish, as a server sends them. What is longer is cut."""

MAX_REQUEST_BYTES: Final = 32 * 1024 * 1024
"""The conversation in a request. The longest that a model reads, a million tokens, is 4 MB."""

ERROR_BODY_S: Final = 10.0
"""How long the body of a failed request is waited for."""


class TooMuch(SliphookError):
    """An answer is larger than is taken; `str()` says what it has, and the limit."""


def mib(size: int) -> str:
    """A size for people."""
    return f"{size // 1024 // 1024} MiB" if size >= 1024 * 1024 else f"{size // 1024} KiB"


def outside_strings(written: str) -> str:
    """JSON text without what stands in its strings; cut short if it has very many of those.

    No loop in Python, since a hostile text may be nothing but strings.
    """
    # pairs of backslashes first: the quote in `\\\\"` ends a string, the one in `\\"` does not
    bare = written.replace("\\\\", "").replace('\\"', "")
    # every second part between quotes is inside of a string
    return "".join(bare.split('"', 16 * MAX_EVENT_OBJECTS)[::2])
