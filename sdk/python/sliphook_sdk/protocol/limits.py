"""The numbers of the protocol. Sizes are in bytes, durations in seconds."""

from __future__ import annotations

from typing import Final, NamedTuple

PROTOCOL_VERSIONS: Final = (1,)
"""The versions of the protocol that this package speaks, the newest last."""

MAX_MESSAGE_BYTES: Final = 8 * 1024 * 1024
MAX_DEPTH: Final = 128
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
MAX_SCHEMA_BYTES: Final = 64 * 1024
MAX_SCHEMAS_BYTES: Final = 1024 * 1024
MAX_SCHEMA_PARTS: Final = 3_000

MAX_CONTEXT_CHARS: Final = 10_000
MAX_CONTINUES_PER_TURN: Final = 8
MAX_INJECT_BYTES: Final = 64 * 1024
MAX_INJECTS_WAITING: Final = 16
MAX_NOTIFY_PER_MINUTE: Final = 10
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


def _mib(size: int) -> str:
    return f"{size // (1024 * 1024)} MiB" if size >= 1024 * 1024 else f"{size // 1024} KiB"


LIMITS: Final = (
    Limit(
        "one message",
        _mib(MAX_MESSAGE_BYTES),
        "from a plugin: the connection ends. "
        "To a plugin: heavy fields are cut out first (`truncated`)",
    ),
    Limit("nesting of JSON", f"{MAX_DEPTH} levels", "the connection ends"),
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
        "of these to `post_tool_call`; to one of `agent_loop_stopped`, `turn_end`, `subagent_stop`",
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
    Limit(
        "`input_schema` of one tool, and `config_schema`",
        _mib(MAX_SCHEMA_BYTES),
        "the plugin fails to start; -32602 for `host/tools`",
    ),
    Limit(
        "schemas of the tools in one scope",
        f"{_mib(MAX_SCHEMAS_BYTES)}; {MAX_SCHEMA_PARTS:,} schemas, those inside counted",
        "the plugin fails to start; -32602 for `host/tools`",
    ),
    Limit("answer to `shutdown`", f"{SHUTDOWN_TIMEOUT_S:g} s", "`exit` follows anyway"),
    Limit(
        "from `exit` and EOF to the end of the process",
        f"{EXIT_GRACE_S:g} s",
        f"SIGTERM to the process group, SIGKILL {TERM_GRACE_S:g} s later",
    ),
    Limit("`context` of one answer", f"{MAX_CONTEXT_CHARS:,} characters", "cut, and said so"),
    Limit("`continue_with` in one turn", f"{MAX_CONTINUES_PER_TURN}", "ignored, and said so"),
    Limit("text of one `host/inject`", _mib(MAX_INJECT_BYTES), "-32602"),
    Limit("injected texts that wait", f"{MAX_INJECTS_WAITING} a session", "-32004"),
    Limit("`host/notify`", f"{MAX_NOTIFY_PER_MINUTE} a minute", "-32004"),
    Limit(
        "one `host/log`",
        f"{MAX_LOG_LINES} lines, {MAX_LOG_FIELDS} fields",
        "cut, and said so; each line of a field counts",
    ),
    Limit(
        "lines of `host/log` and `$/progress`",
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
