// Made from the definition of the protocol by `make generate`; edit that instead.

export type HookName = "session_start" | "user_prompt_submit" | "pre_llm_call" | "pre_tool_call" | "post_tool_call" | "stop" | "subagent_start";

export type EventName = "session_reset" | "session_end" | "turn_start" | "post_llm_call" | "llm_call_failed" | "agent_loop_stopped" | "submission_end" | "turn_end" | "notification" | "user_input_required" | "user_input_received" | "subagent_stop";

export type Uses = "notify" | "tools" | "inject" | "interrupt" | "submit" | "route" | "approve" | "ask";

export type Level = "debug" | "info" | "warning" | "error";

export type AlertLevel = "info" | "warning" | "error";

export type ToolKind = "shell" | "read" | "write" | "edit" | "fetch" | "search" | "agent" | "mcp" | "other";

export type Decision = "allow" | "deny" | "ask";

export type OnFailure = "open" | "closed";

export type DeniableHook = "user_prompt_submit" | "pre_llm_call" | "pre_tool_call";

export type ReplaceableHook = "user_prompt_submit" | "pre_llm_call" | "pre_tool_call" | "post_tool_call";

export type AttemptedHook = "pre_llm_call";

/** One tool call inside a message of the model. */
export interface ToolCallRequest {
  /** the model's id of the call */
  call_id: string;
  /** the tool's name */
  name: string;
  /** the arguments, parsed */
  arguments: Record<string, any>;
}

/** A file inside a part: its text, or its bytes. */
export interface Resource {
  /** what it is called */
  uri: string;
  /** its type */
  mimeType?: string | null;
  /** the text */
  text?: string | null;
  /** or the bytes, in base64 */
  blob?: string | null;
}

/** One part of a tool's result. Which fields it has depends on its type. */
export interface Part {
  /** `text`, `image`, `audio`, `resource_link` or `resource` */
  type: string;
  /** of a `text` */
  text?: string | null;
  /** of an image (png, jpeg, gif, webp), of audio, of a link: `image/png` */
  mimeType?: string | null;
  /** of a link: where it leads */
  uri?: string | null;
  /** of a link: what it is called */
  name?: string | null;
  /** of a link: what is there */
  description?: string | null;
  /** of a `resource` */
  resource?: Resource | null;
  /** of an image or audio: its bytes, in base64 */
  data?: string | null;
}

/** One message of the conversation with the model; a model's response has the same shape. */
export interface Message {
  /** system, user, assistant or tool */
  role: string;
  /** the text; null if the message only calls tools */
  content: string | null;
  /** the calls that an assistant's message makes */
  tool_calls?: ToolCallRequest[] | null;
  /** in a tool's message: the `call_id` that it answers */
  call_id?: string | null;
  /** in a tool's message: the result in parts, for a model that takes them */
  parts?: Part[] | null;
}

/** Tokens; each count is null if it is not known. */
export interface Usage {
  /** tokens read */
  input_tokens?: number | null;
  /** tokens written */
  output_tokens?: number | null;
  /** tokens of the input that came from a cache */
  cached_tokens?: number | null;
}

/** The result of a tool call. */
export interface ToolResult {
  /** the text that the model reads */
  content: string;
  /** true if the call failed */
  is_error?: boolean | null;
  /** a value for programs; no model reads it */
  data?: unknown;
  /** the result in parts: a model that takes them reads these in place of `content` */
  parts?: Part[] | null;
}

/** One tool that a plugin offers to the model. */
export interface ToolSpec {
  /** the name: `[A-Za-z0-9_-]{1,64}` */
  name: string;
  /** what the model reads to decide */
  description?: string | null;
  /** JSON Schema of the arguments, an object; null takes any */
  input_schema?: Record<string, any> | null;
  /** seconds that one call may take; null is 30 */
  timeout_s?: number | null;
}

/** One tool as it is offered to the model, in the `tools` of `pre_llm_call`. */
export interface ModelTool {
  /** the tool's name */
  name: string;
  /** what the model reads */
  description: string;
  /** JSON Schema of the arguments */
  input_schema: Record<string, any>;
}

