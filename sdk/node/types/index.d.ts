// The types of the SDK. Payloads and the like come from the protocol, see protocol.d.ts.

import type {
  AlertLevel,
  Answers,
  AskResult,
  AttemptedHook,
  DeniableHook,
  EnvWant,
  EventName,
  Heavy,
  HookName,
  Level,
  Manifest,
  Matched,
  OnFailure,
  Payloads,
  ReplaceableHook,
  Replaced,
  SubmitResult,
  Substituted,
  Uses,
} from "./protocol.js";

export type * from "./protocol.js";

type Name = HookName | EventName;
type Awaitable<T> = T | Promise<T>;
type Nothing = null | undefined | void;

/** Patterns (`*` and `?`), or lists of them, for fields of the payload that hold a name or a word. */
export type Match<N extends Name> = { [Field in Matched[N]]?: string | readonly string[] };

export interface EventOptions<N extends Name> {
  /** the function is asked or told only if all fields fit */
  match?: Match<N>;
  /** heavy fields of the payload to fill in */
  include?: readonly Heavy[N][];
  /** for child agents too; if left out, the hook's default */
  subagents?: boolean;
  /** if the host does not know the name, it is no error */
  optional?: boolean;
}

export interface HookOptions<N extends HookName> extends EventOptions<N> {
  /** seconds to answer, 0.05 to 600; 5 if left out */
  timeoutS?: number;
  /** `closed`: a failed answer denies; `open`: it abstains; if left out, the hook's default */
  onFailure?: N extends DeniableHook ? OnFailure : "open";
  /** plugins with a high priority are asked first */
  priority?: number;
  /** in `pre_llm_call`: asked before each attempt, with the `failure` of the last */
  attempts?: N extends AttemptedHook ? boolean : never;
}

export interface ReplacingOptions<N extends ReplaceableHook> extends HookOptions<N> {
  /** the answers may `replace` and `substitute` */
  replaces: boolean;
}

/** What an answer to each hook may hold, of a handler without `replaces`. */
export type Opinion<N extends HookName> = Omit<Answers[N], "replace" | "substitute"> & {
  replace?: never;
  substitute?: never;
};

export interface ToolOptions {
  /** tells the model when to call the tool */
  description?: string;
  /** JSON Schema of the arguments, an object; the host checks them. Any if left out */
  schema?: Record<string, unknown>;
  /** seconds that one call may take, 0.05 to 600; 30 if left out */
  timeoutS?: number;
}

export interface CommandOptions {
  /** one line for `/help` */
  description?: string;
}

export interface PluginOptions<State, Config> {
  /** the plugin's own version */
  version?: string;
  /** one line for people */
  description?: string;
  /** the requests that it makes to the host; the user must grant them */
  uses?: readonly Uses[];
  /** environment variables that it wants; one given as a bare name is not required */
  env?: readonly (EnvWant | string)[];
  /** `HOST` or `HOST:PORT` of the servers that it sends model calls to; needs the use `route` */
  servers?: readonly string[];
  /** JSON Schema of the user's settings */
  configSchema?: Record<string, unknown>;
  /** checks the user's settings and returns `ctx.config`; if it throws, the plugin is disabled */
  readConfig?: (config: Record<string, any>) => Config;
  /** creates the state of one session */
  sessions?: () => State;
  /** if given, the plugin does not take part; the user reads the reason */
  disabled?: string;
}

export interface Sessions<State> extends Iterable<[string, State]> {
  /** The state of a session, created at its first use and removed after `session_end`. */
  get(sessionId: string): State;
  has(sessionId: string): boolean;
  readonly size: number;
}

/** `ctx` of `onStart` and `onShutdown`. */
export interface LifeContext<Config = Record<string, any>> {
  /** the user's settings for the plugin */
  readonly config: Config;
  /** the plugin's own folder */
  readonly dataDir: string;
  /** when the SDK stops waiting for the function, on `performance.now()`, in milliseconds */
  readonly deadline: number;
  /** Write a line to the plugin's log, with values beside the message. */
  log(level: Level, message: string, fields?: Record<string, unknown>): void;
}

/**
 * Requests to the host from anywhere in the process. Each throws HostRefused, and NotConnected
 * before the plugin runs and after the host has gone. While the plugin starts it waits until it
 * has, so `onStart` must not await one.
 */
