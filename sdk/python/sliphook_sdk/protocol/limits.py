"""The numbers of the protocol. Sizes are in bytes, durations in seconds."""

from __future__ import annotations

from collections.abc import Iterator
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
MAX_SKIPPED_BYTES: Final = 64 * 1024 * 1024
MAX_MESSAGE_VALUES: Final = 20_000
"""An array in an array costs 0.3 us to make, so these cost 6 ms."""
MAX_NUMBER_CHARS: Final = 256
"""To read a number takes time by the square of its length. A float of 64 bits has 24 characters."""
MAX_LONG_EXPONENTS: Final = 100
"""Numbers with an exponent of three digits: 25 us each near the ends of what a float can hold."""
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
MAX_REACH_STEPS: Final = 10_000
"""Steps to find out for one entry which subscriptions can be asked: 10 to 20 ms of Python.

Only wildcards that overlap in many ways need more than a few hundred.
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
MAX_PLUGIN_REQUESTS: Final = 64
MAX_UNASKED_MESSAGES_PER_SECOND: Final = 1_000
MAX_UNASKED_BYTES_PER_SECOND: Final = 16 * 1024 * 1024

QUEUE_MESSAGES: Final = 1_024
QUEUE_BYTES: Final = 16 * 1024 * 1024
WRITE_STALL_S: Final = 5.0


class Limit(NamedTuple):
    """One row of the table of limits in protocol.md."""

    what: str
    value: str
    beyond: str


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


def _mib(size: int) -> str:
    return f"{size // (1024 * 1024)} MiB" if size >= 1024 * 1024 else f"{size // 1024} KiB"


def _of_messages() -> Iterator[Limit]:
    """A row for all messages that may be equally large."""
    by_size: dict[tuple[int, int], list[str]] = {}
    for limit in (*LIMIT_BY_METHOD.values(), HOOK_LIMIT, ERROR_LIMIT, OTHER_LIMIT):
        by_size.setdefault((limit.max_bytes, limit.max_values), []).append(limit.what)
    for (most, values), whats in by_size.items():
        told = f"{_mib(most)}, {values:,} values"
        yield Limit(f"for {', '.join(whats)}", told, "refused, and told what to do instead")


LIMITS: Final = (
    *_of_messages(),
    Limit("nesting of a plugin's message", f"{MAX_DEPTH} levels", "refused"),
    Limit(
        "one number in a plugin's message",
        f"{MAX_NUMBER_CHARS} characters",
        "refused: send it as a string",
    ),
    Limit(
        "numbers with an exponent of three digits in a plugin's message",
        f"{MAX_LONG_EXPONENTS}",
        "refused: send them as strings",
    ),
    Limit("an id that is a string", f"{MAX_ID_CHARS} characters", "-32600, without the id"),
    Limit(
        "one message of a plugin, refused or not", _mib(MAX_SKIPPED_BYTES), "the connection ends"
    ),
    Limit(
        "one message to a plugin",
        _mib(MAX_HOST_MESSAGE_BYTES),
        "heavy fields are cut out first (`truncated`)",
    ),
    Limit("nesting of a message to a plugin", f"{MAX_HOST_DEPTH} levels", "likewise"),
    Limit("one integer in a message to a plugin", f"{MAX_HOST_DIGITS} digits", "likewise"),
    Limit("a header block", _mib(MAX_HEADER_BYTES), "the connection ends"),
    Limit("stray output in a row", _mib(MAX_STRAY_BYTES), "the connection ends"),
    Limit("violations in the life of a process", f"{MAX_VIOLATIONS}", "the connection ends"),
    Limit(
        "silence inside a message that was begun", f"{MESSAGE_SILENCE_S:g} s", "the connection ends"
    ),
    Limit("answer to `initialize`", f"{INITIALIZE_TIMEOUT_S:g} s", "the plugin fails to start"),
    Limit(
        "answer to a hook",
        f"{HOOK_TIMEOUT_S:g} s",
        "timed out: `on_failure` decides; a subscription may set its own",
    ),
    Limit(
        "a tool call",
        f"{TOOL_TIMEOUT_S:g} s",
        "timed out: the model reads an error; a tool may set its own",
    ),
    Limit("a command", f"{COMMAND_TIMEOUT_S:g} s", "timed out: the user reads an error"),
    Limit(
        "`timeout_s` of a subscription or a tool",
        f"{MIN_TIMEOUT_S:g} to {MAX_TIMEOUT_S:g} s",
        "the plugin fails to start",
    ),
    Limit("subscriptions of a plugin", f"{MAX_SUBSCRIPTIONS}", "the plugin fails to start"),
    Limit(
        "of these to `post_tool_call`; to one of `agent_loop_stopped`, `submission_end`,"
        " `turn_end`, `subagent_stop`",
        f"{MAX_SUBSCRIPTIONS_TO_TOOL_END}; {MAX_SUBSCRIPTIONS_TO_TURN_END}",
        "the plugin fails to start",
    ),
    Limit(
        "patterns in all its subscriptions",
        f"{MAX_PATTERNS:,}, {MAX_PATTERN_CHARS:,} characters",
        "the plugin fails to start",
    ),
    Limit(
        "a value that patterns are compared with",
        f"{MAX_MATCHED_CHARS:,} characters",
        "it fits every pattern",
    ),
    Limit(
        "tools of a plugin in one scope",
        f"{MAX_TOOLS}",
        "the plugin fails to start; -32602 for `host/tools`",
    ),
    Limit(
        "environment variables that a plugin wants", f"{MAX_VARIABLES}", "the plugin fails to start"
    ),
    Limit("`servers` that a plugin wants", f"{MAX_SERVERS}", "the plugin fails to start"),
    Limit(
        "`input_schema` of one tool, and `config_schema`",
        _mib(MAX_SCHEMA_BYTES),
        "the plugin fails to start; -32602 for `host/tools`",
    ),
    Limit(
        "schemas in the tools of one scope",
        f"{MAX_SCHEMA_PARTS:,}, those inside counted, one with many keywords or a reference as"
        " two, a regular expression as several",
        "the plugin fails to start; -32602 for `host/tools`",
    ),
    Limit("parts of one tool's result", f"{MAX_RESULT_PARTS}", "refused: the model reads an error"),
    Limit("answer to `shutdown`", f"{SHUTDOWN_TIMEOUT_S:g} s", "`exit` follows anyway"),
    Limit(
        "from `exit` and EOF to the end of the process",
        f"{EXIT_GRACE_S:g} s",
        f"SIGTERM to the process group, SIGKILL {TERM_GRACE_S:g} s later",
    ),
    Limit(
        "`context` of one answer",
        f"{MAX_CONTEXT_CHARS:,} characters, {MAX_CONTEXT_TEXTS} texts",
        "cut, and said so",
    ),
    Limit("`continue_with` in one turn", f"{MAX_CONTINUES_PER_TURN}", "ignored, and said so"),
    Limit(
        "`parameters` of a route",
        f"{MAX_PARAMETERS}, {_mib(MAX_PARAMETERS_BYTES)}",
        "a failed answer",
    ),
    Limit(
        "`text` of `$/progress`, of one request", _mib(MAX_STREAMED_BYTES), "ignored, and said so"
    ),
    Limit("text of one `host/inject`", _mib(MAX_INJECT_BYTES), "-32602"),
    Limit("injected texts that wait", f"{MAX_INJECTS_WAITING} a session", "-32004"),
    Limit("text of one `host/submit`", _mib(MAX_SUBMIT_BYTES), "-32602"),
    Limit(
        "`host/submit`; messages that wait",
        f"{MAX_SUBMIT_PER_MINUTE} a minute; {MAX_SUBMITS_WAITING} of a plugin",
        "-32004",
    ),
    Limit("`host/notify`", f"{MAX_NOTIFY_PER_MINUTE} a minute", "-32004"),
    Limit("`host/ask` that waits", f"1 a session; {MAX_ASKS_PER_MINUTE} a minute", "-32004"),
    Limit(
        "the properties in the schema of a question; the values of one `enum`",
        f"{MAX_QUESTION_FIELDS}; {MAX_QUESTION_CHOICES}",
        "-32602",
    ),
    Limit(
        "a question; an answer to it",
        f"{MAX_PROMPT_CHARS:,}; {MAX_ANSWER_CHARS:,} characters",
        "-32602",
    ),
    Limit(
        "one `host/log`",
        f"{MAX_LOG_LINES} lines, {MAX_LOG_FIELDS} fields",
        "cut, and said so; each line of a field counts",
    ),
    Limit(
        "lines of `host/log` and `$/progress`, those with `text` not counted",
        f"{MAX_LOG_PER_SECOND} a second",
        "counted, not kept",
    ),
    Limit("requests of one plugin under way", f"{MAX_PLUGIN_REQUESTS}", "-32004"),
    Limit(
        "messages that the host did not ask for",
        f"{MAX_UNASKED_MESSAGES_PER_SECOND:,} or {_mib(MAX_UNASKED_BYTES_PER_SECOND)} a second",
        "the host stops reading for the rest of the second",
    ),
    Limit(
        "messages waiting to be written to one plugin",
        f"{QUEUE_MESSAGES:,} or {_mib(QUEUE_BYTES)}",
        "requests fail at once, the oldest droppable events go",
    ),
    Limit(
        "a write that does not move", f"{WRITE_STALL_S:g} s", "the plugin is killed and restarted"
    ),
)