/** Where a model call goes. What is null is the agent's own choice for that server. */
export interface ModelRoute {
  /** the name of a provider: of the user's settings, or the agent's own */
  provider?: string | null;
  /** the server's address, without a login */
  base_url?: string | null;
  /** what the server speaks */
  api?: "openai" | "anthropic" | null;
  /** in an answer: the variable of the plugin that holds the key; in a payload null, as a key is never told */
  key_env?: string | null;
  /** more fields of the request */
  parameters?: Record<string, any> | null;
}

/** Why an attempt to call the model failed, as in `llm_call_failed`. */
export interface LlmFailure {
  /** what failed */
  kind: string;
  /** the HTTP status, if there was one */
  status?: number | null;
  /** what happened, for people */
  message: string;
}

/** What an interrupt found under way, as one plugin sees it. */
export interface Inflight {
  /** a model call was under way */
  llm: boolean;
  /** `call_id` of every open tool call; its `post_tool_call` tells if it still runs */
  tools: string[];
  /** ids of the requests to this very plugin that are now cancelled */
  requests: number[];
}

/** The end of a tool call whose `post_tool_call` had `still_running`. */
export interface LateEnd {
  /** the same as in `post_tool_call` */
  call_id: string;
  /** the tool */
  tool_name: string;
  /** `stopped`: before it had finished; `ok`, `failed`: it was done all the same; `killed`: its process ended, so its work may be half done */
  how: "stopped" | "ok" | "failed" | "unknown" | "killed";
  /** how long after it was told to stop */
  after_ms: number;
}

/** One plugin's reply to a hook. */
export interface Answer {
  /** `deny` ends it, `ask` puts it to a person, `allow` is an opinion */
  decision?: "allow" | "deny" | "ask" | null;
  /** why, for people and for the model */
  reason?: string | null;
  /** payload fields to put in the place of the old ones, whole; needs `replaces` */
  replace?: Record<string, any> | null;
  /** what stands in for the call that now does not happen; needs `replaces` */
  substitute?: Record<string, any> | null;
  /** texts for the model, labelled with the plugin's name */
  context?: string[] | null;
  /** in `stop`: go on, with this as the next message */
  continue_with?: string | null;
  /** free, for the plugin's own use; kept in the trace */
  _meta?: unknown;
}

/** An open session; a plugin that starts is told of it. */
export interface SessionInfo {
  /** the session */
  session_id: string;
  /** the agent's name for the conversation */
  session_key?: string | null;
  /** where the user is */
  platform?: string | null;
}

/** One entry of the manifest. */
export interface Subscription {
  /** the name of the hook or event */
  event: string;
  /** `hook`: be asked; `event`: be told, with the final payload. null is the catalogue's kind */
  mode?: "hook" | "event" | null;
  /** string fields of the payload, each with a pattern or a list of them (any); `*` and `?`, case-sensitive; all must match */
  match?: Record<string, string | string[] | null> | null;
  /** seconds to answer, 0.05 to 600; null is 5 */
  timeout_s?: number | null;
  /** `closed`: a failed answer denies; `open`: it abstains; null is the catalogue's */
  on_failure?: "open" | "closed" | null;
  /** high is asked first; null is 0 */
  priority?: number | null;
  /** true: the answers may replace or substitute, and come first */
  replaces?: boolean | null;
  /** heavy fields to fill in */
  include?: string[] | null;
  /** hear child agents; null is yes for tools, model calls and questions to the user, no for the rest */
  subagents?: boolean | null;
  /** in `pre_llm_call`: be asked before each attempt, not before the first alone */
  attempts?: boolean | null;
  /** true: no error if the host does not know the name */
  optional?: boolean | null;
  /** free, for the plugin's own use */
  _meta?: unknown;
}

/** A slash command of the plugin. */
export interface CommandSpec {
  /** the name without the slash: `[a-z][a-z0-9_-]{0,31}` */
  name: string;
  /** one line for `/help` */
  description?: string | null;
}