export interface Host<State = unknown, Config = Record<string, any>> {
  /** Write a line to the plugin's log; before the plugin runs to standard error. */
  log(level: Level, message: string, fields?: Record<string, unknown>): void;
  /** Show the user an alert. Needs `uses: ["notify"]`. */
  notify(level: AlertLevel, message: string): Promise<void>;
  /** Put a text before the session's next model call. Needs `uses: ["inject"]`. */
  inject(text: string, options: { sessionId: string }): Promise<void>;
  /**
   * Give the model a message, as if a user had written it; it begins a turn. `submission_end` names
   * its `message_id`. Needs `uses: ["submit"]`.
   */
  submit(
    text: string,
    options: { sessionKey: string; platform?: string | null; userId?: string | null },
  ): Promise<SubmitResult>;
  /** Interrupt the session's turn, or only that one. Needs `uses: ["interrupt"]`. */
  interrupt(
    reason: string,
    options: { sessionId: string; turnId?: string | null },
  ): Promise<boolean>;
  /**
   * Ask the person in front of the agent. If `signal` aborts, the question is withdrawn, and its
   * reason thrown. Needs `uses: ["ask"]`.
   */
  ask(
    prompt: string,
    options: QuestionOptions & {
      sessionId: string;
      /** only while this turn is open */
      turnId?: string | null;
      /** the tool call that it is about */
      callId?: string | null;
      signal?: AbortSignal;
    },
  ): Promise<AskResult>;
  /**
   * Answer a question in the person's place: `allow` or `deny`, or what its `schema` asks for. False
   * if it is over. Needs `uses: ["approve"]`.
   */
  answer(choice: unknown, options: { sessionId: string; questionId: string }): Promise<boolean>;
  /** As those of the plugin, for a plugin that runs. */
  setTools(
    tools: Iterable<Tool<State, Config>>,
    options?: { sessionId?: string | null },
  ): Promise<void>;
  addTool(tool: Tool<State, Config>, options?: { sessionId?: string | null }): Promise<void>;
  removeTool(name: string, options?: { sessionId?: string | null }): Promise<void>;
}

export interface QuestionOptions {
  /** JSON Schema of the answer: one value, or an object of such values; a text if left out */
  schema?: Record<string, unknown> | null;
  /** seconds to answer, 0.05 to 600; 60 if left out */
  timeoutS?: number | null;
}

export interface RunOptions {
  /** the folder; the project's if left out */
  cwd?: string;
  /** variables beside those of the plugin */
  env?: Readonly<Record<string, string>>;
  /** how long it may take */
  timeoutS?: number;
  /** how much is kept of its output and of its errors, from both ends; 65,536 if left out */
  maxBytes?: number;
}

/** What came of a command. */
export interface CommandResult {
  /** its exit status, or minus the number of the signal that ended it */
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
  /** it was ended since its time was up */
  readonly timedOut: boolean;
  /** there was more of `stdout` than was kept */
  readonly stdoutCut: boolean;
  /** there was more of `stderr` than was kept */
  readonly stderrCut: boolean;
  /** it ended by itself, with status 0 */
  readonly ok: boolean;
}

