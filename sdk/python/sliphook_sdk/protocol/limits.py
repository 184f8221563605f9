"""The numbers of the protocol. Sizes are in bytes, durations in seconds."""

from __future__ import annotations

from typing import Final, NamedTuple, Optional

PROTOCOL_VERSIONS: Final = (1,)
"""The versions of the protocol that this package speaks, the newest last."""

MAX_MESSAGE_BYTES: Final = 1024 * 1024
"""Of a plugin's message.

The host's loop takes at most 20 ms for anything that a plugin sends. The slowest text, nothing but
escapes, costs 13 ms a MiB on a processor of 2020: 1 ms to count, 3 ms to find the envelope, 5 ms to
decode, 4 ms to encode again for the next plugin. A MiB is a quarter of a million tokens.
"""
MAX_HOST_MESSAGE_BYTES: Final = 4 * 1024 * 1024
"""Of the host's message: a conversation of a million tokens. 16 ms to encode at worst."""
HOST_ENVELOPE_BYTES: Final = 256
"""Of the host's message: room for the header, the method and the id around its params."""
MAX_HOST_PARAMS_BYTES: Final = MAX_HOST_MESSAGE_BYTES - HOST_ENVELOPE_BYTES
MAX_SKIPPED_BYTES: Final = 64 * 1024 * 1024
MAX_MESSAGE_VALUES: Final = 20_000
"""An array in an array costs 0.3 us to make, so these cost 6 ms."""
MAX_NUMBER_CHARS: Final = 256
"""To read a number takes time by the square of its length. A float of 64 bits has 24 characters."""
MAX_SLOW_NUMBERS: Final = 100
"""Numbers with an exponent of three digits: 25 us each near the ends of what a float can hold. And
those with more digits than a float has, as they stand half way between two floats: 12 us each."""
UNWEIGHED_BYTES: Final = 1024
"""A smaller message costs 4 ms at worst, so its values are not counted."""
MAX_ID_CHARS: Final = 128
MAX_DEPTH: Final = 128
MAX_HOST_DEPTH: Final = 140
"""Of the host's message: what a plugin wrote may stand some levels deeper there."""
MAX_HOST_DIGITS: Final = 308
"""Of an integer in it: each of so many digits is below the largest double, which is 1.8e308."""
MAX_HEADER_BYTES: Final = 4 * 1024
MAX_STRAY_BYTES: Final = 64 * 1024
MAX_VIOLATIONS: Final = 100
MESSAGE_SILENCE_S: Final = 10.0

INITIALIZE_TIMEOUT_S: Final = 10.0
HOOK_TIMEOUT_S: Final = 5.0
TOOL_TIMEOUT_S: Final = 30.0
COMMAND_TIMEOUT_S: Final = 30.0
MIN_TIMEOUT_S: Final = 0.05
MAX_TIMEOUT_S: Final = 600.0
SHUTDOWN_TIMEOUT_S: Final = 1.5
EXIT_GRACE_S: Final = 2.0
TERM_GRACE_S: Final = 2.0

MAX_SUBSCRIPTIONS: Final = 256
MAX_SUBSCRIPTIONS_TO_TOOL_END: Final = 8
MAX_SUBSCRIPTIONS_TO_TURN_END: Final = 4
MAX_PATTERNS: Final = 1_000
MAX_PATTERN_CHARS: Final = 8 * 1024
MAX_MATCHED_CHARS: Final = 1_024
MAX_REACH_STEPS: Final = 8_000
"""Steps to find out which subscriptions of a manifest can be asked: 8 ms of Python.

Only wildcards that overlap in many ways need more than a few hundred. An author's SDK has so many
for each entry.
"""
MAX_TOOLS: Final = 512
MAX_VARIABLES: Final = 64
MAX_SERVERS: Final = 16
MAX_SCHEMA_BYTES: Final = 64 * 1024
MAX_SCHEMA_PARTS: Final = 1_000
"""To read one takes 5 to 10 us, so these take 10 ms at most.

One with many keywords, a name or a reference counts as two or more, an expression as several.
"""