/** An environment variable that the plugin asks for. */
export interface EnvWant {
  /** the variable */
  name: string;
  /** the plugin cannot work without it */
  required?: boolean | null;
  /** false: its value may be shown; all others are redacted in traces and logs */
  secret?: boolean | null;
  /** what for, for the user */
  why?: string | null;
}

/** What a plugin declares: the result of `initialize`. */
export interface Manifest {
  /** one of the host's versions */
  protocol_version: number;
  /** the plugin's name: `[a-z0-9][a-z0-9_-]{0,63}` */
  name: string;
  /** the plugin's version */
  version?: string | null;
  /** one line for people */
  description?: string | null;
  /** the hooks and events it wants */
  subscriptions?: Subscription[] | null;
  /** the tools it offers */
  tools?: ToolSpec[] | null;
  /** the slash commands it offers */
  commands?: CommandSpec[] | null;
  /** what it asks of the host */
  uses?: ("notify" | "tools" | "inject" | "interrupt" | "submit" | "route" | "approve" | "ask")[] | null;
  /** the environment it wants */
  env?: EnvWant[] | null;
  /** servers that it wants to send model calls to, `HOST` or `HOST:PORT`; needs `route` */
  servers?: string[] | null;
  /** JSON Schema of its settings; it also says which are secret */
  config_schema?: Record<string, any> | null;
  /** leave me out, and tell the user why */
  disabled?: string | null;
}

/** The common fields of every payload. */
export interface Payload {
  /** opaque; the same for every plugin that this fire reaches */
  event_id: string;
  /** from 1, rising per session; a tool call and a command carry the last one */
  seq: number;
  /** when it was fired, UTC */
  time: string;
  /** the session, unique */
  session_id: string;
  /** the agent's own name for the conversation: chat, thread, terminal */
  session_key: string | null;
  /** where the user is: `cli`, `api` and so on */
  platform: string | null;
  /** the user, as the agent names them */
  user_id: string | null;
  /** the project's folder, absolute */
  cwd: string | null;
  /** the turn, unique; null outside a turn */
  turn_id: string | null;
  /** the agent that acts; a child agent has its own */
  agent_id: string;
  /** whose child the agent is; null for the root */
  parent_agent_id: string | null;
  /** 0 is the root agent */
  agent_depth: number;
  /** an object of the agent's own, opaque to Sliphook */
  meta: Record<string, any> | null;
}

/** A session begins. */
export interface SessionStart extends Payload {
  /** why: `reload` tells a restarted plugin of a living session */
  source: "startup" | "resume" | "reset" | "reload";
  /** the model that the session begins with */
  model: string | null;
  /** seconds that are left to answer; only in the request, absent if the entry is told as an event */
  timeout_s?: number | null;
}

/** The user began anew; `session_id` is the new session's. */
export interface SessionReset extends Payload {
  /** the session that ended */
  old_session_id: string;
  /** what the user did */
  cause: string;
}

/** A session is over. */
export interface SessionEnd extends Payload {
  /** why */
  reason: "exit" | "reset" | "signal" | "error" | "shutdown";
  /** turns that were opened */
  turns: number;
  /** model calls that were made */
  model_calls: number;
  /** tool calls that were made */
  tool_calls: number;
  /** tokens of the whole session */
  usage: Usage;
}

/** A turn exists from now on. */
export interface TurnStart extends Payload {
  /** from 1, counted in the session */
  index: number;
  /** in a child agent: the turn that started it */
  parent_turn_id: string | null;
  /** the plugin whose message it is, if it came by `host/submit`; null: the user's */
  submitted_by?: string | null;
}

/** A user's text is about to reach the model. */
export interface UserPromptSubmit extends Payload {
  /** how the text came */
  source: "user" | "command" | "queued" | "plugin";
  /** the plugin whose message it is, if it came by `host/submit`; null: the user's */
  submitted_by?: string | null;
  /** seconds that are left to answer; only in the request, absent if the entry is told as an event */
  timeout_s?: number | null;
  /** what the user wrote */
  text: string;
}