export interface Context<State = unknown, Config = Record<string, any>> {
  /** the session that the call belongs to */
  readonly sessionId: string;
  /** the agent's own name for the conversation: chat, thread, terminal */
  readonly sessionKey: string | null;
  /** where the user is: `cli`, `api` and so on */
  readonly platform: string | null;
  /** the user, as the agent names them */
  readonly userId: string | null;
  /** the project's folder, absolute; the plugin's process runs in another one */
  readonly cwd: string | null;
  /** the agent that acts; a child agent has its own */
  readonly agentId: string;
  /** the agent whose child this one is; null for the root */
  readonly parentAgentId: string | null;
  /** 0 is the root agent */
  readonly agentDepth: number;
  /** the tool call that this is, or that the hook is about, as in `inflight.tools`; else null */
  readonly callId: string | null;
  /** the number of the fire in its session; a tool and a command have that of the last one */
  readonly seq: number;
  /** an object of the agent's own, opaque to Sliphook */
  readonly meta: Record<string, any> | null;
  /** the turn; null outside a turn */
  readonly turnId: string | null;
  /** the agent's span that the call is part of, in the form of W3C Trace Context, or null */
  readonly traceparent: string | null;
  /** aborted when the host withdraws the request; the answer will be dropped */
  readonly signal: AbortSignal;
  /** when the host stops waiting, on `performance.now()`, in milliseconds; null for events */
  readonly deadline: number | null;
  /** the user's settings for the plugin */
  readonly config: Config;
  /** the plugin's own folder */
  readonly dataDir: string;
  readonly sessions: Sessions<State>;
  /** Write a line to the plugin's log, with values beside the message. */
  log(level: Level, message: string, fields?: Record<string, unknown>): void;
  /**
   * Run a command to its end. When the call is cancelled or the time is up, the command and all
   * that it has started get SIGTERM, and SIGKILL 0.3 s later; what it leaves behind, too. Throws
   * CommandError if it cannot be started, and `signal.reason` after a cancel.
   */
  run(args: readonly string[], options?: RunOptions): Promise<CommandResult>;
  /** Report how far the work is, `fraction` from 0 to 1. It does not extend the timeout. */
  progress(message?: string, fraction?: number): void;
  /**
   * Show the user a piece of the text that the answer will `substitute` for the model's: for
   * handlers of `pre_llm_call` with `replaces`.
   */
  say(text: string): void;
  /** Show the user an alert. Needs `uses: ["notify"]`. Throws HostRefused. */
  notify(level: AlertLevel, message: string): Promise<void>;
  /**
   * Put a text before the session's next model call; it starts no turn. Needs `uses: ["inject"]`.
   * Throws HostRefused.
   */
  inject(text: string): Promise<void>;
  /**
   * Interrupt the turn of this call; false if it was already over. Needs `uses: ["interrupt"]`.
   * Throws HostRefused.
   */
  interrupt(reason: string): Promise<boolean>;
  /**
   * Ask the person in front of the agent, in the turn of this call. The handler's own timeout goes
   * on meanwhile. Needs `uses: ["ask"]`. Throws HostRefused, and the reason of `signal` after a
   * cancel of the call, which ends the question.
   */
  ask(prompt: string, options?: QuestionOptions): Promise<AskResult>;
  /** Answer a question in the person's place. Needs `uses: ["approve"]`. Throws HostRefused. */
  answer(questionId: string, choice: unknown): Promise<boolean>;
  /** Replace the tools of one session, or of all. Needs `uses: ["tools"]`. Throws HostRefused. */
  setTools(
    tools: Iterable<Tool<State, Config>>,
    options?: { sessionId?: string | null },
  ): Promise<void>;
}

type HookHandler<N extends HookName, State, Config, Returned = Opinion<N>> = (
  payload: Payloads[N],
  ctx: Context<State, Config>,
) => Awaitable<Returned | Nothing>;
type EventHandler<N extends Name, State, Config> = (
  payload: Payloads[N],
  ctx: Context<State, Config>,
) => Awaitable<NoAnswer>;
/** What is told gives no answer; what else it returns is ignored. */
type NoAnswer = Nothing | boolean | number | string | (object & { and?: never; then?: never });
type ToolHandler<State, Config> = (
  args: Record<string, any>,
  ctx: Context<State, Config>,
) => unknown;
type CommandHandler<State, Config> = (
  text: string,
  ctx: Context<State, Config>,
) => Awaitable<string | Nothing>;

/** An image that a tool returns, alone or in a list with texts. */
export class Image {
  /** The file's bytes; a png, or what `mime` says: `image/jpeg`, `image/gif`, `image/webp`. */
  constructor(data: Uint8Array, mime?: string);
  readonly data: Uint8Array;
  readonly mime: string;
}

/**
 * A function as a tool, for `setTools`. It returns a text, an `Image` or a list of texts and Images,
 * a value that the model reads as JSON, a `ToolResult`, or nothing.
 */
export class Tool<State = unknown, Config = Record<string, any>> {
  constructor(name: string, options: ToolOptions, run: ToolHandler<State, Config>);
  readonly name: string;
}

export class Plugin<State = unknown, Config = Record<string, any>> {
  constructor(name: string, options?: PluginOptions<State, Config>);
  readonly name: string;
  readonly sessions: Sessions<State>;
  /** requests to the host from anywhere, outside of a handler too */
  readonly host: Host<State, Config>;

