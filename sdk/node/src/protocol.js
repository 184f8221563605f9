// Made from the definition of the protocol by `make generate`; edit that instead.

export const CATALOGUE = {
  session_start: {"kind": "hook", "decisions": [], "replace": [], "substitute": [], "context": true, "continues": false, "attempts": false, "heavy": [], "subagents": false, "strings": {"session_key": {"domains": [{"most": 1024}], "nullable": true}, "platform": {"domains": [{"most": 1024}], "nullable": true}, "user_id": {"domains": [{"most": 1024}], "nullable": true}, "cwd": {"domains": [{"most": 1024}], "nullable": true}, "source": {"domains": [{"words": ["startup", "resume", "reset", "reload"], "most": 1024}], "are": "one of startup, resume, reset, reload"}, "model": {"domains": [{"most": 1024}], "nullable": true}}, "unmatchable": ["event_id", "time", "session_id", "turn_id", "agent_id", "parent_agent_id"]},
  session_reset: {"kind": "event", "decisions": [], "replace": [], "substitute": [], "context": false, "continues": false, "attempts": false, "heavy": [], "subagents": false, "strings": {"session_key": {"domains": [{"most": 1024}], "nullable": true}, "platform": {"domains": [{"most": 1024}], "nullable": true}, "user_id": {"domains": [{"most": 1024}], "nullable": true}, "cwd": {"domains": [{"most": 1024}], "nullable": true}, "cause": {"domains": [{"most": 1024}]}}, "unmatchable": ["event_id", "time", "session_id", "turn_id", "agent_id", "parent_agent_id", "old_session_id"]},
  session_end: {"kind": "event", "decisions": [], "replace": [], "substitute": [], "context": false, "continues": false, "attempts": false, "heavy": [], "subagents": false, "strings": {"session_key": {"domains": [{"most": 1024}], "nullable": true}, "platform": {"domains": [{"most": 1024}], "nullable": true}, "user_id": {"domains": [{"most": 1024}], "nullable": true}, "cwd": {"domains": [{"most": 1024}], "nullable": true}, "reason": {"domains": [{"words": ["exit", "reset", "signal", "error", "shutdown"], "most": 1024}], "are": "one of exit, reset, signal, error, shutdown"}}, "unmatchable": ["event_id", "time", "session_id", "turn_id", "agent_id", "parent_agent_id"]},
  turn_start: {"kind": "event", "decisions": [], "replace": [], "substitute": [], "context": false, "continues": false, "attempts": false, "heavy": [], "subagents": false, "strings": {"session_key": {"domains": [{"most": 1024}], "nullable": true}, "platform": {"domains": [{"most": 1024}], "nullable": true}, "user_id": {"domains": [{"most": 1024}], "nullable": true}, "cwd": {"domains": [{"most": 1024}], "nullable": true}, "submitted_by": {"domains": [{"chars": "abcdefghijklmnopqrstuvwxyz0123456789_-", "first": "abcdefghijklmnopqrstuvwxyz0123456789", "least": 1, "most": 64, "never": ["agent", "host", "user", "sliphook", "mcp", "system", "assistant", "model", "tool", "none"]}], "are": "the name of a plugin, [a-z0-9][a-z0-9_-]{0,63}", "nullable": true}}, "unmatchable": ["event_id", "time", "session_id", "turn_id", "agent_id", "parent_agent_id", "parent_turn_id"]},
  user_prompt_submit: {"kind": "hook", "decisions": ["deny"], "replace": ["text"], "substitute": [], "context": true, "continues": false, "attempts": false, "heavy": [], "subagents": false, "strings": {"session_key": {"domains": [{"most": 1024}], "nullable": true}, "platform": {"domains": [{"most": 1024}], "nullable": true}, "user_id": {"domains": [{"most": 1024}], "nullable": true}, "cwd": {"domains": [{"most": 1024}], "nullable": true}, "source": {"domains": [{"words": ["user", "command", "queued", "plugin"], "most": 1024}], "are": "one of user, command, queued, plugin"}, "submitted_by": {"domains": [{"chars": "abcdefghijklmnopqrstuvwxyz0123456789_-", "first": "abcdefghijklmnopqrstuvwxyz0123456789", "least": 1, "most": 64, "never": ["agent", "host", "user", "sliphook", "mcp", "system", "assistant", "model", "tool", "none"]}], "are": "the name of a plugin, [a-z0-9][a-z0-9_-]{0,63}", "nullable": true}}, "unmatchable": ["event_id", "time", "session_id", "turn_id", "agent_id", "parent_agent_id", "text"]},
  pre_llm_call: {"kind": "hook", "decisions": ["deny"], "replace": ["model", "route", "messages", "tools"], "substitute": ["response", "usage", "finish_reason"], "context": true, "continues": false, "attempts": true, "heavy": ["tools", "messages"], "subagents": true, "strings": {"session_key": {"domains": [{"most": 1024}], "nullable": true}, "platform": {"domains": [{"most": 1024}], "nullable": true}, "user_id": {"domains": [{"most": 1024}], "nullable": true}, "cwd": {"domains": [{"most": 1024}], "nullable": true}, "provider": {"domains": [{"most": 1024}], "nullable": true}, "model": {"domains": [{"most": 1024}], "nullable": true}}, "unmatchable": ["event_id", "time", "session_id", "turn_id", "agent_id", "parent_agent_id"]},
  post_llm_call: {"kind": "event", "decisions": [], "replace": [], "substitute": [], "context": false, "continues": false, "attempts": false, "heavy": ["response"], "subagents": true, "strings": {"session_key": {"domains": [{"most": 1024}], "nullable": true}, "platform": {"domains": [{"most": 1024}], "nullable": true}, "user_id": {"domains": [{"most": 1024}], "nullable": true}, "cwd": {"domains": [{"most": 1024}], "nullable": true}, "provider": {"domains": [{"most": 1024}], "nullable": true}, "model": {"domains": [{"most": 1024}], "nullable": true}, "finish_reason": {"domains": [{"most": 1024}], "nullable": true}, "substituted_by": {"domains": [{"chars": "abcdefghijklmnopqrstuvwxyz0123456789_-", "first": "abcdefghijklmnopqrstuvwxyz0123456789", "least": 1, "most": 64, "never": ["agent", "host", "user", "sliphook", "mcp", "system", "assistant", "model", "tool", "none"]}], "are": "the name of a plugin, [a-z0-9][a-z0-9_-]{0,63}", "nullable": true}, "routed_by": {"domains": [{"chars": "abcdefghijklmnopqrstuvwxyz0123456789_-", "first": "abcdefghijklmnopqrstuvwxyz0123456789", "least": 1, "most": 64, "never": ["agent", "host", "user", "sliphook", "mcp", "system", "assistant", "model", "tool", "none"]}], "are": "the name of a plugin, [a-z0-9][a-z0-9_-]{0,63}", "nullable": true}}, "unmatchable": ["event_id", "time", "session_id", "turn_id", "agent_id", "parent_agent_id"]},
  llm_call_failed: {"kind": "event", "decisions": [], "replace": [], "substitute": [], "context": false, "continues": false, "attempts": false, "heavy": [], "subagents": true, "strings": {"session_key": {"domains": [{"most": 1024}], "nullable": true}, "platform": {"domains": [{"most": 1024}], "nullable": true}, "user_id": {"domains": [{"most": 1024}], "nullable": true}, "cwd": {"domains": [{"most": 1024}], "nullable": true}, "kind": {"domains": [{"most": 1024}]}}, "unmatchable": ["event_id", "time", "session_id", "turn_id", "agent_id", "parent_agent_id", "message"]},
  pre_tool_call: {"kind": "hook", "decisions": ["allow", "deny", "ask"], "replace": ["arguments"], "substitute": ["result"], "context": true, "continues": false, "attempts": false, "heavy": [], "subagents": true, "strings": {"session_key": {"domains": [{"most": 1024}], "nullable": true}, "platform": {"domains": [{"most": 1024}], "nullable": true}, "user_id": {"domains": [{"most": 1024}], "nullable": true}, "cwd": {"domains": [{"most": 1024}], "nullable": true}, "tool_name": {"domains": [{"least": 1, "most": 1024}], "foreign": ["|", "^", "$", "(", ")", "[", "]", "{", "}", ",", "+", "\\", " ", ".*"]}, "tool_kind": {"domains": [{"words": ["shell", "read", "write", "edit", "fetch", "search", "agent", "mcp", "other"], "most": 1024}], "are": "one of shell, read, write, edit, fetch, search, agent, mcp, other"}, "origin": {"domains": [{"words": ["agent"], "most": 1024}, {"chars": "abcdefghijklmnopqrstuvwxyz0123456789_-", "first": "abcdefghijklmnopqrstuvwxyz0123456789", "least": 1, "most": 64, "never": ["agent", "host", "user", "sliphook", "mcp", "system", "assistant", "model", "tool", "none"]}, {"least": 1, "most": 1024, "holds": ":"}], "are": "agent, the name of a plugin, or a text with a colon, such as mcp:github; mcp:* fits all that are of MCP servers"}}, "unmatchable": ["event_id", "time", "session_id", "turn_id", "agent_id", "parent_agent_id", "call_id", "model_call_id"]},
  post_tool_call: {"kind": "hook", "decisions": [], "replace": ["result"], "substitute": [], "context": true, "continues": false, "attempts": false, "heavy": [], "subagents": true, "strings": {"tool_name": {"domains": [{"least": 1, "most": 1024}], "foreign": ["|", "^", "$", "(", ")", "[", "]", "{", "}", ",", "+", "\\", " ", ".*"]}, "tool_kind": {"domains": [{"words": ["shell", "read", "write", "edit", "fetch", "search", "agent", "mcp", "other"], "most": 1024}], "are": "one of shell, read, write, edit, fetch, search, agent, mcp, other"}, "origin": {"domains": [{"words": ["agent"], "most": 1024}, {"chars": "abcdefghijklmnopqrstuvwxyz0123456789_-", "first": "abcdefghijklmnopqrstuvwxyz0123456789", "least": 1, "most": 64, "never": ["agent", "host", "user", "sliphook", "mcp", "system", "assistant", "model", "tool", "none"]}, {"least": 1, "most": 1024, "holds": ":"}], "are": "agent, the name of a plugin, or a text with a colon, such as mcp:github; mcp:* fits all that are of MCP servers"}, "status": {"domains": [{"words": ["ok", "error", "denied", "cancelled", "timed_out"], "most": 1024}], "are": "one of ok, error, denied, cancelled, timed_out"}, "substituted_by": {"domains": [{"chars": "abcdefghijklmnopqrstuvwxyz0123456789_-", "first": "abcdefghijklmnopqrstuvwxyz0123456789", "least": 1, "most": 64, "never": ["agent", "host", "user", "sliphook", "mcp", "system", "assistant", "model", "tool", "none"]}], "are": "the name of a plugin, [a-z0-9][a-z0-9_-]{0,63}", "nullable": true}}, "unmatchable": ["event_id", "time", "session_id", "session_key", "platform", "user_id", "cwd", "turn_id", "agent_id", "parent_agent_id", "call_id", "model_call_id"]},
  stop: {"kind": "hook", "decisions": [], "replace": [], "substitute": [], "context": false, "continues": true, "attempts": false, "heavy": [], "subagents": false, "strings": {"session_key": {"domains": [{"most": 1024}], "nullable": true}, "platform": {"domains": [{"most": 1024}], "nullable": true}, "user_id": {"domains": [{"most": 1024}], "nullable": true}, "cwd": {"domains": [{"most": 1024}], "nullable": true}}, "unmatchable": ["event_id", "time", "session_id", "turn_id", "agent_id", "parent_agent_id", "last_assistant_message"]},
  agent_loop_stopped: {"kind": "event", "decisions": [], "replace": [], "substitute": [], "context": false, "continues": false, "attempts": false, "heavy": [], "subagents": false, "strings": {"reason": {"domains": [{"words": ["user_stop", "reset", "new_message", "signal", "plugin", "shutdown", "timeout"], "most": 1024}], "are": "one of user_stop, reset, new_message, signal, plugin, shutdown, timeout"}}, "unmatchable": ["event_id", "time", "session_id", "session_key", "platform", "user_id", "cwd", "turn_id", "agent_id", "parent_agent_id", "invalidation_reason"]},
  submission_end: {"kind": "event", "decisions": [], "replace": [], "substitute": [], "context": false, "continues": false, "attempts": false, "heavy": [], "subagents": false, "strings": {"by": {"domains": [{"words": ["user", "none"], "most": 1024}, {"chars": "abcdefghijklmnopqrstuvwxyz0123456789_-", "first": "abcdefghijklmnopqrstuvwxyz0123456789", "least": 1, "most": 64, "never": ["agent", "host", "user", "sliphook", "mcp", "system", "assistant", "model", "tool", "none"]}], "are": "user, none, or the name of a plugin"}, "outcome": {"domains": [{"words": ["completed", "interrupted", "failed", "denied", "max_iterations", "loop_detected", "budget_exceeded", "dropped", "refused"], "most": 1024}], "are": "one of completed, interrupted, failed, denied, max_iterations, loop_detected, budget_exceeded, dropped, refused"}}, "unmatchable": ["event_id", "time", "session_id", "session_key", "platform", "user_id", "cwd", "turn_id", "agent_id", "parent_agent_id", "message_id", "reply"]},
  turn_end: {"kind": "event", "decisions": [], "replace": [], "substitute": [], "context": false, "continues": false, "attempts": false, "heavy": [], "subagents": false, "strings": {"outcome": {"domains": [{"words": ["completed", "interrupted", "failed", "denied", "max_iterations", "loop_detected", "budget_exceeded"], "most": 1024}], "are": "one of completed, interrupted, failed, denied, max_iterations, loop_detected, budget_exceeded"}}, "unmatchable": ["event_id", "time", "session_id", "session_key", "platform", "user_id", "cwd", "turn_id", "agent_id", "parent_agent_id", "last_assistant_message"]},
  notification: {"kind": "event", "decisions": [], "replace": [], "substitute": [], "context": false, "continues": false, "attempts": false, "heavy": [], "subagents": false, "strings": {"session_key": {"domains": [{"most": 1024}], "nullable": true}, "platform": {"domains": [{"most": 1024}], "nullable": true}, "user_id": {"domains": [{"most": 1024}], "nullable": true}, "cwd": {"domains": [{"most": 1024}], "nullable": true}, "level": {"domains": [{"words": ["info", "warning", "error"], "most": 1024}], "are": "one of info, warning, error"}, "source": {"domains": [{"most": 1024}]}}, "unmatchable": ["event_id", "time", "session_id", "turn_id", "agent_id", "parent_agent_id", "message"]},
  user_input_required: {"kind": "event", "decisions": [], "replace": [], "substitute": [], "context": false, "continues": false, "attempts": false, "heavy": [], "subagents": true, "strings": {"session_key": {"domains": [{"most": 1024}], "nullable": true}, "platform": {"domains": [{"most": 1024}], "nullable": true}, "user_id": {"domains": [{"most": 1024}], "nullable": true}, "cwd": {"domains": [{"most": 1024}], "nullable": true}, "kind": {"domains": [{"words": ["approval", "max_iterations", "question"], "most": 1024}], "are": "one of approval, max_iterations, question"}, "tool_name": {"domains": [{"least": 1, "most": 1024}], "nullable": true, "foreign": ["|", "^", "$", "(", ")", "[", "]", "{", "}", ",", "+", "\\", " ", ".*"]}, "origin": {"domains": [{"words": ["agent"], "most": 1024}, {"chars": "abcdefghijklmnopqrstuvwxyz0123456789_-", "first": "abcdefghijklmnopqrstuvwxyz0123456789", "least": 1, "most": 64, "never": ["agent", "host", "user", "sliphook", "mcp", "system", "assistant", "model", "tool", "none"]}, {"least": 1, "most": 1024, "holds": ":"}], "are": "agent, the name of a plugin, or a text with a colon, such as mcp:github; mcp:* fits all that are of MCP servers", "nullable": true}, "asked_by": {"domains": [{"chars": "abcdefghijklmnopqrstuvwxyz0123456789_-", "first": "abcdefghijklmnopqrstuvwxyz0123456789", "least": 1, "most": 64, "never": ["agent", "host", "user", "sliphook", "mcp", "system", "assistant", "model", "tool", "none"]}], "are": "the name of a plugin, [a-z0-9][a-z0-9_-]{0,63}", "nullable": true}}, "unmatchable": ["event_id", "time", "session_id", "turn_id", "agent_id", "parent_agent_id", "question_id", "call_id", "tool_kind", "prompt"]},
  user_input_received: {"kind": "event", "decisions": [], "replace": [], "substitute": [], "context": false, "continues": false, "attempts": false, "heavy": [], "subagents": true, "strings": {"session_key": {"domains": [{"most": 1024}], "nullable": true}, "platform": {"domains": [{"most": 1024}], "nullable": true}, "user_id": {"domains": [{"most": 1024}], "nullable": true}, "cwd": {"domains": [{"most": 1024}], "nullable": true}, "kind": {"domains": [{"words": ["approval", "max_iterations", "question"], "most": 1024}], "are": "one of approval, max_iterations, question"}, "by": {"domains": [{"words": ["user", "none"], "most": 1024}, {"chars": "abcdefghijklmnopqrstuvwxyz0123456789_-", "first": "abcdefghijklmnopqrstuvwxyz0123456789", "least": 1, "most": 64, "never": ["agent", "host", "user", "sliphook", "mcp", "system", "assistant", "model", "tool", "none"]}], "are": "user, none, or the name of a plugin"}}, "unmatchable": ["event_id", "time", "session_id", "turn_id", "agent_id", "parent_agent_id", "question_id", "call_id", "choice"]},
  subagent_start: {"kind": "hook", "decisions": [], "replace": [], "substitute": [], "context": true, "continues": false, "attempts": false, "heavy": [], "subagents": false, "strings": {"session_key": {"domains": [{"most": 1024}], "nullable": true}, "platform": {"domains": [{"most": 1024}], "nullable": true}, "user_id": {"domains": [{"most": 1024}], "nullable": true}, "cwd": {"domains": [{"most": 1024}], "nullable": true}}, "unmatchable": ["event_id", "time", "session_id", "turn_id", "agent_id", "parent_agent_id", "child_agent_id", "goal"]},
  subagent_stop: {"kind": "event", "decisions": [], "replace": [], "substitute": [], "context": false, "continues": false, "attempts": false, "heavy": [], "subagents": false, "strings": {"status": {"domains": [{"words": ["completed", "failed", "denied", "cancelled"], "most": 1024}], "are": "one of completed, failed, denied, cancelled"}}, "unmatchable": ["event_id", "time", "session_id", "session_key", "platform", "user_id", "cwd", "turn_id", "agent_id", "parent_agent_id", "child_agent_id", "summary"]},
};