/** The model is about to be called. */
export interface PreLlmCall extends Payload {
  /** from 1, counted in the turn */
  call_index: number;
  /** from 1, counted in the call; more only with `attempts` */
  attempt?: number | null;
  /** who serves the model */
  provider: string | null;
  /** seconds that are left to answer; only in the request, absent if the entry is told as an event */
  timeout_s?: number | null;
  /** heavy fields that were cut to null because the message was too large; absent if none was */
  truncated?: string[] | null;
  /** the model */
  model: string | null;
  /** why the attempt before failed; null in the first one */
  failure?: LlmFailure | null;
  /** where the call goes; null if the agent does not say */
  route?: ModelRoute | null;
  /** the tools on offer; null unless included */
  tools: ModelTool[] | null;
  /** the conversation as it will be sent; null unless included */
  messages: Message[] | null;
}

/** A model call succeeded. */
export interface PostLlmCall extends Payload {
  /** from 1, counted in the turn */
  call_index: number;
  /** who serves the model */
  provider: string | null;
  /** the model */
  model: string | null;
  /** why the model ended, in the provider's words */
  finish_reason: string | null;
  /** tokens of this call */
  usage: Usage;
  /** how long the call took */
  duration_ms: number | null;
  /** the plugin that answered instead of the model */
  substituted_by: string | null;
  /** the plugin that said where the call goes; null if none did */
  routed_by?: string | null;
  /** heavy fields that were cut to null because the message was too large; absent if none was */
  truncated?: string[] | null;
  /** what the model said; null unless included */
  response: Message | null;
}

/** An attempt to call the model failed. */
export interface LlmCallFailed extends Payload {
  /** from 1, counted in the turn */
  call_index: number;
  /** from 1, counted in the call */
  attempt: number;
  /** what failed: connection, timeout, http, refused, rate_limited, stream, malformed, denied or cancelled */
  kind: string;
  /** the HTTP status, if there was one */
  status: number | null;
  /** what happened, for people */
  message: string;
  /** another attempt follows */
  will_retry: boolean;
}

/** A tool is about to run; its arguments are parsed. */
export interface PreToolCall extends Payload {
  /** ours, unique */
  call_id: string;
  /** the model's own id of the call */
  model_call_id: string | null;
  /** the tool; an agent may call its own anything */
  tool_name: string;
  /** what the tool does, whatever it is called: `mcp` is of an MCP server, `other` none of these; null: the agent does not say */
  tool_kind?: "shell" | "read" | "write" | "edit" | "fetch" | "search" | "agent" | "mcp" | "other" | null;
  /** the plugin that owns the tool, `agent`, or where the agent has it from: `mcp:SERVER` */
  origin: string;
  /** seconds that are left to answer; only in the request, absent if the entry is told as an event */
  timeout_s?: number | null;
  /** the arguments, by the names of that tool */
  arguments: Record<string, any>;
}

/** A tool call is over, however it ended. */
export interface PostToolCall extends Payload {
  /** ours, unique */
  call_id: string;
  /** the model's own id of the call */
  model_call_id: string | null;
  /** the tool; an agent may call its own anything */
  tool_name: string;
  /** what the tool does, whatever it is called: `mcp` is of an MCP server, `other` none of these; null: the agent does not say */
  tool_kind?: "shell" | "read" | "write" | "edit" | "fetch" | "search" | "agent" | "mcp" | "other" | null;
  /** the plugin that owns the tool, `agent`, or where the agent has it from: `mcp:SERVER` */
  origin: string;
  /** the tool did begin to run */
  started: boolean;
  /** how it ended; whether a command that failed is an `error` is up to the agent */
  status: "ok" | "error" | "denied" | "cancelled" | "timed_out";
  /** its plugin was told to stop it and it had not ended yet, so it may still act; a `notification` with `late_end` follows. The agent's own tools are never so */
  still_running?: boolean | null;
  /** how long the tool ran */
  duration_ms: number | null;
  /** the plugin that answered instead of the tool */
  substituted_by: string | null;
  /** seconds that are left to answer; only in the request, absent if the entry is told as an event */
  timeout_s?: number | null;
  /** the arguments, by the names of that tool */
  arguments: Record<string, any>;
  /** what came back; null if the call was cancelled */
  result: ToolResult | null;
}