  /**
   * Register the function that is called before the host is told that the plugin is ready. If it
   * throws, the plugin fails to start.
   */
  onStart(handler: (ctx: LifeContext<Config>) => Awaitable<Disabled | Nothing>): this;
  /** Register the function that is called once at the end. */
  onShutdown(handler: (ctx: LifeContext<Config>) => unknown): this;
  /** Register a function that answers a hook. It returns an answer, or nothing to abstain. */
  hook<N extends HookName>(name: N, handler: HookHandler<N, State, Config>): this;
  hook<N extends HookName>(
    name: N,
    options: HookOptions<N> & { replaces?: never },
    handler: HookHandler<N, State, Config>,
  ): this;
  hook<N extends ReplaceableHook>(
    name: N,
    options: ReplacingOptions<N>,
    handler: HookHandler<N, State, Config, Answers[N]>,
  ): this;
  /**
   * Register a function that is told of an event or a hook. Several run one after the other, in the
   * order of the messages.
   */
  on<N extends Name>(name: N, handler: EventHandler<N, State, Config>): this;
  on<N extends Name>(
    name: N,
    options: EventOptions<N>,
    handler: EventHandler<N, State, Config>,
  ): this;
  /** Register a function as a tool of the model. */
  tool(name: string, handler: ToolHandler<State, Config>): this;
  tool(name: string, options: ToolOptions, handler: ToolHandler<State, Config>): this;
  /** Register a function as a slash command; it returns the text for the user. */
  command(name: string, handler: CommandHandler<State, Config>): this;
  command(name: string, options: CommandOptions, handler: CommandHandler<State, Config>): this;
  /** What the plugin declares to the host. */
  manifest(): Manifest;
  /** Replace the tools of one session, or of all. Needs `uses: ["tools"]`. Throws HostRefused. */
  setTools(
    tools: Iterable<Tool<State, Config>>,
    options?: { sessionId?: string | null },
  ): Promise<void>;
  /**
   * Add a tool. Until the plugin has started it is declared, in `onStart` too; after that it needs
   * `uses: ["tools"]`. Throws HostRefused, and RegistrationError if there is one of that name.
   */
  addTool(tool: Tool<State, Config>, options?: { sessionId?: string | null }): Promise<void>;
  /** Remove a tool. Throws HostRefused, and RangeError if there is none of that name. */
  removeTool(name: string, options?: { sessionId?: string | null }): Promise<void>;
  /** Serve the host on standard input and output until `exit`. The last line of a plugin. */
  run(): void;
}

/** An answer, and a way to join it with another. */
export type Joined<Fields> = Readonly<Fields> & {
  /** Both answers in one: `allow().and(context("..."))`. Throws if both have the same field. */
  and<Other>(other: Joined<Other>): Joined<Fields & Other>;
};

/** The plugin is in favour. An opinion: all of the agent's own rules still apply. */
export function allow(reason?: string): Joined<{ decision: "allow"; reason?: string }>;
/** It must not happen. People and the model read the reason. */
export function deny(reason: string): Joined<{ decision: "deny"; reason: string }>;
/** A person shall decide, and reads the reason. */
export function ask(reason: string): Joined<{ decision: "ask"; reason: string }>;
/** Fields, none of which is unknown. */
type Known<Fields, All> = Fields & { [Field in Exclude<keyof Fields, keyof All>]: never };

/** New values for fields of the payload, each in place of the old. Needs `replaces: true`. */
export function replace<Fields extends Replaced>(
  fields: Known<Fields, Replaced>,
): Joined<{ replace: Fields }>;
/** A result in place of the call, which then does not happen. Needs `replaces: true`. */
export function substitute<Fields extends Substituted>(
  fields: Known<Fields, Substituted>,
): Joined<{ substitute: Fields }>;
/** Texts for the model; the host labels them with the plugin's name. */
export function context(...texts: string[]): Joined<{ context: readonly string[] }>;
/** In `stop`: the agent goes on, with this as the next message. */
export function continueWith(text: string): Joined<{ continue_with: string }>;

/** Made by `disabled`: the plugin does not take part. */
export interface Disabled {
  readonly reason: string;
}

/** What `onStart` returns if the plugin cannot work here; the user reads the reason. */
export function disabled(reason: string): Disabled;

/** Something was registered wrongly. The message begins with the file and the line. */
export class RegistrationError extends Error {}
/** A handler returned something that is not allowed. */
export class AnswerError extends Error {}
/** Thrown by a tool or a command to fail: the model, or the user, reads the message. Nothing is logged. */
export class ToolError extends Error {}
/** The host answered a request of the plugin with an error. */
export class HostRefused extends Error {
  constructor(code: number, message: string);
  readonly code: number;
}

/** A command of `ctx.run` cannot be started; the message says why. */
export class CommandError extends Error {}
/** A request to the host while it cannot be heard: before the plugin runs, or after its end. */
export class NotConnected extends Error {}

export const ErrorCode: Readonly<
  Record<
    | "PARSE_ERROR"
    | "INVALID_REQUEST"
    | "METHOD_NOT_FOUND"
    | "INVALID_PARAMS"
    | "INTERNAL_ERROR"
    | "REQUEST_CANCELLED"
    | "NOT_READY"
    | "UNKNOWN_SESSION"
    | "NOT_GRANTED"
    | "BUSY",
    number
  >
>;