export const ErrorCode = {
  PARSE_ERROR: -32700,
  INVALID_REQUEST: -32600,
  METHOD_NOT_FOUND: -32601,
  INVALID_PARAMS: -32602,
  INTERNAL_ERROR: -32603,
  REQUEST_CANCELLED: -32800,
  NOT_READY: -32001,
  UNKNOWN_SESSION: -32002,
  NOT_GRANTED: -32003,
  BUSY: -32004,
};

export const LIMITS = {
  MAX_MESSAGE_BYTES: 1048576,
  MAX_HOST_MESSAGE_BYTES: 4194304,
  HOST_ENVELOPE_BYTES: 256,
  MAX_HOST_PARAMS_BYTES: 4194048,
  MAX_SKIPPED_BYTES: 67108864,
  MAX_MESSAGE_VALUES: 20000,
  MAX_NUMBER_CHARS: 256,
  MAX_SLOW_NUMBERS: 100,
  UNWEIGHED_BYTES: 1024,
  MAX_ID_CHARS: 128,
  MAX_DEPTH: 128,
  MAX_HOST_DEPTH: 140,
  MAX_HOST_DIGITS: 308,
  MAX_HEADER_BYTES: 4096,
  MAX_STRAY_BYTES: 65536,
  MAX_VIOLATIONS: 100,
  MESSAGE_SILENCE_S: 10.0,
  INITIALIZE_TIMEOUT_S: 10.0,
  HOOK_TIMEOUT_S: 5.0,
  TOOL_TIMEOUT_S: 30.0,
  COMMAND_TIMEOUT_S: 30.0,
  MIN_TIMEOUT_S: 0.05,
  MAX_TIMEOUT_S: 600.0,
  SHUTDOWN_TIMEOUT_S: 1.5,
  EXIT_GRACE_S: 2.0,
  TERM_GRACE_S: 2.0,
  MAX_SUBSCRIPTIONS: 256,
  MAX_SUBSCRIPTIONS_TO_TOOL_END: 8,
  MAX_SUBSCRIPTIONS_TO_TURN_END: 4,
  MAX_PATTERNS: 1000,
  MAX_PATTERN_CHARS: 8192,
  MAX_MATCHED_CHARS: 1024,
  MAX_REACH_STEPS: 8000,
  MAX_TOOLS: 512,
  MAX_VARIABLES: 64,
  MAX_SERVERS: 16,
  MAX_SCHEMA_BYTES: 65536,
  MAX_SCHEMA_PARTS: 1000,
  MAX_RESULT_PARTS: 32,
  MAX_CONTEXT_CHARS: 10000,
  MAX_CONTEXT_TEXTS: 64,
  MAX_JOINED_CHARS: 1048576,
  MAX_CONTINUES_PER_TURN: 8,
  MAX_PARAMETERS: 64,
  MAX_PARAMETERS_BYTES: 8192,
  MAX_STREAMED_BYTES: 1048576,
  STREAMED_PIECE_CHARS: 8192,
  MAX_INJECT_BYTES: 65536,
  MAX_INJECTS_WAITING: 16,
  MAX_SUBMIT_BYTES: 65536,
  MAX_SUBMIT_PER_MINUTE: 60,
  MAX_SUBMITS_WAITING: 4,
  MAX_NOTIFY_PER_MINUTE: 10,
  ASK_TIMEOUT_S: 60.0,
  MAX_ASKS_PER_MINUTE: 10,
  MAX_PROMPT_CHARS: 4000,
  MAX_ANSWER_CHARS: 10000,
  MAX_QUESTION_FIELDS: 32,
  MAX_QUESTION_CHOICES: 100,
  MAX_LAST_TEXT_CHARS: 32768,
  MAX_LOG_PER_SECOND: 100,
  MAX_LOG_LINES: 50,
  MAX_LOG_FIELDS: 32,
  MAX_LOG_FIELDS_CHARS: 500,
  MAX_LINE_CHARS: 2000,
  MAX_PROGRESS_CHARS: 200,
  MAX_PLUGIN_REQUESTS: 64,
  MAX_UNASKED_MESSAGES_PER_SECOND: 1000,
  MAX_UNASKED_BYTES_PER_SECOND: 16777216,
  QUEUE_MESSAGES: 1024,
  QUEUE_BYTES: 16777216,
  WRITE_STALL_S: 5.0,
  _KIB: 1024,
};