/** The model is done and control is about to return to the user. */
export interface Stop extends Payload {
  /** turns of the session, this one included */
  turn_count: number;
  /** from 0: how often this turn has stopped before */
  stop_count: number;
  /** seconds that are left to answer; only in the request, absent if the entry is told as an event */
  timeout_s?: number | null;
  /** the last text of the model; null if there is none */
  last_assistant_message: string | null;
}

/** A turn was interrupted, at this moment. */
export interface AgentLoopStopped extends Payload {
  /** why */
  reason: "user_stop" | "reset" | "new_message" | "signal" | "plugin" | "shutdown" | "timeout";
  /** what exactly, free; Sliphook's own are listed under Cancel and interrupt */
  invalidation_reason: string;
  /** what was under way */
  inflight: Inflight;
}

/** The turn of a plugin's message is about to end, or the message was dropped. */
export interface SubmissionEnd extends Payload {
  /** as `host/submit` was answered */
  message_id: string;
  /** the plugin whose message it was */
  by: string;
  /** that of its turn; `dropped`: by `/stop`, `/new` or the end of the session, before its turn; `refused`: by the agent */
  outcome: "completed" | "interrupted" | "failed" | "denied" | "max_iterations" | "loop_detected" | "budget_exceeded" | "dropped" | "refused";
  /** the last text of the model; null if there is none */
  reply: string | null;
}

/** A turn is over; exactly one for each `turn_start`. */
export interface TurnEnd extends Payload {
  /** how */
  outcome: "completed" | "interrupted" | "failed" | "denied" | "max_iterations" | "loop_detected" | "budget_exceeded";
  /** how often the turn was interrupted */
  interrupt_count: number;
  /** model calls of the turn, its child agents' too */
  model_calls: number;
  /** tokens of the turn, its child agents' too */
  usage: Usage;
  /** how long the turn was open */
  duration_ms: number | null;
  /** `call_id` of each tool call, child agents' too, that was told to stop and had not ended yet; a `notification` with `late_end` follows for each */
  still_running?: string[] | null;
  /** the last text of the model, 32,768 characters of it at most; null if there is none */
  last_assistant_message: string | null;
}

/** The user is told something by the agent, the host or another plugin. */
export interface Notification extends Payload {
  /** how serious */
  level: "info" | "warning" | "error";
  /** what the user reads */
  message: string;
  /** who says so: `agent`, `host`, or a plugin's name */
  source: string;
  /** the tool call that has ended, if the notification is about that; else absent */
  late_end?: LateEnd | null;
}

/** The loop pauses for a person, or a plugin asks the person. */
export interface UserInputRequired extends Payload {
  /** what for */
  kind: "approval" | "max_iterations" | "question";
  /** unique; null if `host/answer` cannot answer it */
  question_id?: string | null;
  /** the tool call that waits, if one does */
  call_id: string | null;
  /** the tool of that call, else null */
  tool_name?: string | null;
  /** what the tool does, as in `pre_tool_call`; null: not said */
  tool_kind?: "shell" | "read" | "write" | "edit" | "fetch" | "search" | "agent" | "mcp" | "other" | null;
  /** whose the tool is, as in `pre_tool_call` */
  origin?: string | null;
  /** the plugin whose `host/ask` it is, else null */
  asked_by?: string | null;
  /** what the person is asked */
  prompt: string;
  /** JSON Schema of the answer: `allow` or `deny`, or what the plugin asks for */
  schema?: Record<string, any> | null;
  /** what the tool gets if it is allowed */
  arguments?: Record<string, any> | null;
}

/** The question is over, and what waited for it goes on. */
export interface UserInputReceived extends Payload {
  /** what for */
  kind: "approval" | "max_iterations" | "question";
  /** the same as in `user_input_required` */
  question_id?: string | null;
  /** the tool call that waited */
  call_id: string | null;
  /** what was chosen: `allow`, `deny`, or the answer; what is no text is JSON */
  choice: string;
  /** who chose: `user`, a plugin's name, or `none` if nobody answered */
  by: string;
}