MAX_RESULT_PARTS: Final = 32
MAX_CONTEXT_CHARS: Final = 10_000
MAX_CONTEXT_TEXTS: Final = 64
MAX_JOINED_CHARS: Final = 1024 * 1024
"""Of the reasons, or the `continue_with`, of all plugins: as much as one may say."""
MAX_CONTINUES_PER_TURN: Final = 8
MAX_PARAMETERS: Final = 64
MAX_PARAMETERS_BYTES: Final = 8 * 1024
MAX_STREAMED_BYTES: Final = 1024 * 1024
STREAMED_PIECE_CHARS: Final = 8 * 1024
"""A text that fits into one `$/progress`, whatever characters it has."""
MAX_INJECT_BYTES: Final = 64 * 1024
MAX_INJECTS_WAITING: Final = 16
MAX_SUBMIT_BYTES: Final = 64 * 1024
MAX_SUBMIT_PER_MINUTE: Final = 60
"""All that bounds a plugin which answers each `submission_end` with another message."""
MAX_SUBMITS_WAITING: Final = 4
MAX_NOTIFY_PER_MINUTE: Final = 10
ASK_TIMEOUT_S: Final = 60.0
MAX_ASKS_PER_MINUTE: Final = 10
MAX_PROMPT_CHARS: Final = 4_000
MAX_ANSWER_CHARS: Final = 10_000
"""Of an answer to a question."""
MAX_QUESTION_FIELDS: Final = 32
MAX_QUESTION_CHOICES: Final = 100
MAX_LAST_TEXT_CHARS: Final = 32 * 1024  # an interrupt tells it, and may take 2 ms
MAX_LOG_PER_SECOND: Final = 100
MAX_LOG_LINES: Final = 50
MAX_LOG_FIELDS: Final = 32
MAX_LOG_FIELDS_CHARS: Final = 500
"""Of the fields that stand beside the message."""
MAX_LINE_CHARS: Final = 2_000
"""Of a line of `host/log`, and of an alert, as people are shown it."""
MAX_PROGRESS_CHARS: Final = 200
MAX_PLUGIN_REQUESTS: Final = 64
MAX_UNASKED_MESSAGES_PER_SECOND: Final = 1_000
MAX_UNASKED_BYTES_PER_SECOND: Final = 16 * 1024 * 1024

QUEUE_MESSAGES: Final = 1_024
QUEUE_BYTES: Final = 16 * 1024 * 1024
WRITE_STALL_S: Final = 5.0


class MessageLimit(NamedTuple):
    """How large the plugin's messages of one method may be.

    Attributes:
        what: the message, in words that follow "for".
        max_bytes: of the whole message.
        max_values: as `weight.Weight` counts them.
        instead: what its author can do.
    """

    what: str
    max_bytes: int
    max_values: int
    instead: str

    def why_not(self, size: int, values: int) -> Optional[str]:
        """One line if a message of so many bytes and values is over the limit, else None."""
        if size > self.max_bytes:
            found, most = f"{size:,} bytes", self.max_bytes
        elif values > self.max_values:
            found, most = f"{values:,} values", self.max_values
        else:
            return None
        return f"it has {found}, and {self.what} may have {most:,}: {self.instead}"


_KIB: Final = 1024
_LARGE: Final = (MAX_MESSAGE_BYTES, MAX_MESSAGE_VALUES)
_SMALL: Final = (64 * _KIB, 1_000)
_SHORTER: Final = "send a shorter text"

OTHER_LIMIT: Final = MessageLimit("any other message", *_SMALL, "send less")
ERROR_LIMIT: Final = MessageLimit("an error reply", *_SMALL, "shorten its message and its data")
HOOK_LIMIT: Final = MessageLimit("the answer to a hook", *_LARGE, "change less in one answer")
LIMIT_BY_METHOD: Final = {
    "tool/call": MessageLimit(
        "the result of a tool", *_LARGE, "write it to a file and return the path"
    ),
    "command/run": MessageLimit(
        "the result of a command", *_LARGE, "write it to a file and return the path"
    ),
    "initialize": MessageLimit(
        "the manifest", 512 * _KIB, MAX_MESSAGE_VALUES, "declare fewer tools or smaller schemas"
    ),
    "host/tools": MessageLimit(
        "`host/tools`", 512 * _KIB, MAX_MESSAGE_VALUES, "offer fewer tools or smaller schemas"
    ),
    # a text of the allowed length may be six times as long in JSON
    "host/inject": MessageLimit("`host/inject`", 512 * _KIB, 1_000, _SHORTER),
    "host/submit": MessageLimit("`host/submit`", 512 * _KIB, 1_000, _SHORTER),
    "host/log": MessageLimit("`host/log`", *_SMALL, "write the rest to a file and log its path"),
    "host/notify": MessageLimit("`host/notify`", *_SMALL, _SHORTER),
    "$/progress": MessageLimit("`$/progress`", *_SMALL, _SHORTER),
}
"""By the method of a request or a notification, and for a result by that of the host's request.

What is small by nature has a small limit: what is done with it costs more for each byte than to
read it, such as to compare, keep or show it.
"""


def message_limit(method: str) -> MessageLimit:
    """The limit of a plugin's message, `method` as in `LIMIT_BY_METHOD`."""
    return LIMIT_BY_METHOD.get(method) or (
        HOOK_LIMIT if method.startswith("hook/") else OTHER_LIMIT
    )
