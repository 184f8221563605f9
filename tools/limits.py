"""The rows of the table of limits in protocol.md, from the numbers of the protocol."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from sliphook_sdk.protocol import limits


class Limit(NamedTuple):
    """One row."""

    what: str
    value: str
    beyond: str


def _mib(size: int) -> str:
    return f"{size // (1024 * 1024)} MiB" if size >= 1024 * 1024 else f"{size // 1024} KiB"


def _of_messages() -> Iterator[Limit]:
    """A row for all messages that may be equally large."""
    by_size: dict[tuple[int, int], list[str]] = {}
    for limit in (
        *limits.LIMIT_BY_METHOD.values(),
        limits.HOOK_LIMIT,
        limits.ERROR_LIMIT,
        limits.OTHER_LIMIT,
    ):
        by_size.setdefault((limit.max_bytes, limit.max_values), []).append(limit.what)
    for (most, values), whats in by_size.items():
        told = f"{_mib(most)}, {values:,} values"
        yield Limit(f"for {', '.join(whats)}", told, "refused, and told what to do instead")


LIMITS: Final = (
    *_of_messages(),
    Limit("nesting of a plugin's message", f"{limits.MAX_DEPTH} levels", "refused"),
    Limit(
        "one number in a plugin's message",
        f"{limits.MAX_NUMBER_CHARS} characters",
        "refused: send it as a string",
    ),
    Limit(
        "numbers in a plugin's message with an exponent of three digits, with one behind more than"
        " 18 characters, or with a point and more than 32 characters",
        f"{limits.MAX_SLOW_NUMBERS}",
        "refused: send them as strings",
    ),
    Limit("an id that is a string", f"{limits.MAX_ID_CHARS} characters", "-32600, without the id"),
    Limit(
        "one message of a plugin, refused or not",
        _mib(limits.MAX_SKIPPED_BYTES),
        "the connection ends",
    ),
    Limit(
        "one message to a plugin",
        f"{_mib(limits.MAX_HOST_MESSAGE_BYTES)},"
        f" its params {limits.HOST_ENVELOPE_BYTES} bytes less",
        "heavy fields are cut out first (`truncated`)",
    ),
    Limit("nesting of a message to a plugin", f"{limits.MAX_HOST_DEPTH} levels", "likewise"),
    Limit("one integer in a message to a plugin", f"{limits.MAX_HOST_DIGITS} digits", "likewise"),
    Limit("a header block", _mib(limits.MAX_HEADER_BYTES), "the connection ends"),
    Limit("stray output in a row", _mib(limits.MAX_STRAY_BYTES), "the connection ends"),
    Limit("violations in the life of a process", f"{limits.MAX_VIOLATIONS}", "the connection ends"),
    Limit(
        "silence inside a message that was begun",
        f"{limits.MESSAGE_SILENCE_S:g} s",
        "the connection ends",
    ),
    Limit(
        "answer to `initialize`", f"{limits.INITIALIZE_TIMEOUT_S:g} s", "the plugin fails to start"
    ),
    Limit(
        "answer to a hook",
        f"{limits.HOOK_TIMEOUT_S:g} s",
        "timed out: `on_failure` decides; a subscription may set its own",
    ),
    Limit(
        "a tool call",
        f"{limits.TOOL_TIMEOUT_S:g} s",
        "timed out: the model reads an error; a tool may set its own",
    ),
    Limit("a command", f"{limits.COMMAND_TIMEOUT_S:g} s", "timed out: the user reads an error"),
    Limit(
        "`timeout_s` of a subscription or a tool",
        f"{limits.MIN_TIMEOUT_S:g} to {limits.MAX_TIMEOUT_S:g} s",
        "the plugin fails to start",
    ),
    Limit("subscriptions of a plugin", f"{limits.MAX_SUBSCRIPTIONS}", "the plugin fails to start"),
    Limit(
        "of these to `post_tool_call`; to one of `agent_loop_stopped`, `submission_end`,"
        " `turn_end`, `subagent_stop`",
        f"{limits.MAX_SUBSCRIPTIONS_TO_TOOL_END}; {limits.MAX_SUBSCRIPTIONS_TO_TURN_END}",
        "the plugin fails to start",
    ),
    Limit(
        "patterns in all its subscriptions",
        f"{limits.MAX_PATTERNS:,}, {limits.MAX_PATTERN_CHARS:,} characters",
        "the plugin fails to start",
    ),
    Limit(
        "a value that patterns are compared with",
        f"{limits.MAX_MATCHED_CHARS:,} characters",
        "it fits every pattern",
    ),
    Limit(
        "tools of a plugin in one scope",
        f"{limits.MAX_TOOLS}",
        "the plugin fails to start; -32602 for `host/tools`",
    ),
    Limit(
        "environment variables that a plugin wants",
        f"{limits.MAX_VARIABLES}",
        "the plugin fails to start",
    ),
    Limit("`servers` that a plugin wants", f"{limits.MAX_SERVERS}", "the plugin fails to start"),
    Limit(
        "`input_schema` of one tool, and `config_schema`",
        _mib(limits.MAX_SCHEMA_BYTES),
        "the plugin fails to start; -32602 for `host/tools`",
    ),
    Limit(
        "schemas in the tools of one scope",
        f"{limits.MAX_SCHEMA_PARTS:,}, those inside counted, one with many keywords or a reference"
        " as two, a long address or a regular expression as several, one with `(?i)` and long"
        " ranges as hundreds",
        "the plugin fails to start; -32602 for `host/tools`",
    ),
    Limit(
        "parts of one tool's result",
        f"{limits.MAX_RESULT_PARTS}",
        "refused: the model reads an error",
    ),
    Limit("answer to `shutdown`", f"{limits.SHUTDOWN_TIMEOUT_S:g} s", "`exit` follows anyway"),
    Limit(
        "from `exit` and EOF to the end of the process",
        f"{limits.EXIT_GRACE_S:g} s",
        f"SIGTERM to the process group, SIGKILL {limits.TERM_GRACE_S:g} s later",
    ),
    Limit(
        "`context` of one answer",
        f"{limits.MAX_CONTEXT_CHARS:,} characters, {limits.MAX_CONTEXT_TEXTS} texts",
        "cut, and said so",
    ),
    Limit(
        "`continue_with` in one turn", f"{limits.MAX_CONTINUES_PER_TURN}", "ignored, and said so"
    ),
    Limit(
        "`parameters` of a route",
        f"{limits.MAX_PARAMETERS}, {_mib(limits.MAX_PARAMETERS_BYTES)}",
        "a failed answer",
    ),
    Limit(
        "`text` of `$/progress`, of one request",
        _mib(limits.MAX_STREAMED_BYTES),
        "ignored, and said so",
    ),
    Limit("text of one `host/inject`", _mib(limits.MAX_INJECT_BYTES), "-32602"),
    Limit("injected texts that wait", f"{limits.MAX_INJECTS_WAITING} a session", "-32004"),
    Limit("text of one `host/submit`", _mib(limits.MAX_SUBMIT_BYTES), "-32602"),
    Limit(
        "`host/submit`; messages that wait",
        f"{limits.MAX_SUBMIT_PER_MINUTE} a minute; {limits.MAX_SUBMITS_WAITING} of a plugin",
        "-32004",
    ),
    Limit("`host/notify`", f"{limits.MAX_NOTIFY_PER_MINUTE} a minute", "-32004"),
    Limit("`host/ask` that waits", f"1 a session; {limits.MAX_ASKS_PER_MINUTE} a minute", "-32004"),
    Limit(
        "the properties in the schema of a question; the values of one `enum`",
        f"{limits.MAX_QUESTION_FIELDS}; {limits.MAX_QUESTION_CHOICES}",
        "-32602",
    ),
    Limit(
        "a question; an answer to it",
        f"{limits.MAX_PROMPT_CHARS:,}; {limits.MAX_ANSWER_CHARS:,} characters",
        "-32602",
    ),
    Limit(
        "one `host/log`",
        f"{limits.MAX_LOG_LINES} lines of {limits.MAX_LINE_CHARS:,} characters;"
        f" {limits.MAX_LOG_FIELDS} fields, {limits.MAX_LOG_FIELDS_CHARS} characters of those beside"
        " the message",
        "cut, and said so; each line of a field counts",
    ),
    Limit(
        "the `message` of `host/notify`; of `$/progress`",
        f"{limits.MAX_LINE_CHARS:,}; {limits.MAX_PROGRESS_CHARS} characters",
        "cut, and ends in `…`",
    ),
    Limit(
        "lines of `host/log` and `$/progress`, those with `text` not counted",
        f"{limits.MAX_LOG_PER_SECOND} a second",
        "counted, not kept",
    ),
    Limit("requests of one plugin under way", f"{limits.MAX_PLUGIN_REQUESTS}", "-32004"),
    Limit(
        "messages that the host did not ask for",
        f"{limits.MAX_UNASKED_MESSAGES_PER_SECOND:,}"
        f" or {_mib(limits.MAX_UNASKED_BYTES_PER_SECOND)} a second",
        "the host stops reading for the rest of the second",
    ),
    Limit(
        "messages waiting to be written to one plugin",
        f"{limits.QUEUE_MESSAGES:,} or {_mib(limits.QUEUE_BYTES)}",
        "requests fail at once, the oldest droppable events go",
    ),
    Limit(
        "a write that does not move",
        f"{limits.WRITE_STALL_S:g} s",
        "the plugin is killed and restarted",
    ),
)