/** A child agent begins; the common fields are its parent's. */
export interface SubagentStart extends Payload {
  /** the child's `agent_id` */
  child_agent_id: string;
  /** seconds that are left to answer; only in the request, absent if the entry is told as an event */
  timeout_s?: number | null;
  /** what the child is asked to do */
  goal: string;
}

/** A child agent ended; the common fields are its parent's. */
export interface SubagentStop extends Payload {
  /** the child's `agent_id` */
  child_agent_id: string;
  /** how it ended */
  status: "completed" | "failed" | "denied" | "cancelled";
  /** what the child reports */
  summary: string | null;
  /** how long it ran */
  duration_ms: number | null;
  /** `call_id` of each tool call, child agents' too, that was told to stop and had not ended yet; a `notification` with `late_end` follows for each */
  still_running?: string[] | null;
}

/** A tool of the plugin is called. */
export interface ToolCallParams extends Payload {
  /** the same as in `pre_tool_call` */
  call_id: string;
  /** the tool */
  name: string;
  /** seconds that are left */
  timeout_s: number;
  /** the arguments, checked against `input_schema` */
  arguments: Record<string, any>;
}

/** The user typed a command of the plugin. */
export interface CommandRunParams extends Payload {
  /** the command without the slash */
  name: string;
  /** seconds that are left */
  timeout_s: number;
  /** the text after the name */
  arguments: string;
}

/** The message was taken; `submission_end` tells its end. */
export interface SubmitResult {
  /** the message, unique */
  message_id: string;
  /** `started`: its turn begins; `queued`: it waits for others; `interrupting`: the open turn was interrupted for it */
  status: "started" | "queued" | "interrupting";
}

/** A plugin asks the person in front of the agent; answered when that is over. */
export interface AskParams {
  /** the session */
  session_id: string;
  /** only while this turn is open */
  turn_id?: string | null;
  /** the tool call that it is about */
  call_id?: string | null;
  /** the question */
  prompt: string;
  /** JSON Schema of the answer; null is a text */
  schema?: Record<string, any> | null;
  /** seconds to answer, 0.05 to 600; null is 60 */
  timeout_s?: number | null;
}

/** What came of the question. */
export interface AskResult {
  /** `nobody`: no one can be asked; `interrupted`: the turn has ended, or none was open */
  outcome: "answered" | "declined" | "timed_out" | "nobody" | "interrupted";
  /** what they answered, which fits `schema` */
  answer?: unknown;
}

/** The payload of every hook and event. */
export interface Payloads {
  session_start: SessionStart;
  session_reset: SessionReset;
  session_end: SessionEnd;
  turn_start: TurnStart;
  user_prompt_submit: UserPromptSubmit;
  pre_llm_call: PreLlmCall;
  post_llm_call: PostLlmCall;
  llm_call_failed: LlmCallFailed;
  pre_tool_call: PreToolCall;
  post_tool_call: PostToolCall;
  stop: Stop;
  agent_loop_stopped: AgentLoopStopped;
  submission_end: SubmissionEnd;
  turn_end: TurnEnd;
  notification: Notification;
  user_input_required: UserInputRequired;
  user_input_received: UserInputReceived;
  subagent_start: SubagentStart;
  subagent_stop: SubagentStop;
}