export const MESSAGE_LIMITS = {
  "tool/call": {"what": "the result of a tool", "max_bytes": 1048576, "max_values": 20000, "instead": "write it to a file and return the path"},
  "command/run": {"what": "the result of a command", "max_bytes": 1048576, "max_values": 20000, "instead": "write it to a file and return the path"},
  initialize: {"what": "the manifest", "max_bytes": 524288, "max_values": 20000, "instead": "declare fewer tools or smaller schemas"},
  "host/tools": {"what": "`host/tools`", "max_bytes": 524288, "max_values": 20000, "instead": "offer fewer tools or smaller schemas"},
  "host/inject": {"what": "`host/inject`", "max_bytes": 524288, "max_values": 1000, "instead": "send a shorter text"},
  "host/submit": {"what": "`host/submit`", "max_bytes": 524288, "max_values": 1000, "instead": "send a shorter text"},
  "host/log": {"what": "`host/log`", "max_bytes": 65536, "max_values": 1000, "instead": "write the rest to a file and log its path"},
  "host/notify": {"what": "`host/notify`", "max_bytes": 65536, "max_values": 1000, "instead": "send a shorter text"},
  "$/progress": {"what": "`$/progress`", "max_bytes": 65536, "max_values": 1000, "instead": "send a shorter text"},
  hook: {"what": "the answer to a hook", "max_bytes": 1048576, "max_values": 20000, "instead": "change less in one answer"},
  error: {"what": "an error reply", "max_bytes": 65536, "max_values": 1000, "instead": "shorten its message and its data"},
  other: {"what": "any other message", "max_bytes": 65536, "max_values": 1000, "instead": "send less"},
};

export const PROTOCOL_VERSIONS = [1];

export const NAME_PATTERNS = {
  plugin: "[a-z0-9][a-z0-9_-]{0,63}",
  tool: "[A-Za-z0-9_-]{1,64}",
  command: "[a-z][a-z0-9_-]{0,31}",
};

export const RESERVED_COMMANDS = ["stop", "new", "reset", "quit", "exit", "help"];

export const RESERVED_PLUGINS = ["agent", "host", "user", "sliphook", "mcp", "system", "assistant", "model", "tool", "none"];

export const USES = ["notify", "tools", "inject", "interrupt", "submit", "route", "approve", "ask"];

export const GRANTS = {
  "host/notify": "notify",
  "host/tools": "tools",
  "host/inject": "inject",
  "host/submit": "submit",
  "host/interrupt": "interrupt",
  "host/ask": "ask",
  "host/answer": "approve",
};

export const NULL_FITS = ["tool_kind"];

export const ANSWER_FIELDS = ["decision", "reason", "replace", "substitute", "context", "continue_with", "_meta"];