/** What an answer to each hook may hold, of a handler with `replaces`. */
export interface Answers {
  session_start: { decision?: never; reason?: never; replace?: never; substitute?: never; context?: readonly string[]; continue_with?: never; _meta?: unknown };
  user_prompt_submit: { decision?: "deny"; reason?: string; replace?: { text?: UserPromptSubmit["text"]; model?: never; route?: never; messages?: never; tools?: never; arguments?: never; result?: never }; substitute?: never; context?: readonly string[]; continue_with?: never; _meta?: unknown };
  pre_llm_call: { decision?: "deny"; reason?: string; replace?: { model?: PreLlmCall["model"]; route?: PreLlmCall["route"]; messages?: (Message | [number, number])[]; tools?: PreLlmCall["tools"]; text?: never; arguments?: never; result?: never }; substitute?: { response: Message; usage?: Usage; finish_reason?: string; result?: never }; context?: readonly string[]; continue_with?: never; _meta?: unknown };
  pre_tool_call: { decision?: "allow" | "deny" | "ask"; reason?: string; replace?: { arguments?: PreToolCall["arguments"]; text?: never; model?: never; route?: never; messages?: never; tools?: never; result?: never }; substitute?: { result: ToolResult | string; response?: never; usage?: never; finish_reason?: never }; context?: readonly string[]; continue_with?: never; _meta?: unknown };
  post_tool_call: { decision?: never; reason?: never; replace?: { result?: PostToolCall["result"]; text?: never; model?: never; route?: never; messages?: never; tools?: never; arguments?: never }; substitute?: never; context?: readonly string[]; continue_with?: never; _meta?: unknown };
  stop: { decision?: never; reason?: never; replace?: never; substitute?: never; context?: never; continue_with?: string; _meta?: unknown };
  subagent_start: { decision?: never; reason?: never; replace?: never; substitute?: never; context?: readonly string[]; continue_with?: never; _meta?: unknown };
}

/** What `replace` may name in some hook. */
export interface Replaced {
  text?: UserPromptSubmit["text"];
  model?: PreLlmCall["model"];
  route?: PreLlmCall["route"];
  messages?: (Message | [number, number])[];
  tools?: PreLlmCall["tools"];
  arguments?: PreToolCall["arguments"];
  result?: PostToolCall["result"];
}

/** What `substitute` may name in some hook. */
export interface Substituted {
  response?: Message;
  usage?: Usage;
  finish_reason?: string;
  result?: ToolResult | string;
}

/** The fields that `match` may name. */
export interface Matched {
  session_start: "session_key" | "platform" | "user_id" | "cwd" | "source" | "model";
  session_reset: "session_key" | "platform" | "user_id" | "cwd" | "cause";
  session_end: "session_key" | "platform" | "user_id" | "cwd" | "reason";
  turn_start: "session_key" | "platform" | "user_id" | "cwd" | "submitted_by";
  user_prompt_submit: "session_key" | "platform" | "user_id" | "cwd" | "source" | "submitted_by";
  pre_llm_call: "session_key" | "platform" | "user_id" | "cwd" | "provider" | "model";
  post_llm_call: "session_key" | "platform" | "user_id" | "cwd" | "provider" | "model" | "finish_reason" | "substituted_by" | "routed_by";
  llm_call_failed: "session_key" | "platform" | "user_id" | "cwd" | "kind";
  pre_tool_call: "session_key" | "platform" | "user_id" | "cwd" | "tool_name" | "tool_kind" | "origin";
  post_tool_call: "tool_name" | "tool_kind" | "origin" | "status" | "substituted_by";
  stop: "session_key" | "platform" | "user_id" | "cwd";
  agent_loop_stopped: "reason";
  submission_end: "by" | "outcome";
  turn_end: "outcome";
  notification: "session_key" | "platform" | "user_id" | "cwd" | "level" | "source";
  user_input_required: "session_key" | "platform" | "user_id" | "cwd" | "kind" | "tool_name" | "origin" | "asked_by";
  user_input_received: "session_key" | "platform" | "user_id" | "cwd" | "kind" | "by";
  subagent_start: "session_key" | "platform" | "user_id" | "cwd";
  subagent_stop: "status";
}

/** The fields that are null unless `include` names them. */
export interface Heavy {
  session_start: never;
  session_reset: never;
  session_end: never;
  turn_start: never;
  user_prompt_submit: never;
  pre_llm_call: "tools" | "messages";
  post_llm_call: "response";
  llm_call_failed: never;
  pre_tool_call: never;
  post_tool_call: never;
  stop: never;
  agent_loop_stopped: never;
  submission_end: never;
  turn_end: never;
  notification: never;
  user_input_required: never;
  user_input_received: never;
  subagent_start: never;
  subagent_stop: never;
}
